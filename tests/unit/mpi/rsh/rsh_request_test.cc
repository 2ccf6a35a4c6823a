// One request of an agent, with a real connection on loopback, a fake clock and fake processes.
#include "mpi/rsh/rsh_request.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>

#include "tests/support/fake_clock.h"
#include "tests/support/fake_process_host.h"

namespace muster::mpi {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Sent = testing::FakeProcessHost::Sent;

// A test's end of the connection: sends messages, keeps what it hears.
class Caller {
 public:
  Caller(Loop& loop, Network& network, const Address& address)
      : channel_(RshChannel::dial(
            loop, network, address, nullptr,
            {.on_open = [] {},
             .on_message = [this](RshMessage message) { heard.push_back(std::move(message)); },
             .on_closed = [this](const Error&) { closed = true; }})) {}
  void send(const RshMessage& message) { channel_->send(message); }

  std::vector<RshMessage> heard;
  bool closed = false;

 private:
  std::unique_ptr<RshChannel> channel_;
};

class RshRequestTest : public ::testing::Test {
 protected:
  RshRequestTest() { connect({}); }

  void connect(const Status& admitted) {
    const auto listener = network_.listen({"127.0.0.1", 0});
    const auto address = network_.local_address(listener->get());
    caller_ = std::make_unique<Caller>(*loop_, network_, *address);
    auto accepted = network_.accept(listener->get());
    ASSERT_TRUE(accepted);
    request_ = std::make_unique<RshRequest>(context_, Arrival{std::move(*accepted), ""}, 1,
                                            "token-1", admitted, [this] { ended_ = true; });
    idle();
  }
  void idle() { ASSERT_TRUE(loop_->run_until_idle()); }
  void advance(Duration time) {
    clock_.advance(time);
    idle();
  }
  void run(const std::string& command) {
    caller_->send(rsh::Run{"job", "node-1", 0, "node-1", command});
    idle();
  }
  // As the server does it, for the next command on the same connection.
  void go_on() {
    auto channel = request_->take_channel();
    ASSERT_NE(channel, nullptr);
    ended_ = false;
    request_ = std::make_unique<RshRequest>(context_, std::move(channel), 2, "token-2",
                                            [this] { ended_ = true; });
    idle();
  }
  pid_t pid() const { return request_->pid(); }
  void end(ExitStatus status) {
    const pid_t ending = pid();
    host_.end(ending, status);
    (void)host_.reap();
    request_->process_exited(status);
    idle();
  }
  std::optional<int> exit_code() const {
    for (const RshMessage& message : caller_->heard) {
      if (const auto* exit = std::get_if<rsh::Exit>(&message)) return exit->code;
    }
    return std::nullopt;
  }
  std::string refusal() const {
    for (const RshMessage& message : caller_->heard) {
      if (const auto* refused = std::get_if<rsh::Refused>(&message)) return refused->reason;
    }
    return "";
  }

  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  RealNetwork network_;
  testing::FakeProcessHost host_;
  RshRequestContext context_{
      .loop = *loop_,
      .processes = host_,
      .tls = nullptr,
      .node = "node-2",
      .run_id = "job",
      .plan = [this](const rsh::Run& run, const std::string& mark) -> Result<SpawnRequest> {
        if (plan_error_) return *plan_error_;
        SpawnRequest request;
        request.program = "/bin/sh";
        request.arguments = {"sh", "-c", run.command};
        request.environment = {mark};
        return request;
      },
      .tell_refused = [](const std::string&, const std::string&) {}};
  std::optional<Error> plan_error_;
  bool ended_ = false;
  std::unique_ptr<Caller> caller_;
  std::unique_ptr<RshRequest> request_;
};

TEST_F(RshRequestTest, ACommandRunsMarkedAndItsExitCodeIsTheLastWord) {
  run("exit 3");
  ASSERT_EQ(host_.spawned.size(), 1U);
  EXPECT_EQ(host_.spawned[0].arguments[2], "exit 3");
  EXPECT_EQ(host_.spawned[0].environment[0], "MUSTER_RSH_REQUEST=token-1");
  EXPECT_EQ(exit_code(), std::nullopt);
  end({3, 0, false});
  EXPECT_EQ(exit_code(), 3);
  EXPECT_TRUE(std::holds_alternative<rsh::Exit>(caller_->heard.back()));
}

TEST_F(RshRequestTest, ASignalIsToldAsAShellDoes) {
  run("true");
  end({0, SIGKILL, false});
  EXPECT_EQ(exit_code(), 137);
}

TEST_F(RshRequestTest, WhatItLeftIsKilledBeforeTheExitCodeIsTold) {
  run("true");
  host_.marked_strays = 2;
  end({});
  EXPECT_EQ(exit_code(), std::nullopt);
  advance(kRshSweepInterval);
  EXPECT_EQ(exit_code(), std::nullopt);
  advance(kRshSweepInterval);
  EXPECT_EQ(exit_code(), 0);
  EXPECT_EQ(host_.marked_signals.back().second, "MUSTER_RSH_REQUEST=token-1");
}

TEST_F(RshRequestTest, WhatCannotBeKilledIsNotWaitedForWithoutEnd) {
  run("true");
  host_.marked_strays = 1;
  host_.strays_are_stuck = true;
  end({});
  for (Duration waited{}; waited <= kRshSweepDeadline; waited += kRshSweepInterval)
    advance(kRshSweepInterval);
  EXPECT_EQ(exit_code(), 0);
}

TEST_F(RshRequestTest, ADaemonIsWaitedForWhereTheCommandAsksForOne) {
  run("orted --daemonize -mca x y");
  host_.marked_strays = 1;
  end({});
  advance(seconds(100));
  EXPECT_EQ(exit_code(), std::nullopt);
  EXPECT_EQ(host_.marked_signals.back().first, 0);
  // One that execs cannot be seen for a moment: a look that misses it is no proof.
  host_.marked_strays = 0;
  advance(kRshDaemonInterval);
  host_.marked_strays = 1;
  advance(kRshSweepInterval);
  host_.marked_strays = 0;
  advance(kRshDaemonInterval);
  advance(kRshSweepInterval);
  EXPECT_EQ(exit_code(), std::nullopt);
  advance(kRshSweepInterval);
  EXPECT_EQ(exit_code(), 0);
}

TEST_F(RshRequestTest, SignalsGoToTheCommandsGroup) {
  run("sleep 1");
  caller_->send(rsh::Signal{SIGUSR1});
  idle();
  EXPECT_EQ(host_.sent, (std::vector<Sent>{{pid(), SIGUSR1, true}}));
}

TEST_F(RshRequestTest, ALostCallerMeansSigtermThenSigkill) {
  run("sleep 1");
  const pid_t command = pid();
  host_.marked_strays = 1;
  caller_.reset();
  idle();
  EXPECT_EQ(host_.sent, (std::vector<Sent>{{command, SIGTERM, true}}));
  advance(kRshGrace - milliseconds(1));
  EXPECT_TRUE(host_.marked_signals.empty());
  advance(milliseconds(1));
  EXPECT_EQ(host_.marked_signals.back().first, SIGKILL);
  EXPECT_FALSE(ended_);
  end({0, SIGKILL, false});
  EXPECT_TRUE(ended_);
  EXPECT_TRUE(request_->ended());
}

TEST_F(RshRequestTest, TheAgentMayKillItAtOnce) {
  run("sleep 1");
  request_->kill();
  EXPECT_EQ(host_.marked_signals.back().first, SIGKILL);
  end({0, SIGKILL, false});
  EXPECT_EQ(exit_code(), 137);
}

TEST_F(RshRequestTest, AnotherJobsCommandIsRefused) {
  caller_->send(rsh::Run{"other", "node-1", 0, "node-1", "true"});
  idle();
  EXPECT_EQ(refusal(), "run id 'job' here, 'other' there");
  EXPECT_TRUE(host_.spawned.empty());
}

TEST_F(RshRequestTest, TooLongACommandIsRefused) {
  run(std::string(131072, 'x'));
  EXPECT_EQ(refusal(), "a command of 131072 bytes, at most 131071");
}

TEST_F(RshRequestTest, AShellThatCannotBeStartedIsTold) {
  host_.fail_next_spawn = ENOENT;
  run("true");
  EXPECT_EQ(refusal(), "exec '/bin/sh': No such file or directory");
}

TEST_F(RshRequestTest, WhoeverIsNotAdmittedGetsNoAnswerButTheReason) {
  connect(Error{Code::kPeer, 0, "not you"});
  EXPECT_EQ(refusal(), "not you");
  run("true");
  EXPECT_TRUE(host_.spawned.empty());
}

TEST_F(RshRequestTest, WhoeverAsksNothingIsSentAway) {
  advance(kRshQuestionDeadline);
  EXPECT_EQ(refusal(), "no command within 10 s");
  EXPECT_TRUE(ended_);
}

TEST_F(RshRequestTest, ASecondCommandOrNonsenseIsNoCaller) {
  run("sleep 1");
  caller_->send(rsh::Run{"job", "node-1", 0, "node-1", "true"});
  idle();
  EXPECT_EQ(host_.spawned.size(), 1U);
  EXPECT_EQ(host_.sent, (std::vector<Sent>{{pid(), SIGTERM, true}}));
}

TEST_F(RshRequestTest, WhatAShellWouldNotFindHasAShellsCode) {
  plan_error_ = Error{Code::kExec, ENOENT, "no such program"};
  run("trrue");
  ASSERT_EQ(caller_->heard.size(), 1U);
  EXPECT_EQ(std::get<rsh::Refused>(caller_->heard[0]).code, 127);
  EXPECT_EQ(refusal(), "no such program");
}

TEST_F(RshRequestTest, AConnectionCarriesOneCommandAfterAnother) {
  run("exit 3");
  end({3, 0, false});
  EXPECT_TRUE(ended_);
  go_on();
  EXPECT_TRUE(request_->is_idle());
  // Of the first, and on its way when that ended.
  caller_->send(rsh::Credit{RshStream::kStdout, 10});
  caller_->send(rsh::Gone{RshStream::kStdout});
  caller_->send(rsh::Signal{SIGTERM});
  caller_->send(rsh::End{RshStream::kStdin});
  caller_->heard.clear();
  run("exit 4");
  EXPECT_TRUE(host_.sent.empty());
  EXPECT_EQ(host_.spawned.back().environment[0], "MUSTER_RSH_REQUEST=token-2");
  end({4, 0, false});
  EXPECT_EQ(exit_code(), 4);
  // Its stdout was not taken for one that nobody reads.
  EXPECT_EQ(std::count_if(caller_->heard.begin(), caller_->heard.end(),
                          [](const RshMessage& message) {
                            return std::holds_alternative<rsh::End>(message);
                          }),
            2);
}

TEST_F(RshRequestTest, AConnectionThatWaitsTooLongForTheNextCommandEnds) {
  run("true");
  end({});
  go_on();
  advance(kRshNextDeadline - milliseconds(1));
  EXPECT_FALSE(ended_);
  advance(milliseconds(1));
  EXPECT_EQ(refusal(), "no command within 90 s");
  EXPECT_TRUE(ended_);
}

TEST_F(RshRequestTest, WhereTheOtherSideIsGoneThereIsNoConnectionToGoOnWith) {
  run("true");
  caller_.reset();
  idle();
  end({});
  advance(kRshGrace);
  EXPECT_TRUE(ended_);
  EXPECT_EQ(request_->take_channel(), nullptr);
}

TEST(RshProgramName, IsADaemonOrTheFirstWordAndNeverAnAssignment) {
  EXPECT_EQ(rsh_program_name("( test ! -r ./.profile || . ./.profile; orted -mca x \"y\" )"),
            "orted");
  EXPECT_EQ(rsh_program_name("PRTE_PREFIX=/o;export PRTE_PREFIX;/o/bin/prted --prtemca a b"),
            "prted");
  EXPECT_EQ(rsh_program_name("\"/usr/bin/hydra_pmi_proxy\" --control-port a:1"), "hydra_pmi_proxy");
  EXPECT_EQ(rsh_program_name("PASSWORD=swordfish /usr/bin/train --token x"), "train");
  EXPECT_EQ(rsh_program_name("A=1"), "command");
  EXPECT_EQ(rsh_program_name(std::string(200, 'x')).size(), 60U);
}

}  // namespace
}  // namespace muster::mpi
