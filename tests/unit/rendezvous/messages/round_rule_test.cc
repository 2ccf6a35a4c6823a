#include "rendezvous/messages/round_rule.h"

#include <gtest/gtest.h>

namespace muster::rendezvous {
namespace {

TEST(RoundRuleTest, WhoseSuccessCounts) {
  RoundRule rule;
  EXPECT_TRUE(rule.counts(0) && rule.counts(1));
  EXPECT_FALSE(rule.first_decides());
  rule.decides = Decides::kFirstNode;
  EXPECT_TRUE(rule.counts(0));
  EXPECT_FALSE(rule.counts(1));
  EXPECT_TRUE(rule.first_decides());
}

TEST(RoundRuleTest, AFirstNodeWithoutWorkersIsAppointedToo) {
  EXPECT_FALSE(RoundRule{}.has_appointed() || RoundRule{}.has_apart());
  const RoundRule works{.first = FirstNode::kAppointed};
  EXPECT_TRUE(works.has_appointed() && !works.has_apart());
  const RoundRule apart{.first = FirstNode::kApart};
  EXPECT_TRUE(apart.has_appointed() && apart.has_apart());
}

}  // namespace
}  // namespace muster::rendezvous
