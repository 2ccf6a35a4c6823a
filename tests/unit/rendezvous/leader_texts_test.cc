// What the leader says of nodes that nobody can tell apart.
#include "rendezvous/leader_texts.h"

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

}  // namespace
}  // namespace muster::rendezvous
