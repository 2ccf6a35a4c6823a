// When an MPI job tells of failures: what may have a better explanation waits for it, half a second
// at most. A fake clock, real sockets for what ranks report.
#include "launcher/frameworks/mpi/mpi_job.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "tests/support/fake_clock.h"
#include "tests/support/fake_files.h"
#include "tests/support/fake_process_host.h"
#include "tests/support/fake_resolver.h"
#include "tests/support/resolved_options.h"

namespace muster::launcher {
namespace {

using std::chrono::milliseconds;

class MpiJobTest : public ::testing::Test {
 protected:
  const uint64_t kAgent = static_cast<uint64_t>(getpid());  // tests run side by side
  explicit MpiJobTest(Options options = ring_job()) : options_(std::move(options)) {
    files_.add_executable("/usr/bin/muster");
    files_.add_executable("/usr/bin/muster-rsh");
    files_.add_executable("/usr/bin/mpiexec.hydra");
    files_.add_executable("/usr/bin/ring");
    files_.add_executable("/bin/sh");
    files_.add_link("/proc/self/exe", "/usr/bin/muster");
    files_.add_directory(context_.folder);
    environment_.set("PATH", "/usr/bin");
    auto rsh = mpi::RshServer::create({.loop = *loop_,
                                       .processes = processes_,
                                       .files = files_,
                                       .network = network_,
                                       .pod = environment_,
                                       .setup = setup_,
                                       .tls = nullptr,
                                       .node = "node-1",
                                       .incarnation = kAgent,
                                       .run_id = options_.run_id,
                                       .agent_token = "mpi-job-test-" + std::to_string(getpid())});
    EXPECT_TRUE(rsh);
    rsh_ = std::move(*rsh);
    auto job = MpiJob::create(
        {{.doors = {*loop_, clock_, processes_, files_, network_, resolver_, console_},
          .context = context_,
          .job = job_options_,
          .own_host = "10.0.0.1",
          .tls = tls_.get(),
          .serve = {},
          .prepared = {},
          .failed = [this](const elastic::FailureRecord& record) { told_.push_back(record); },
          .idle = [] {},
          .ranks_gone = [] {},
          .exchange = {},
          .nodes = [] { return std::vector<rendezvous::RosterEntry>(); },
          .hosts_changed = [](int) {},
          .log_dir = [] { return std::string(); },
          .process_of = [this](int) { return launcher_pid_; },
          .kill = {},
          .signal = [this](int) { ++hangs_; },
          .end_workers = [](Duration) {}},
         *rsh_});
    EXPECT_TRUE(job) << (job ? "" : job.error().text);
    job_ = std::move(*job);
    begin_round();
  }
  ~MpiJobTest() override { std::filesystem::remove_all(context_.folder); }

