// What the workers of a round are told of its network: names, over a resolver of the test.
#include "launcher/agent/finding/network_finder.h"

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tests/support/fake_resolver.h"

namespace muster::launcher {
namespace {

class NetworkFinderTest : public ::testing::Test {
 protected:
  static rendezvous::Assign round(const std::string& master, int node_rank = 1) {
    rendezvous::Assign assign;
    assign.node_count = 2;
    assign.node_rank = node_rank;
    assign.master_host = master;
    assign.master_port = 29400;
    return assign;
  }
  std::string name_of(const rendezvous::Assign& assign, std::optional<int> own = {}) {
    finder_.find(assign, {{{"node-a", 29400}, {"node-b", 29400}, {"fd00::7", 29400}}, own});
    bool done = false;
    finder_.when_found([&done] { done = true; });
    EXPECT_TRUE(loop_->run_until_idle());
    EXPECT_TRUE(done);
    return finder_.found().master_name;
  }

  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  testing::FakeResolver resolver_{*loop_};
  NetworkFinder finder_{resolver_};
};

TEST_F(NetworkFinderTest, AnAddressOfIpv4NeedsNoName) {
  resolver_.set("node-a", {"10.0.0.1"});
  EXPECT_EQ(name_of(round("10.0.0.1")), "");
  EXPECT_TRUE(resolver_.asked().empty());
}

TEST_F(NetworkFinderTest, TheFirstNameThatMeansTheAddressIsTheMasters) {
  resolver_.set("node-a", {"fd00::1"});
  resolver_.set("node-b", {"10.0.0.2", "fd00::2"});
  EXPECT_EQ(name_of(round("fd00::1")), "node-a");
  EXPECT_EQ(name_of(round("fd00::2")), "node-b");
  EXPECT_EQ(name_of(round("fd00::3")), "");  // node rank 0 is none of those that may lead
}

TEST_F(NetworkFinderTest, ANameThatDoesNotResolveHereIsNone) {
  resolver_.set("node-b", {"fd00::2"});
  EXPECT_EQ(name_of(round("fd00::1")), "");
  EXPECT_EQ(name_of(round("fd00::2")), "node-b");
}

TEST_F(NetworkFinderTest, OnNodeRankZeroItsOwnNameMayMeanLoopback) {
  resolver_.set("node-a", {"127.0.1.1"});
  EXPECT_EQ(name_of(round("fd00::1", 0), 0), "node-a");
  EXPECT_EQ(name_of(round("fd00::1", 0), 1), "");
  EXPECT_EQ(name_of(round("fd00::1", 1), 0), "");
}

TEST_F(NetworkFinderTest, AnotherRoundForgetsTheOneBefore) {
  finder_.find(round("fd00::1"), {{{"node-a", 29400}}, {}});
  finder_.when_found([] { FAIL() << "of the round before"; });
  EXPECT_EQ(name_of(round("10.0.0.1")), "");
}

}  // namespace
}  // namespace muster::launcher
