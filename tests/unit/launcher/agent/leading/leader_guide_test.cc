// Whom a leader of newcomers hears of, over a network without ports.
#include "launcher/agent/leading/leader_guide.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <map>

#include "base/log.h"
#include "rendezvous/messages/leader_messages.h"
#include "rendezvous/wire/control_protocol.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_network.h"
#include "tests/support/fake_resolver.h"

namespace muster::launcher {
namespace {

using rendezvous::Candidate;

class LeaderGuideTest : public ::testing::Test {
 protected:
  LeaderGuideTest() {
    log::set_sink([](std::string_view) {});
  }
  ~LeaderGuideTest() override { log::set_sink({}); }

  // An agent there will say that of itself.
  void add_agent(const std::string& host, std::string status) {
    auto listener = network_.listen({host, 29400});
    ASSERT_TRUE(listener);
    listeners_.emplace(std::move(status), std::move(*listener));
    listed_.push_back({.host = host, .port = 29400});
  }
  void answer_all() {
    for (const auto& [status, listener] : listeners_) {
      const auto link = network_.accept(listener.get());
      if (!link) continue;
      std::array<char, 4096> hello;
      EXPECT_GT(read(link->get(), hello.data(), hello.size()), 0);
      const std::string frame = rendezvous::encode(rendezvous::StatusReply{status});
      EXPECT_EQ(send(link->get(), frame.data(), frame.size(), 0),
                static_cast<ssize_t>(frame.size()));
      EXPECT_TRUE(loop_->run_until_idle());
    }
  }
  // "" = nobody knows of the job, "former ..." = an agent does; "-" = the guide asks yet.
  std::string ask(std::vector<rendezvous::RosterEntry> joined = {}) {
    std::string found = "-";
    guide_.ask(listed_, std::move(joined), [&found](const LeaderGuide::Heard& heard) {
      found = heard.leader ? heard.leader->to_string() : "";
      if (heard.remembering) found += "former " + heard.remembering->to_string();
    });
    EXPECT_TRUE(loop_->run_until_idle());
    answer_all();
    return found;
  }

  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  testing::FakeNetwork network_;
  testing::FakeResolver resolver_{*loop_};
  LeaderGuide guide_{{*loop_, network_, resolver_, nullptr}, "job"};
  std::map<std::string, UniqueFd> listeners_;  // by what the agent says of itself
  std::vector<Candidate> listed_;
};

TEST_F(LeaderGuideTest, AnAgentThatLeadsIsNamed) {
  add_agent("10.0.0.1", R"({"leader": "a", "round": 0})");
  EXPECT_EQ(ask(), "10.0.0.1:29400");
}

TEST_F(LeaderGuideTest, AnAgentThatFollowsNamesItsLeader) {
  add_agent("10.0.0.1", R"({"leader_at": "10.0.0.9:29401", "round": 0})");
  EXPECT_EQ(ask(), "10.0.0.9:29401");
}

// Its leader may be out of reach, and run (seed 1035 of the simulated lists).
TEST_F(LeaderGuideTest, AnAgentThatKnowsARoundIsNamedThoughItHasNoLeader) {
  add_agent("10.0.0.1", R"({"round": 0})");
  add_agent("10.0.0.2", R"({"round": 3})");
  EXPECT_EQ(ask(), "former 10.0.0.2:29400");
}

TEST_F(LeaderGuideTest, AgentsThatKnowOfNoJobAreNoReasonToWait) {
  add_agent("10.0.0.1", R"({"round": 0})");
  add_agent("10.0.0.2", R"({"state": "seeking"})");
  EXPECT_EQ(ask(), "");
}

TEST_F(LeaderGuideTest, WhoFollowsANodeThatHasJoinedTellsNothingNew) {
  add_agent("10.0.0.1", R"({"leader_at": "10.0.0.9:29401", "round": 3})");
  EXPECT_EQ(ask({{.identity = {}, .host = "10.0.0.9", .port = 29401}}), "");
}

}  // namespace
}  // namespace muster::launcher
