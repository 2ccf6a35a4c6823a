// When the links of the leader in this process are written: what nodes wait for goes first.
#include "launcher/agent/leading/leader_host.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "rendezvous/messages/job_settings.h"
#include "rendezvous/wire/control_protocol.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_network.h"
#include "tests/support/fake_resolver.h"

namespace muster::launcher {
namespace {

using Words = std::vector<std::string>;

rendezvous::JobOptions two_nodes() {
  rendezvous::JobOptions options;
  options.run_id = "job";
  options.min_nodes = options.max_nodes = 2;
  return options;
}

class LeaderHostTest : public ::testing::Test {
 protected:
  LeaderHostTest() {
    log::set_level(log::Level::kDebug);
    log::set_sink([this](std::string_view line) { on_line(line); });
    rendezvous::LeaderSeed seed;
    seed.name = "node-0";
    seed.incarnation = 1;
    seed.candidates = 1;
    host_.lead(std::move(seed));
    turn();
  }
  ~LeaderHostTest() override {
    log::set_sink({});
    log::set_level(log::Level::kInfo);
  }

  void turn() { ASSERT_TRUE(loop_->run_until_idle()); }
  // Returns once the host has taken it over: no turn of the loop has passed.
  void greet(size_t node) {
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    peers_[node] = UniqueFd(ends[1]);
    rendezvous::Hello hello;
    hello.version = rendezvous::kControlVersion;
    hello.run_id = options_.run_id;
    hello.node = "node-" + std::to_string(node);
    hello.settings = rendezvous::told_settings(options_);
    host_.adopt({UniqueFd(ends[0]), rendezvous::encode(hello)});
  }
  void join(size_t node) {
    rendezvous::Join join;
    join.identity.name = "node-" + std::to_string(node);
    join.identity.incarnation = node + 1;
    join.host = "10.0.0." + std::to_string(node + 1);
    join.port = 29400;
    if (node == 0) join.candidate = 0;
    say(node, join);
  }
  void say(size_t node, const rendezvous::Message& message) {
    const std::string frame = rendezvous::encode(message);
    ASSERT_EQ(send(peers_[node].get(), frame.data(), frame.size(), 0),
              static_cast<ssize_t>(frame.size()));
  }
  // The names of the messages that have come to it, since the last call.
  Words heard(size_t node) {
    std::array<char, 4096> bytes;
    const ssize_t count = recv(peers_[node].get(), bytes.data(), bytes.size(), 0);
    Words names;
    for (size_t at = 0; count > 0 && at < static_cast<size_t>(count);) {
      const auto decoded = rendezvous::decode(
          std::span<const char>(bytes).first(static_cast<size_t>(count)).subspan(at));
      if (!decoded || !decoded->message) break;
      names.emplace_back(rendezvous::name_of(*decoded->message));
      at += decoded->consumed;
    }
    return names;
  }
  void on_line(std::string_view line) {
    log_ += line;
    if (line.find("node.joined") == std::string_view::npos) return;
    if (heard_before_line_.empty()) heard_before_line_ = heard(0);
  }

  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  testing::FakeNetwork network_;
  testing::FakeResolver resolver_{*loop_};
  rendezvous::JobOptions options_ = two_nodes();
  std::array<UniqueFd, 2> peers_;
  Words heard_before_line_;
  std::string log_;
  std::function<void()> once_first_;
  Timer stop_;
  bool may_lead_ = true;
  LeaderHost host_{*loop_,
                   network_,
                   {.options = options_,
                    .policy = {},
                    .answer = [](const rendezvous::Hello&) { return rendezvous::Goodbye{"gone"}; },
                    .status = [] { return std::string("{}"); },
                    .job = [] { return std::string("bert"); },
                    .changed = [] {},
                    .first =
                        [this] {
                          if (once_first_) std::exchange(once_first_, {})();
                        },
                    .may_lead = [this] { return may_lead_; },
                    .listed = {},
                    .resolver = resolver_}};
};

TEST_F(LeaderHostTest, AGreetingIsAnsweredBeforeTheNextOneIsRead) {
  greet(0);
  EXPECT_EQ(heard(0), Words{"welcome"});
}

TEST_F(LeaderHostTest, WhoMayNotLeadAnyMoreWelcomesNobody) {
  may_lead_ = false;
  greet(0);
  EXPECT_EQ(heard(0), Words{});
  turn();
  EXPECT_EQ(heard(0), Words{});
  EXPECT_FALSE(host_.leading());
}

// The heartbeat comes while the join is answered.
TEST_F(LeaderHostTest, WhatCameMeanwhileIsAnsweredBeforeTheLogIsWritten) {
  greet(0);
  join(0);
  once_first_ = [this] { say(0, rendezvous::Heartbeat{.sequence = 1}); };
  turn();
  EXPECT_EQ(heard_before_line_, (Words{"welcome", "waiting", "ack"}));
}

TEST_F(LeaderHostTest, NodesThatComeTogetherHearOfNothingButTheirRound) {
  for (const size_t node : {0U, 1U}) greet(node);
  join(0);
  once_first_ = [this] { join(1); };
  turn();
  EXPECT_EQ(heard_before_line_, (Words{"welcome", "assign"}));
  EXPECT_EQ(heard(1), (Words{"welcome", "assign"}));
}

TEST_F(LeaderHostTest, WhatWasPutOffIsToldBeforeTheLeaderIsGone) {
  greet(0);
  join(0);
  once_first_ = [this] { stop_ = loop_->soon([this] { host_.stop("asked to"); }); };
  turn();
  const size_t joined = log_.find("node.joined");
  ASSERT_NE(joined, std::string::npos);
  EXPECT_NE(log_.find("leader.gone", joined), std::string::npos) << log_;
}

}  // namespace
}  // namespace muster::launcher