  static Options ring_job() {
    return muster({"--framework", "mpi", "--mpi", "mpich", "--nnodes", "2", "--rdzv-endpoint",
                   "10.0.0.1", "--no-python", "/usr/bin/ring"});
  }
  void begin_round() {
    rendezvous::Assign assign;
    assign.round = 1;
    assign.node_count = 2;
    assign.master_host = "10.0.0.1";
    assign.master_port = 29400;
    for (const char* name : {"node-1", "node-2"}) {
      rendezvous::RosterEntry entry;
      entry.identity.name = name;
      entry.host = "10.0.0.1";
      entry.workers = 1;
      assign.roster.push_back(entry);
    }
    const auto launcher = job_->begin_round(assign);
    ASSERT_TRUE(launcher) << launcher.error().text;
    ASSERT_TRUE(launcher->has_value());
  }
  void advance(Duration time) {
    clock_.advance(time);
    ASSERT_TRUE(loop_->run_until_idle());
  }
  elastic::FailureRecord launcher_failed() const {
    elastic::FailureRecord record;
    record.rank = elastic::kNoRank;
    record.pid = kLauncherPid;
    record.status = ExitStatus{.code = 1};
    record.reason = "mpirun: exit code 1";
    return record;
  }
  // To this agent, as those of other nodes and ranks come.
  void connect() {
    reporter_ = mpi::RshChannel::over(
        *loop_, mpi::connect_to_commands(kAgent), "the agent",
        {.on_open = [] {},
         .on_message =
             [this](const mpi::RshMessage& message) { heard_.push_back(message.index()); },
         .on_closed = [](const Error&) {}});
    ASSERT_TRUE(loop_->run_until_idle());
  }
  // What `muster rank` says of one that begins.
  void begin_rank(uint32_t rank) {
    reporter_->send(mpi::rsh::Rank{options_.run_id, kAgent, "node-" + std::to_string(rank + 1), 1,
                                   rank, 2, 77 + rank});
    ASSERT_TRUE(loop_->run_until_idle());
  }
  // And exits with that.
  void a_rank_exits_with(uint8_t code) {
    connect();
    begin_rank(1);
    reporter_->send(mpi::rsh::RankEnd{.code = code});
    ASSERT_TRUE(loop_->run_until_idle());
  }
  void a_rank_exits_with_3() { a_rank_exits_with(3); }
  void a_daemon_is_killed() { a_daemon_ends_by(SIGKILL, /*told=*/false); }
  void a_daemon_ends_by(int signal, bool told) {
    connect();
    reporter_->send(mpi::rsh::Run{options_.run_id, "node-1", kAgent, "node-1", "hydra_pmi_proxy"});
    if (told) reporter_->send(mpi::rsh::Signal{static_cast<uint8_t>(signal)});
    ASSERT_TRUE(loop_->run_until_idle());
    ASSERT_EQ(processes_.alive().size(), 1U);
    const pid_t daemon = processes_.alive().begin()->first;
    const ExitStatus status{.signal = signal};
    processes_.end(daemon, status);
    rsh_->process_exited({.pid = daemon, .status = status});
    ASSERT_TRUE(loop_->run_until_idle());
  }
  std::vector<std::string> reasons() const {
    std::vector<std::string> found;
    for (const auto& record : told_) found.push_back(record.reason);
    return found;
  }

  static constexpr pid_t kLauncherPid = 4711;
  std::optional<pid_t> launcher_pid_ = kLauncherPid;
  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  RealNetwork network_;
  testing::FakeFiles files_;
  testing::FakeProcessHost processes_;
  testing::FakeResolver resolver_{*loop_};
  Console console_{*loop_};
  ProcessSetup setup_;
  Environment environment_;
  Options options_;
  rendezvous::JobOptions job_options_;
  AgentContext context_{
      .options = options_,
      .environment = environment_,
      .setup = setup_,
      .job = "bert",
      .node = "node-1",
      .token = "token",
      .folder = ::testing::TempDir() + "mpi-job-test-" + std::to_string(getpid())};
  std::unique_ptr<mpi::RshServer> rsh_;
  std::unique_ptr<mpi::RshChannel> reporter_;
  std::vector<size_t> heard_;  // kinds of messages, by those that report
  std::vector<elastic::FailureRecord> told_;
  int hangs_ = 0;
  std::unique_ptr<TlsContext> tls_ = std::move(*TlsContext::create({}));
  std::unique_ptr<MpiJob> job_;
};

TEST_F(MpiJobTest, ALaunchersFailureIsToldWhenNothingHasExplainedItForHalfASecond) {
  EXPECT_TRUE(job_->hold(launcher_failed()));
  int settled = 0;
  job_->group_ended(false, [&settled] { ++settled; });
  advance(mpi::kVerdictDelay - milliseconds(1));
  EXPECT_TRUE(told_.empty());
  EXPECT_EQ(settled, 0);
  advance(milliseconds(1));
  EXPECT_EQ(reasons(), std::vector<std::string>{"mpirun: exit code 1"});
  EXPECT_EQ(settled, 1);
}

TEST_F(MpiJobTest, ALaunchersOwnWordsTellWhyItStartedNoRanks) {
  elastic::FailureRecord record = launcher_failed();
  record.last_lines = {"[mpiexec] proxy:", "unable to change wdir to /srv/job (No such file)"};
  EXPECT_TRUE(job_->hold(record));
  job_->group_ended(false, [] {});
  advance(mpi::kVerdictDelay);
  EXPECT_EQ(reasons(),
            std::vector<std::string>{"mpirun: unable to change wdir to /srv/job (No such file)"});
  EXPECT_EQ(told_[0].failure_class, elastic::FailureClass::kInfrastructure);
}

TEST_F(MpiJobTest, ARanksEndExplainsItAndIsToldAlone) {
  EXPECT_TRUE(job_->hold(launcher_failed()));
  int settled = 0;
  job_->group_ended(false, [&settled] { ++settled; });
  a_rank_exits_with_3();
  EXPECT_TRUE(told_.empty());
  advance(mpi::kExitHeld);
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].rank, 1);
  EXPECT_EQ(told_[0].status.code, 3);
  advance(mpi::kVerdictDelay);
  EXPECT_EQ(told_.size(), 1U);
  EXPECT_EQ(settled, 1);
}

