// Whom a leader refuses, and what becomes of a job to which nobody else comes.
#include "rendezvous/messages/job_settings.h"
#include "tests/support/leader_fixture.h"

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;
using LeaderRefusalTest = testing::LeaderFixture;

TEST_F(LeaderRefusalTest, WhatANodeWasToldOtherwiseIsRefusedOrNoticed) {
  options_.leader_settings = {{"--max-restarts", "3", "0"}};
  lead();
  Hello hello{kControlVersion, "job", false, 0, {}, {}, "worker-1", told_settings(options_)};
  hello.settings.erase(hello.settings.end() - 1);  // --max-restarts
  say(1, hello);
  EXPECT_NE(sent<Welcome>(1)->notice.find("worker-1 has --max-restarts 0"), std::string::npos);
  hello.settings = {{"--nnodes", "9"}};
  say(2, hello);
  ASSERT_TRUE(sent<Refuse>(2).has_value());
  EXPECT_EQ(sent<Refuse>(2)->code, RefuseCode::kSettings);
}

TEST_F(LeaderRefusalTest, AJobToWhichOnlyStrangersCameEndsWithTheirReason) {
  options_.min_nodes = 2;
  options_.join_timeout = 30s;
  lead();
  join(0);
  say(1, Hello{kControlVersion, "other", false, 0, {}, {}, "worker-1", {}});
  pass(31s, {0});
  const auto finish = sent<Finish>(0);
  ASSERT_TRUE(finish.has_value());
  EXPECT_EQ(finish->exit_code, 78);
  EXPECT_NE(finish->reason.find("refused: worker-1 has the run id 'other'"), std::string::npos);
}

TEST_F(LeaderRefusalTest, WhomItsAgentHasRefusedBeforeItLedIsTheReasonUntilARoundHasFormed) {
  options_.min_nodes = 2;
  options_.join_timeout = 30s;
  LeaderSeed seed = seed_of(16, 0);
  seed.misfit = "worker-1 has --lease 5s";
  lead(seed);
  join(0);
  leader_->on_link_closed(now_, 7, "10.0.0.9:4711: job secret differs");  // it may be nobody's node
  pass(31s, {0});
  ASSERT_TRUE(sent<Finish>(0).has_value());
  EXPECT_EQ(sent<Finish>(0)->exit_code, 78);
  EXPECT_NE(sent<Finish>(0)->reason.find("refused: worker-1 has --lease 5s"), std::string::npos);

  outputs_.clear();
  lead(seed);
  join(0);
  join(1);
  ASSERT_TRUE(sent<Assign>(0).has_value());
  for (const int node : {0, 1}) say(node, Started{1});
  say(1, Goodbye{"done"});
  say(0, Stopped{1});
  pass(61s, {0});
  ASSERT_TRUE(sent<Finish>(0).has_value());
  EXPECT_EQ(sent<Finish>(0)->exit_code, 69);
}

// Nobody else would ever close it.
TEST_F(LeaderRefusalTest, WhoGreetsAndDoesNotJoinIsGivenALease) {
  lead();
  join(0);
  say(1, Hello{kControlVersion, "job", false, 0, {}, {}});
  pass(options_.lease - 1s, {0});
  EXPECT_FALSE(output<leader_output::CloseLink>());
  pass(2s, {0});
  ASSERT_TRUE(output<leader_output::CloseLink>());
  EXPECT_EQ(output<leader_output::CloseLink>()->link, link_of(1));
  outputs_.clear();
  say(1, join_of(1));
  EXPECT_TRUE(sent<Refuse>(1)) << "its link was given up";
}

TEST_F(LeaderRefusalTest, AJobToWhichOnlyOtherSecretsCameEndsWithThatReason) {
  options_.min_nodes = 2;
  options_.join_timeout = 30s;
  lead();
  join(0);
  leader_->on_link_closed(now_, 7, "10.0.0.9:4711: job secret differs");
  pass(31s, {0});
  const auto finish = sent<Finish>(0);
  ASSERT_TRUE(finish.has_value());
  EXPECT_EQ(finish->exit_code, 78);
  EXPECT_NE(finish->reason.find("refused: 10.0.0.9:4711: job secret differs"), std::string::npos);
}

}  // namespace
}  // namespace muster::rendezvous
