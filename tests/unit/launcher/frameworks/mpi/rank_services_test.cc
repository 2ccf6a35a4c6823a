#include "launcher/frameworks/mpi/rank_services.h"

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tests/support/fake_files.h"
#include "tests/support/fake_process_host.h"
#include "tests/support/fake_resolver.h"
#include "tests/support/resolved_options.h"

namespace muster::launcher {
namespace {

constexpr const char* kProgram = "/app/ring";

class RankServicesTest : public ::testing::Test {
 protected:
  RankServicesTest() {
    files_.add_executable("/usr/bin/muster");
    files_.add_link("/proc/self/exe", "/usr/bin/muster");
  }
  std::unique_ptr<AttemptServices> make(const Words& words) {
    options_ = muster(words);
    return make_attempt_services(doors_, context_);
  }
  std::unique_ptr<AttemptServices> make(const char* launch) {
    return make({"--framework", "mpi", "--mpi-launch", launch});
  }
  static bool has_server(AttemptServices& services) {
    return services.make_rank_server({.exchange = {}, .kill = {}}) != nullptr;
  }

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
  AgentDoors doors_{*loop_, clock_, processes_, files_, network_, resolver_, console_};
  AgentContext context_{.options = options_,
                        .environment = environment_,
                        .setup = setup_,
                        .node = "node-1",
                        .token = "token",
                        .folder = ::testing::TempDir() + "rank-services-test"};
};

TEST_F(RankServicesTest, PlainWorkersNeedNone) {
  const auto services = make(Words{});
  EXPECT_TRUE(services->check(kProgram));
  EXPECT_FALSE(has_server(*services));
  services->attempt_begins();
  int done = 0;
  services->clean_up([&done] { ++done; });
  EXPECT_EQ(done, 1);
}

TEST_F(RankServicesTest, RanksOfMpirunHaveItsServer) {
  for (const char* launch : {"mpirun", "command"}) {
    const auto services = make(launch);
    EXPECT_TRUE(services->check(kProgram));
    EXPECT_FALSE(has_server(*services)) << launch;
  }
}

TEST_F(RankServicesTest, RanksThatAgentsStartHaveOneOfPmi) {
  const auto services = make("pmi");
  EXPECT_TRUE(services->check(kProgram));
  EXPECT_TRUE(has_server(*services));
}

TEST_F(RankServicesTest, ALauncherIsNoRank) {
  const Status refused = make("pmi")->check("/usr/bin/mpiexec.mpich");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kConfig);
  EXPECT_TRUE(make(Words{})->check("/usr/bin/mpiexec.mpich"));
}

TEST_F(RankServicesTest, WithoutAnAttemptNothingIsLeftToRemove) {
  const auto services = make("pmi");
  int done = 0;
  services->clean_up([&done] { ++done; });
  EXPECT_EQ(done, 1);
}

#ifdef MUSTER_PMIX

TEST_F(RankServicesTest, PmixNeedsItsProgramBesideThisOne) {
  const auto services = make("pmix");
  const Status missing = services->check(kProgram);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kConfig);
  EXPECT_NE(missing.error().text.find("needs '/usr/bin/muster-pmix'"), std::string::npos);
  files_.add_executable("/usr/bin/muster-pmix");
  EXPECT_TRUE(services->check(kProgram));
  EXPECT_TRUE(has_server(*services));
}

#else

TEST_F(RankServicesTest, PmixThatWasLeftOutOfTheBuildIsRefused) {
  files_.add_executable("/usr/bin/muster-pmix");
  const auto services = make("pmix");
  const Status refused = services->check(kProgram);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kConfig);
  EXPECT_EQ(refused.error().text,
            "--mpi-launch pmix: this muster was built without PMIx (CMake option MUSTER_PMIX)");
  EXPECT_FALSE(has_server(*services));
}

#endif

}  // namespace
}  // namespace muster::launcher