TEST_F(MpiJobTest, ARanksEndExplainsItThoughItComesLate) {
  EXPECT_TRUE(job_->hold(launcher_failed()));
  job_->group_ended(false, [] {});
  advance(mpi::kVerdictDelay - milliseconds(1));
  a_rank_exits_with_3();
  advance(milliseconds(1));
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].rank, 1);
  advance(mpi::kExitHeld);
  EXPECT_EQ(told_.size(), 1U);
}

// Its peers lost the connection, or Open MPI's mpirun says that it left without MPI_Finalize.
TEST_F(MpiJobTest, ALauncherThatMissedARankExplainsWhyOneThatSaid0IsTheCause) {
  for (const char* words :
       {"[node-1:00000] *** An error occurred in Socket closed",
        "2. this process called \"init\", but exited without calling \"finalize\"."}) {
    begin_round();
    told_.clear();
    auto record = launcher_failed();
    record.last_lines = {words, "------"};
    EXPECT_TRUE(job_->hold(record));
    job_->group_ended(false, [] {});
    connect();
    begin_rank(0);
    const auto other = std::move(reporter_);
    a_rank_exits_with(0);
    advance(mpi::kVerdictDelay);
    ASSERT_EQ(told_.size(), 1U);
    EXPECT_EQ(told_[0].rank, 1);
    EXPECT_EQ(told_[0].status.code, 1);
    job_->round_over();
  }
}

TEST_F(MpiJobTest, ARankThatSaid0IsNoCauseOfALaunchersOtherFailure) {
  EXPECT_TRUE(job_->hold(launcher_failed()));
  job_->group_ended(false, [] {});
  a_rank_exits_with(0);
  advance(mpi::kVerdictDelay);
  EXPECT_EQ(reasons(), std::vector<std::string>{"mpirun: exit code 1"});
}

TEST_F(MpiJobTest, ARankThatWasKilledIsToldInPlaceOfThePeerThatMissedIt) {
  connect();
  begin_rank(0);
  auto other = std::move(reporter_);
  connect();
  begin_rank(1);
  other->send(mpi::rsh::RankEnd{.code = 14});
  ASSERT_TRUE(loop_->run_until_idle());
  EXPECT_TRUE(told_.empty());
  advance(mpi::kExitHeld - milliseconds(1));
  reporter_->send(mpi::rsh::RankEnd{.signal = SIGKILL});
  ASSERT_TRUE(loop_->run_until_idle());
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].rank, 1);
  EXPECT_EQ(told_[0].status.signal, SIGKILL);
}

TEST_F(MpiJobTest, ALauncherThatSaidZeroWithoutItsRanksIsHeldAsWell) {
  int settled = 0;
  job_->group_ended(true, [&settled] { ++settled; });
  advance(mpi::kVerdictDelay);
  EXPECT_EQ(settled, 1);
  EXPECT_FALSE(job_->launcher_succeeded(true));
  ASSERT_EQ(told_.size(), 1U);
}

TEST_F(MpiJobTest, WhatIsHeldIsNotToldOfARoundThatIsOver) {
  EXPECT_TRUE(job_->hold(launcher_failed()));
  int settled = 0;
  job_->group_ended(false, [&settled] { ++settled; });
  job_->round_over();
  advance(mpi::kVerdictDelay * 2);
  EXPECT_TRUE(told_.empty());
  EXPECT_EQ(settled, 0);
}

TEST_F(MpiJobTest, AKilledDaemonIsToldAtOnceBecauseItExplainsItsRanks) {
  a_daemon_is_killed();
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].status.signal, SIGKILL);
}

TEST_F(MpiJobTest, ButNotWhereItsLauncherHasEndedAndTheNodeIsBeingSwept) {
  launcher_pid_.reset();
  a_daemon_is_killed();
  EXPECT_TRUE(told_.empty());
  advance(mpi::kVerdictDelay);
  EXPECT_EQ(told_.size(), 1U);
}

