// The door of an agent with real sockets: callers on one side, the agents of other nodes on the
// other, a fake clock between them.
#include "mpi/rsh/rsh_calls.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>

#include "base/fd.h"
#include "mpi/rsh/rsh_door.h"
#include "tests/support/fake_clock.h"

namespace muster::mpi {
namespace {

using std::chrono::milliseconds;

// An end of a channel: what it hears, and whether it is over.
struct End {
  std::vector<RshMessage> heard;
  bool closed = false;
  std::unique_ptr<RshChannel> channel;

  RshChannelHandlers handlers() {
    return {.on_open = [] {},
            .on_message = [this](RshMessage message) { heard.push_back(std::move(message)); },
            .on_closed = [this](const Error&) { closed = true; }};
  }
  template <class Message>
  const Message* said() const {
    for (const RshMessage& message : heard) {
      if (const auto* found = std::get_if<Message>(&message)) return found;
    }
    return nullptr;
  }
};

class RshCallsTest : public ::testing::Test {
 protected:
  RshCallsTest() {
    listener_ = std::move(*listen_at_door(rsh_commands_door_name(kFarAgent)));
    // Tests run side by side, and the name space is one.
    door_ = rsh_door_name(std::to_string(getpid()));
    auto calls = RshCalls::create(
        {.loop = *loop_,
         .network = network_,
         .tls = nullptr,
         .node = "node-1",
         .run_id = "job",
         .door = door_,
         .find = [this](const std::string& host) { return find(host); },
         .tell_refused = [this](const std::string& why) { refused_.push_back(why); },
         .tell_no_node = [this](const std::string& why) { no_nodes_.push_back(why); }});
    EXPECT_TRUE(calls);
    calls_ = std::move(*calls);
  }

