#include "launcher/frameworks/mpi/rank_driver.h"

#include <gtest/gtest.h>

#include "launcher/frameworks/pytorch.h"
#include "tests/support/agent_rig.h"

namespace muster::launcher {
namespace {

class RankDriverTest : public AgentRig {
 protected:
  RankDriverTest() {
    files_.add_executable("/usr/bin/muster");
    files_.add_link("/proc/self/exe", "/usr/bin/muster");
  }
  RankDriver& make(const char* launch, Words words = {}) {
    words.insert(words.end(), {"--framework", "mpi", "--mpi-launch", launch});
    give(std::move(words));
    context_.emplace(context());
    driver_.emplace(options_, nullptr);
    EXPECT_TRUE(driver_->start({.doors = doors(),
                                .context = *context_,
                                .job = job_,
                                .own_host = "127.0.0.1",
                                .tls = nullptr,
                                .serve = {},
                                .prepared = {},
                                .failed = {},
                                .idle = [] {},
                                .ranks_gone = [] {},
                                .exchange = {},
                                .nodes = {},
                                .hosts_changed = {},
                                .log_dir = [] { return std::string(); },
                                .process_of = {},
                                .kill = {},
                                .signal = {},
                                .end_workers = {}}));
    return *driver_;
  }

  rendezvous::JobOptions job_;
  std::optional<AgentContext> context_;
  std::optional<RankDriver> driver_;
};

TEST_F(RankDriverTest, AnAttemptGivesEachRankItsPlaceAndItsDescriptor) {
  RankDriver& driver = make("pmi");
  EXPECT_TRUE(driver.check(kProgram));
  rendezvous::Assign round;
  round.world_size = 2;
  ASSERT_TRUE(driver.begin_attempt(round, 2));
  WorkerStart worker;
  ASSERT_TRUE(driver.attach(1, worker));
  EXPECT_GT(worker.request.kept_fd, 2);
  EXPECT_FALSE(worker.inherited.empty());
  const Environment environment = worker.environment.merge({}).environment;
  EXPECT_EQ(environment.get("PMI_RANK"), "1");
  EXPECT_EQ(environment.get("PMI_SIZE"), "2");
  EXPECT_EQ(environment.get("PMI_FD"), std::to_string(worker.request.kept_fd));
}

TEST_F(RankDriverTest, TheRankOfAnOuterLaunchGivesWay) {
  environment_.set("PMI_RANK", "7");
  environment_.set("PMI_FD", "9");
  RankDriver& driver = make("pmi");
  ASSERT_TRUE(driver.begin_attempt({}, 1));
  auto planned = pytorch_plan(environment_, {});
  ASSERT_TRUE(planned);
  WorkerStart worker{.request = {}, .environment = std::move(*planned)};
  ASSERT_TRUE(driver.attach(0, worker));
  const Environment merged = worker.environment.merge(environment_).environment;
  EXPECT_EQ(merged.get("PMI_RANK"), "0");
  EXPECT_EQ(merged.get("PMI_FD"), std::to_string(worker.request.kept_fd));
}

TEST_F(RankDriverTest, ANodeWithoutRanksServesNone) {
  RankDriver& driver = make("pmi");
  const auto launcher = driver.begin_attempt({}, 0);
  ASSERT_TRUE(launcher);
  EXPECT_FALSE(launcher->has_value());
}

TEST_F(RankDriverTest, WithOneNodeThereIsNoNetworkToChoose) {
  RankDriver& driver = make("pmi");
  int ready = 0;
  driver.prepare_round({}, [&ready] { ++ready; });
  EXPECT_EQ(ready, 1);
  EnvironmentPlan plan;
  ASSERT_TRUE(driver.add_variables({}, 0, plan));
  EXPECT_TRUE(plan.merge({}).decisions.empty());
}

TEST_F(RankDriverTest, ALauncherIsNoRank) {
  const Status refused = make("pmi").check("/usr/bin/mpiexec.mpich");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kConfig);
}

TEST_F(RankDriverTest, WithoutAnAttemptNothingIsLeftToRemove) {
  int done = 0;
  make("pmi").clean_up([&done] { ++done; });
  EXPECT_EQ(done, 1);
}

TEST_F(RankDriverTest, ARankThatLeavesEarlyIsWaitedFor) {
  EXPECT_GT(make("pmi").needs().lost_peer_wait, Duration::zero());
}

#ifdef MUSTER_PMIX

TEST_F(RankDriverTest, PmixNeedsItsProgramBesideThisOne) {
  RankDriver& driver = make("pmix");
  const Status missing = driver.check(kProgram);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kConfig);
  EXPECT_NE(missing.error().text.find("needs '/usr/bin/muster-pmix'"), std::string::npos);
  files_.add_executable("/usr/bin/muster-pmix");
  EXPECT_TRUE(driver.check(kProgram));
}

#else

TEST_F(RankDriverTest, PmixThatWasLeftOutOfTheBuildIsRefused) {
  files_.add_executable("/usr/bin/muster-pmix");
  const Status refused = make("pmix").check(kProgram);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kConfig);
  EXPECT_EQ(refused.error().text,
            "--mpi-launch pmix: this muster was built without PMIx (CMake option MUSTER_PMIX)");
}

#endif

}  // namespace
}  // namespace muster::launcher
