// What the leader says of nodes: those that nobody can tell apart, or that nobody sees.
#include "rendezvous/leader/leader_texts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster::rendezvous {
namespace {

RosterEntry entry_of(const std::string& host, const std::string& name,
                     std::optional<int64_t> index = {}) {
  RosterEntry entry;
  entry.host = host;
  entry.identity.name = name;
  entry.identity.index = index;
  return entry;
}

TEST(LeaderTexts, TwoNodesOfOneNameAreTold) {
  EXPECT_EQ(same_name_text(
                {entry_of("10.0.0.1", "a"), entry_of("10.0.0.2", "b"), entry_of("10.0.0.3", "b")}),
            "10.0.0.2 and 10.0.0.3 are both called 'b': which of them gets which rank may change "
            "from round to round; --node-name tells them apart");
}

TEST(LeaderTexts, TwoNodesWithOneRank) {
  EXPECT_EQ(same_name_text({entry_of("10.0.0.1", "a", 1), entry_of("10.0.0.2", "b", 1)}),
            "10.0.0.1 and 10.0.0.2 say both --node-rank 1: which of them gets which rank may "
            "change from round to round; --node-rank tells them apart");
}

TEST(LeaderTexts, NodesThatCanBeToldApartAreNoNews) {
  EXPECT_EQ(same_name_text({}), "");
  EXPECT_EQ(same_name_text({entry_of("10.0.0.1", "a"), entry_of("10.0.0.2", "b")}), "");
  EXPECT_EQ(same_name_text({entry_of("10.0.0.1", "pod", 0), entry_of("10.0.0.2", "pod", 1)}), "");
}

TEST(LeaderTexts, WhoMayLiveIsNamedWithItsAddress) {
  Electorate last;
  last.seats.resize(3);
  EXPECT_EQ(who_may_live({}, last), "");
  last.seats[0].who = entry_of("10.0.0.1", "a");
  EXPECT_EQ(who_may_live({}, last), "; a (10.0.0.1:0) may run where it is not seen");
  last.seats[1].who = entry_of("10.0.0.2", "b");
  EXPECT_EQ(who_may_live({}, last),
            "; a (10.0.0.1:0), b (10.0.0.2:0) may run where they are not seen");
  last.seats[0].gone = last.seats[1].replaced = true;
  EXPECT_EQ(who_may_live({}, last), "");
}

}  // namespace
}  // namespace muster::rendezvous