  PeerAnswer find(const std::string& host) const { return find_peer(nodes_, 2, "node-1", host); }
  void add_node(const std::string& name) {
    rendezvous::RosterEntry entry;
    entry.identity.name = name;
    entry.identity.incarnation = kFarAgent;
    nodes_.push_back(entry);
  }
  void idle() { ASSERT_TRUE(loop_->run_until_idle()); }
  void advance(Duration time) {
    clock_.advance(time);
    idle();
  }
  std::unique_ptr<End> call(const std::string& host, const std::string& command) {
    auto caller = std::make_unique<End>();
    auto connection = connect_to_door(door_);
    EXPECT_TRUE(connection);
    caller->channel =
        RshChannel::over(*loop_, std::move(*connection), "the agent", caller->handlers());
    idle();
    caller->channel->send(rsh::Call{host, command});
    idle();
    return caller;
  }
  // The next connection to the other node's agent; null = none.
  std::unique_ptr<End> far_end() {
    UniqueFd connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection.is_open()) return nullptr;
    auto far = std::make_unique<End>();
    far->channel = RshChannel::adopt(*loop_, {std::move(connection), ""}, nullptr, far->handlers());
    idle();
    return far;
  }
  void end(End& caller, End& far, uint8_t code) {
    far.channel->send(rsh::Exit{code});
    idle();
    ASSERT_NE(caller.said<rsh::Exit>(), nullptr);
    EXPECT_EQ(caller.said<rsh::Exit>()->code, code);
    caller.channel.reset();
    idle();
    EXPECT_TRUE(calls_->empty());
  }

  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  RealNetwork network_;
  UniqueFd listener_;
  // Tests run side by side, and the name space is one.
  const uint64_t kFarAgent = static_cast<uint64_t>(getpid());
  std::string door_;
  std::vector<rendezvous::RosterEntry> nodes_;
  std::vector<std::string> refused_, no_nodes_;
  std::unique_ptr<RshCalls> calls_;
};

TEST_F(RshCallsTest, ACallGoesToTheNodeThatIsMeantAndEverythingOfItBothWays) {
  add_node("node-2");
  auto caller = call("node-2", "cat");
  // Before anybody has answered there.
  caller->channel->send(rsh::Data{RshStream::kStdin, "in"});
  idle();
  auto far = far_end();
  ASSERT_NE(far, nullptr);
  const auto* run = far->said<rsh::Run>();
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(run->run_id + "," + run->caller + "," + run->command, "job,node-1,cat");
  EXPECT_EQ(far->said<rsh::Data>()->bytes, "in");
  caller->channel->send(rsh::Signal{SIGUSR1});
  far->channel->send(rsh::Data{RshStream::kStdout, "out"});
  idle();
  EXPECT_EQ(far->said<rsh::Signal>()->number, SIGUSR1);
  EXPECT_EQ(caller->said<rsh::Data>()->bytes, "out");
  end(*caller, *far, 7);
}

TEST_F(RshCallsTest, TheNextCallGoesOverTheSameConnection) {
  add_node("node-2");
  auto caller = call("node-2", "first");
  auto far = far_end();
  end(*caller, *far, 0);
  EXPECT_EQ(calls_->idle_links(), 1U);
  far->heard.clear();
  caller = call("node-2", "second");
  EXPECT_EQ(far_end(), nullptr);
  ASSERT_NE(far->said<rsh::Run>(), nullptr);
  EXPECT_EQ(far->said<rsh::Run>()->command, "second");
  EXPECT_EQ(calls_->idle_links(), 0U);
  end(*caller, *far, 3);
}

TEST_F(RshCallsTest, AConnectionThatTheOtherSideEndedIsNotTaken) {
  add_node("node-2");
  auto caller = call("node-2", "first");
  auto far = far_end();
  end(*caller, *far, 0);
  far->channel->send(rsh::Refused{255, "the agent ends"});
  far.reset();
  caller = call("node-2", "second");
  far = far_end();
  ASSERT_NE(far, nullptr);
  end(*caller, *far, 0);
}

TEST_F(RshCallsTest, ConnectionsWaitOneMinuteAndTwoForANode) {
  add_node("node-2");
  std::vector<std::unique_ptr<End>> callers;
  std::vector<std::unique_ptr<End>> fars;
  for (int i = 0; i < 3; ++i) {
    callers.push_back(call("node-2", "true"));
    fars.push_back(far_end());
    ASSERT_NE(fars.back(), nullptr) << i;
  }
  for (const auto& far : fars) far->channel->send(rsh::Exit{0});
  idle();
  EXPECT_EQ(calls_->idle_links(), kMaxIdleRshLinksPerNode);
  advance(kRshIdleLink - milliseconds(1));
  EXPECT_EQ(calls_->idle_links(), 2U);
  advance(milliseconds(1));
  EXPECT_EQ(calls_->idle_links(), 0U);
  for (const auto& far : fars) EXPECT_TRUE(far->closed);
}

TEST_F(RshCallsTest, AnotherRoundBeginsWithNewConnections) {
  add_node("node-2");
  auto caller = call("node-2", "true");
  auto far = far_end();
  end(*caller, *far, 0);
  calls_->nodes_changed();
  EXPECT_EQ(calls_->idle_links(), 0U);
}

TEST_F(RshCallsTest, TheLossOfTheCallerIsToldByTheLossOfTheConnection) {
  add_node("node-2");
  auto caller = call("node-2", "sleep");
  auto far = far_end();
  caller.reset();
  idle();
  EXPECT_TRUE(far->closed);
  EXPECT_TRUE(calls_->empty());
  EXPECT_EQ(calls_->idle_links(), 0U);
}

TEST_F(RshCallsTest, ALostNodeIsToldAtOnce) {
  add_node("node-2");
  auto caller = call("node-2", "sleep");
  auto far = far_end();
  far.reset();
  idle();
  ASSERT_NE(caller->said<rsh::Refused>(), nullptr);
  EXPECT_EQ(caller->said<rsh::Refused>()->code, 255);
  EXPECT_TRUE(caller->said<rsh::Refused>()->reason.starts_with("node-2: its agent "));
}

TEST_F(RshCallsTest, WhatTheOtherAgentRefusesIsToldWithItsNameAndCode) {
  add_node("node-2");
  auto caller = call("node-2", "trrue");
  auto far = far_end();
  far->channel->send(rsh::Refused{127, "not found"});
  idle();
  EXPECT_EQ(caller->said<rsh::Refused>()->reason, "node-2: not found");
  EXPECT_EQ(caller->said<rsh::Refused>()->code, 127);
  EXPECT_TRUE(far->closed);
}

TEST_F(RshCallsTest, ANodeThatIsNotThereYetIsWaitedFor) {
  add_node("node-1");
  auto caller = call("node-2", "true");
  EXPECT_TRUE(caller->heard.empty());
  add_node("node-2");
  calls_->nodes_changed();
  idle();
  auto far = far_end();
  ASSERT_NE(far, nullptr);
  end(*caller, *far, 0);
}

TEST_F(RshCallsTest, ButNotWithoutEnd) {
  add_node("node-1");
  auto caller = call("node-2", "true");
  advance(kRshNodeWait - milliseconds(1));
  EXPECT_TRUE(caller->heard.empty());
  advance(milliseconds(1));
  ASSERT_NE(caller->said<rsh::Refused>(), nullptr);
  EXPECT_EQ(caller->said<rsh::Refused>()->reason,
            "'node-2' is no node of this job, which has node-1; 1 of up to 2 nodes are here; "
            "waited 60 s");
}

TEST_F(RshCallsTest, WhereAllAreThereNobodyIsWaitedFor) {
  add_node("node-1");
  add_node("node-2");
  auto caller = call("node-3", "true");
  ASSERT_NE(caller->said<rsh::Refused>(), nullptr);
  EXPECT_EQ(caller->said<rsh::Refused>()->reason,
            "'node-3' is no node of this job, which has node-1, node-2");
  EXPECT_EQ(no_nodes_.size(), 1u);
}

TEST_F(RshCallsTest, ASignalEndsACallThatDoesNotRunYet) {
  auto caller = call("node-2", "true");
  caller->channel->send(rsh::Signal{SIGTERM});
  idle();
  ASSERT_NE(caller->said<rsh::Exit>(), nullptr);
  EXPECT_EQ(caller->said<rsh::Exit>()->code, 143);
}

TEST_F(RshCallsTest, WhoeverCallsNobodyIsSentAway) {
  End silent;
  silent.channel =
      RshChannel::over(*loop_, std::move(*connect_to_door(door_)), "the agent", silent.handlers());
  idle();
  advance(kRshCallDeadline);
  ASSERT_NE(silent.said<rsh::Refused>(), nullptr);
  EXPECT_EQ(silent.said<rsh::Refused>()->reason, "no command within 10 s");
}

TEST_F(RshCallsTest, NonsenseIsSentAway) {
  auto caller = call("node-2", "true");
  caller->channel->send(rsh::Exit{0});
  idle();
  ASSERT_NE(caller->said<rsh::Refused>(), nullptr);
  auto talker = call("node-2", "true");
  for (size_t i = 0; i <= kMaxEarlyRshMessages; ++i)
    talker->channel->send(rsh::Data{RshStream::kStdin, "x"});
  idle();
  ASSERT_NE(talker->said<rsh::Refused>(), nullptr);
  EXPECT_EQ(talker->said<rsh::Refused>()->reason, "too much before its command runs");
}

TEST_F(RshCallsTest, AnAgentThatEndsLetsRunningCallsEnd) {
  add_node("node-2");
  auto caller = call("node-2", "true");
  auto far = far_end();
  bool stopped = false;
  calls_->stop([&stopped] { stopped = true; });
  auto late = call("node-2", "true");
  ASSERT_NE(late->said<rsh::Refused>(), nullptr);
  EXPECT_EQ(late->said<rsh::Refused>()->reason, "the agent of node-1 ends");
  late.reset();
  idle();
  EXPECT_FALSE(stopped);
  end(*caller, *far, 137);
  EXPECT_TRUE(stopped);
}

TEST(RshDoor, OnlyNamesOfAgentsAreDialled) {
  for (const std::string& name : {std::string("127.0.0.1:29400"), std::string("@other"),
                                  "@muster-rsh-" + std::string(200, 'x')}) {
    const auto connection = connect_to_door(name);
    ASSERT_FALSE(connection);
    EXPECT_EQ(connection.error().text, "'" + name + "' is not what an agent is called");
  }
  const auto nobody = connect_to_door(rsh_door_name("nobody"));
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, Code::kPeer);
}

