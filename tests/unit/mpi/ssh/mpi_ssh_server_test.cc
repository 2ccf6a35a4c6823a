#include "mpi/ssh/mpi_ssh_server.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/fake_clock.h"
#include "tests/support/fake_network.h"
#include "tests/support/fake_process_host.h"

namespace muster::mpi {
namespace {

using testing::FakeClock;
using testing::FakeNetwork;
using testing::FakeProcessHost;

class SshServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SshServerSetup setup{
        .loop = *loop_,
        .processes = processes_,
        .network = network_,
        .program = "/usr/sbin/sshd",
        .config = "/run/x/sshd_config",
        .environment = {"A=b"},
        .killed = [this](pid_t pid, int signal) { killed_.emplace_back(pid, signal); },
        .has_logged_in = [this](pid_t pid) { return logged_in_.contains(pid); }};
    auto server = SshServer::listen(std::move(setup), {"10.0.0.1", 0});
    ASSERT_TRUE(server);
    server_ = std::move(*server);
    server_->on_idle([this] { ++idle_; });
  }
  void connect() {
    auto caller = network_.connect(server_->address());
    ASSERT_TRUE(caller);
    callers_.push_back(std::move(*caller));
    ASSERT_TRUE(loop_->run_until_idle());
  }
  void log_in(pid_t pid) { logged_in_.insert(pid); }
  [[nodiscard]] pid_t latest() const { return processes_.alive().rbegin()->first; }
  void end(pid_t pid, ExitStatus status) {
    processes_.end(pid, status);
    while (const auto reaped = processes_.reap()) ours_ = server_->process_exited(*reaped);
  }

  FakeClock clock_;
  std::unique_ptr<Loop> loop_ = *Loop::create(clock_);
  FakeNetwork network_;
  FakeProcessHost processes_;
  std::unique_ptr<SshServer> server_;
  std::vector<UniqueFd> callers_;
  std::vector<std::pair<pid_t, int>> killed_;
  std::set<pid_t> logged_in_;
  int idle_ = 0;
  bool ours_ = false;
};

TEST_F(SshServerTest, EveryConnectionGetsAnSshdOfItsOwn) {
  EXPECT_NE(server_->address().port, 0);
  EXPECT_FALSE(server_->busy());
  connect();
  connect();
  ASSERT_EQ(processes_.spawned.size(), 2U);
  const SpawnRequest& request = processes_.spawned[0];
  EXPECT_EQ(request.program, "/usr/sbin/sshd");
  EXPECT_EQ(request.arguments,
            (std::vector<std::string>{"/usr/sbin/sshd", "-i", "-e", "-f", "/run/x/sshd_config"}));
  EXPECT_EQ(request.environment, std::vector<std::string>{"A=b"});
  EXPECT_EQ(request.stdin_fd, request.stdout_fd);
  EXPECT_NE(request.stderr_fd, request.stdin_fd);
  EXPECT_TRUE(request.default_signals);
}

TEST_F(SshServerTest, ItIsIdleWhenTheLastOneHasEnded) {
  connect();
  connect();
  const auto pids = processes_.alive();
  for (const auto& [pid, program] : pids) log_in(pid);
  EXPECT_TRUE(server_->busy());
  end(pids.begin()->first, {.code = 255});
  EXPECT_TRUE(ours_);
  EXPECT_EQ(idle_, 0);
  end(pids.rbegin()->first, {.code = 0});
  EXPECT_EQ(idle_, 1);
  EXPECT_FALSE(server_->busy());
  EXPECT_TRUE(killed_.empty());
  EXPECT_FALSE(server_->process_exited({4711, {}, false}));
}

TEST_F(SshServerTest, OneThatIsKilledIsTold) {
  connect();
  const pid_t pid = latest();
  end(pid, {.signal = SIGSEGV});
  ASSERT_EQ(killed_.size(), 1U);
  EXPECT_EQ(killed_[0], std::make_pair(pid, SIGSEGV));
}

TEST_F(SshServerTest, AConnectionThatCannotBeServedIsClosedAndTheNextOneIsTakenLater) {
  processes_.fail_next_spawn = EAGAIN;
  connect();
  connect();
  EXPECT_TRUE(processes_.alive().empty());
  clock_.advance(kSshAcceptPause);
  ASSERT_TRUE(loop_->run_until_idle());
  EXPECT_EQ(processes_.alive().size(), 1U);
}

TEST_F(SshServerTest, TheNumberOfConnectionsIsBounded) {
  for (size_t i = 0; i <= kMaxSshConnections; ++i) {
    connect();
    log_in(latest());
  }
  EXPECT_EQ(processes_.alive().size(), kMaxSshConnections);
  EXPECT_TRUE(processes_.sent.empty());
}

TEST_F(SshServerTest, OfThoseWhoHaveNotLoggedInTheOldestGoes) {
  connect();
  const pid_t member = latest();
  log_in(member);
  connect();
  const pid_t oldest = latest();
  for (size_t i = 2; i < kMaxSshLogins + 1; ++i) connect();
  EXPECT_TRUE(processes_.sent.empty()) << "the first look at who has logged in finds the member";
  connect();
  ASSERT_EQ(processes_.sent.size(), 1U);
  EXPECT_EQ(processes_.sent[0], (FakeProcessHost::Sent{oldest, SIGKILL, true}));
  end(oldest, {.signal = SIGKILL});
  EXPECT_TRUE(ours_);
  EXPECT_TRUE(killed_.empty());  // it was us
  EXPECT_EQ(processes_.alive().size(), kMaxSshLogins + 1);
}

TEST_F(SshServerTest, NothingWaitsForThoseWhoHaveNotLoggedIn) {
  connect();
  EXPECT_FALSE(server_->busy());
  const pid_t stranger = latest();
  connect();
  log_in(latest());
  EXPECT_TRUE(server_->busy());
  end(latest(), {.code = 255});
  EXPECT_EQ(idle_, 1);
  EXPECT_TRUE(processes_.alive().contains(stranger));
}

}  // namespace
}  // namespace muster::mpi