TEST_F(MpiJobTest, ADaemonThatItsLauncherEndsIsNoFailure) {
  a_daemon_ends_by(SIGTERM, /*told=*/true);
  advance(mpi::kVerdictDelay);
  EXPECT_TRUE(told_.empty());
}

TEST_F(MpiJobTest, ADaemonThatSomebodyElseEndsIsOne) {
  a_daemon_ends_by(SIGTERM, /*told=*/false);
  advance(mpi::kVerdictDelay);
  EXPECT_EQ(told_.size(), 1U);
}

TEST_F(MpiJobTest, WhatNeverRanIsNotHeld) {
  elastic::FailureRecord record = launcher_failed();
  record.pid = 0;
  EXPECT_FALSE(job_->hold(record));
  int settled = 0;
  job_->group_ended(false, [&settled] { ++settled; });
  EXPECT_EQ(settled, 1);
}

// A script that calls an mpirun.
class CommandJobTest : public MpiJobTest {
 protected:
  static Options options() {
    return muster({"--framework", "mpi", "--nnodes", "2", "--rdzv-endpoint", "10.0.0.1",
                   "--no-python", "/bin/sh", "-c", "mpiexec.hydra -n 1 ring"});
  }
  CommandJobTest() : MpiJobTest(options()) {}
  // The only rank of an mpirun, which is that process.
  void begin_rank_of(uint32_t launcher) {
    connect();
    reporter_->send(mpi::rsh::Rank{options_.run_id, kAgent, "", 1, 0, 1, 77, launcher});
    ASSERT_TRUE(loop_->run_until_idle());
  }
};

TEST_F(CommandJobTest, ALauncherThatHangsIsTheCommandsBusiness) {
  begin_rank_of(501);
  reporter_->send(mpi::rsh::RankEnd{});
  ASSERT_TRUE(loop_->run_until_idle());
  advance(mpi::kLauncherLinger + mpi::kLauncherSilence * 2);
  EXPECT_EQ(hangs_, 0);
  int settled = 0;
  job_->group_ended(true, [&settled] { ++settled; });
  EXPECT_EQ(settled, 1);
  EXPECT_TRUE(job_->launcher_succeeded(true));
  EXPECT_TRUE(told_.empty());
}

TEST_F(CommandJobTest, ALauncherBesideAnotherOneRunsUnwatched) {
  begin_rank_of(501);
  const auto first = std::move(reporter_);
  begin_rank_of(502);
  reporter_->send(mpi::rsh::RankEnd{.signal = SIGKILL});
  ASSERT_TRUE(loop_->run_until_idle());
  EXPECT_TRUE(told_.empty());
  EXPECT_EQ(heard_, std::vector<size_t>{mpi::RshMessage(mpi::rsh::Noted{}).index()});
  first->send(mpi::rsh::RankEnd{.signal = SIGKILL});
  ASSERT_TRUE(loop_->run_until_idle());
  EXPECT_EQ(told_.size(), 1U);
}

// Daemons elsewhere end because of that, and are told kVerdictDelay later.
TEST_F(CommandJobTest, ARankThatItLeavesBehindIsToldAsSoonAsItsEndIsKnown) {
  begin_rank_of(501);
  launcher_pid_.reset();
  int settled = 0;
  job_->group_ended(true, [&settled] { ++settled; });
  ASSERT_TRUE(loop_->run_until_idle());
  EXPECT_EQ(settled, 0);
  reporter_.reset();
  ASSERT_TRUE(loop_->run_until_idle());
  EXPECT_EQ(settled, 1);
  EXPECT_FALSE(job_->launcher_succeeded(true));
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].rank, 0);
  EXPECT_NE(told_[0].reason.find("had ended before it"), std::string::npos) << told_[0].reason;
}

TEST_F(CommandJobTest, OfAnotherRoundItIsRefused) {
  connect();
  reporter_->send(mpi::rsh::Rank{options_.run_id, kAgent, "", 2, 0, 1, 77, 501});
  ASSERT_TRUE(loop_->run_until_idle());
  EXPECT_EQ(heard_, std::vector<size_t>{mpi::RshMessage(mpi::rsh::Refused{}).index()});
}

}  // namespace
}  // namespace muster::launcher