TEST(RshDoor, OneAgentHasAName) {
  const std::string name = rsh_door_name("twice-" + std::to_string(getpid()));
  const auto first = listen_at_door(name);
  ASSERT_TRUE(first);
  const auto second = listen_at_door(name);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().os_errno, EADDRINUSE);
}

TEST(RshDoor, OurOwnProcessesAreAdmitted) {
  const std::string name = rsh_door_name("own-" + std::to_string(getpid()));
  const auto listener = listen_at_door(name);
  ASSERT_TRUE(listener);
  const auto caller = connect_to_door(name);
  ASSERT_TRUE(caller);
  const UniqueFd accepted(accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC));
  ASSERT_TRUE(accepted.is_open());
  EXPECT_TRUE(admit_at_door(accepted.get()));
}

TEST_F(RshCallsTest, TakesSoManyCallersAtATime) {
  ASSERT_TRUE(raise_fd_limit());
  std::vector<UniqueFd> callers;
  for (size_t i = 0; i <= kMaxRshCalls; ++i) {
    auto caller = connect_to_door(door_);
    ASSERT_TRUE(caller);
    callers.push_back(std::move(*caller));
    idle();
    EXPECT_EQ(refused_.size(), i == kMaxRshCalls ? 1u : 0u);
  }
  EXPECT_EQ(refused_.front(), "too many calls at a time");
}

}  // namespace
}  // namespace muster::mpi
