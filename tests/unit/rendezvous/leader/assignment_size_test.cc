// An assignment is of one size however many nodes the round has; only who needs it gets their list.
#include "tests/support/leader_fixture.h"

namespace muster::rendezvous {
namespace {

class AssignmentSizeTest : public testing::LeaderFixture {
 protected:
  /// The assignments of a round of so many: node 0 may lead, the last one wants the list.
  std::vector<Assign> round_of(int nodes) {
    options_.min_nodes = options_.max_nodes = nodes;
    lead();
    for (int i = 0; i < nodes; ++i) {
      Join join = join_of(i);
      join.candidate = i == 0 ? std::optional<int>(0) : std::nullopt;
      join.wants_roster = i + 1 == nodes;
      LeaderFixture::join(i, join);
    }
    std::vector<Assign> assigned;
    for (int i = 0; i < nodes; ++i) assigned.push_back(sent<Assign>(i).value());
    return assigned;
  }
};

TEST_F(AssignmentSizeTest, OfALargeRoundOnlyWhoNeedsItGetsTheList) {
  const auto assigned = round_of(40);
  EXPECT_EQ(assigned.front().roster.size(), 40u);
  EXPECT_EQ(assigned.back().roster.size(), 40u);
  for (size_t i = 1; i + 1 < assigned.size(); ++i) {
    EXPECT_TRUE(assigned[i].roster.empty()) << i;
    EXPECT_LT(encode(assigned[i]).size(), 1024u) << i;
  }
}

TEST_F(AssignmentSizeTest, TheListOfALargerRoundComesInParts) {
  const int nodes = static_cast<int>(kMaxRosterPart) + 8;
  const auto assigned = round_of(nodes);
  const auto listed = [this](int node) {
    size_t total = 0;
    for (const LeaderOutput& output : outputs_) {
      const auto* send = std::get_if<leader_output::Send>(&output);
      if (send == nullptr || send->link != link_of(node)) continue;
      // In front of what completes it.
      if (std::holds_alternative<Assign>(send->message)) break;
      if (const auto* part = std::get_if<RosterPart>(&send->message)) total += part->nodes.size();
    }
    return total;
  };
  for (const Assign& assign : assigned) EXPECT_TRUE(assign.roster.empty());
  EXPECT_EQ(listed(0), static_cast<size_t>(nodes)) << "may lead";
  EXPECT_EQ(listed(nodes - 1), static_cast<size_t>(nodes)) << "calls others";
  EXPECT_EQ(listed(1), 0u);
}

}  // namespace
}  // namespace muster::rendezvous
