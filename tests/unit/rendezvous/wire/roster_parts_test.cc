#include "rendezvous/wire/roster_parts.h"

#include <gtest/gtest.h>

#include <string>

#include "rendezvous/wire/control_protocol.h"

namespace muster::rendezvous {
namespace {

constexpr RoundKey kRound{.term = 17, .round = 4};

std::vector<RosterEntry> roster_of(size_t nodes) {
  std::vector<RosterEntry> roster(nodes);
  for (size_t i = 0; i < nodes; ++i) roster[i].identity.name = "worker-" + std::to_string(i);
  return roster;
}

TEST(RosterParts, AreALongListInTheOrderOfRanks) {
  const auto roster = roster_of(2 * kMaxRosterPart + 1);
  const auto parts = in_parts(kRound, roster);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts.back().nodes.size(), 1u);
  RosterParts received;
  for (const auto& part : parts) received.take(part);
  const auto all = received.release(kRound, roster.size());
  ASSERT_EQ(all.size(), roster.size());
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(all[i].identity.name, roster[i].identity.name) << i;
  EXPECT_TRUE(received.release(kRound, roster.size()).empty()) << "it is there once";
}

TEST(RosterParts, AListThatIsNotWholeIsNone) {
  const auto parts = in_parts(kRound, roster_of(2 * kMaxRosterPart));
  RosterParts received;
  received.take(parts.front());
  EXPECT_TRUE(received.release(kRound, 2 * kMaxRosterPart).empty());
}

TEST(RosterParts, ThoseOfAnEarlierRoundDoNotCount) {
  constexpr RoundKey kNext{.term = 17, .round = 5};
  const auto parts = in_parts(kRound, roster_of(2 * kMaxRosterPart));
  const auto next = in_parts(kNext, roster_of(kMaxRosterPart));
  RosterParts received;
  received.take(parts.front());
  received.take(next.front());
  EXPECT_EQ(received.release(kNext, kMaxRosterPart).size(), kMaxRosterPart);
  received.take(parts.front());
  EXPECT_TRUE(received.release(kNext, kMaxRosterPart).empty());
}

TEST(RosterParts, MoreNodesThanAJobCanHaveAreNotKept) {
  RosterParts received;
  const RosterPart part{kRound.round, kRound.term, roster_of(kMaxRosterPart)};
  const size_t most = static_cast<size_t>(kMaxNodes) / kMaxRosterPart * kMaxRosterPart;
  for (size_t nodes = 0; nodes < most + 4 * kMaxRosterPart; nodes += kMaxRosterPart)
    received.take(part);
  EXPECT_EQ(received.release(kRound, most).size(), most);
}

}  // namespace
}  // namespace muster::rendezvous
