// Where other nodes arrive.
#include "launcher/agent/leading/arrivals.h"

#include <gtest/gtest.h>

#include "tests/support/fake_network.h"

namespace muster::launcher {
namespace {

class ArrivalsTest : public ::testing::Test {
 protected:
  // A descriptor that is at this address, as a connection that came there.
  UniqueFd at(const std::string& host) { return *network_.listen({host, 29400}); }
  testing::FakeNetwork network_;
  std::vector<std::string> told_;
  Arrivals arrivals_{network_, [this](const std::string& host) { told_.push_back(host); }};
};

TEST_F(ArrivalsTest, TheFirstThatJoinsFromElsewhereTellsWhere) {
  arrivals_.came(1, at("127.0.0.1"));
  arrivals_.joined(1);
  EXPECT_TRUE(told_.empty());
  arrivals_.came(2, at("10.0.0.1"));
  EXPECT_TRUE(told_.empty());
  arrivals_.joined(2);
  EXPECT_EQ(told_, std::vector<std::string>{"10.0.0.1"});
  arrivals_.came(3, at("10.0.0.2"));
  arrivals_.joined(3);
  EXPECT_EQ(told_.size(), 1u);
}

TEST_F(ArrivalsTest, WhoLeavesBeforeItJoinsTellsNothing) {
  arrivals_.came(1, at("10.0.0.1"));
  arrivals_.left(1);
  arrivals_.joined(1);
  EXPECT_TRUE(told_.empty());
}

}  // namespace
}  // namespace muster::launcher
