// How many calls an agent takes, with real connections on loopback and fake processes.
#include "mpi/rsh/rsh_server.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <deque>

#include "base/fd.h"
#include "base/log.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_process_host.h"

namespace muster::mpi {
namespace {

class RshServerTest : public ::testing::Test {
 protected:
  RshServerTest() {
    log::set_sink([](std::string_view) {});  // thousands of lines
    EXPECT_TRUE(raise_fd_limit());
    auto server = RshServer::create({.loop = *loop_,
                                     .processes = processes_,
                                     .files = files_,
                                     .network = network_,
                                     .pod = environment_,
                                     .setup = setup_,
                                     .tls = nullptr,
                                     .node = "node-1",
                                     .incarnation = incarnation_,
                                     .run_id = "job",
                                     .agent_token = "server-test-" + std::to_string(getpid())});
    EXPECT_TRUE(server);
    server_ = std::move(*server);
  }

  ~RshServerTest() override { log::set_sink({}); }

  struct Caller {
    std::string refused;
    std::unique_ptr<RshChannel> channel;
  };
  Caller& call() {
    Caller& caller = callers_.emplace_back();
    caller.channel =
        RshChannel::over(*loop_, connect_to_commands(incarnation_), "the agent",
                         {.on_open = [] {},
                          .on_message =
                              [&caller](const RshMessage& message) {
                                if (const auto* refused = std::get_if<rsh::Refused>(&message))
                                  caller.refused = refused->reason;
                              },
                          .on_closed = [](const Error&) {}});
    return caller;
  }
  void idle() { ASSERT_TRUE(loop_->run_until_idle()); }

  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  testing::FakeProcessHost processes_;
  RealFiles files_;
  RealNetwork network_;
  Environment environment_;
  ProcessSetup setup_;
  const uint64_t incarnation_ = static_cast<uint64_t>(getpid());
  std::unique_ptr<RshServer> server_;
  std::deque<Caller> callers_;
};

// What a launcher elsewhere starts here before this node has heard of its round would lack the
// round's variables.
TEST_F(RshServerTest, HoldsCallsUntilTheRoundsVariablesAreKnown) {
  server_->hold_early_calls();
  Caller& caller = call();
  idle();
  caller.channel->send(rsh::Run{"job", "node-1", incarnation_, "node-1", "sleep 9"});
  idle();
  EXPECT_TRUE(processes_.spawned.empty());
  server_->set_variables({{"MUSTER_RANK_NODE", "node-1", "the node of a rank", "a test"}});
  idle();
  ASSERT_EQ(processes_.spawned.size(), 1u);
  const auto& environment = processes_.spawned.front().environment;
  EXPECT_NE(std::find(environment.begin(), environment.end(), "MUSTER_RANK_NODE=node-1"),
            environment.end());
}

TEST_F(RshServerTest, TakesSoManyCallsAtATimeAndTellsTheNext) {
  for (size_t i = 0; i < kMaxRshRequests; ++i) call();
  idle();
  for (const Caller& caller : callers_)
    caller.channel->send(rsh::Run{"job", "node-1", incarnation_, "node-1", "sleep 9"});
  idle();
  EXPECT_EQ(processes_.spawned.size(), kMaxRshRequests);
  for (const Caller& caller : callers_) ASSERT_EQ(caller.refused, "");
  const Caller& one_more = call();
  idle();
  EXPECT_EQ(one_more.refused, "more than 1024 calls at a time on node-1");
  server_->process_exited({.pid = 100, .status = {}});  // the first
  callers_.front().channel.reset();
  idle();
  const Caller& next = call();
  idle();
  EXPECT_EQ(next.refused, "");
}

}  // namespace
}  // namespace muster::mpi
