#include "launcher/frameworks/mpi/rank_words.h"

#include <gtest/gtest.h>

#include "tests/support/fake_files.h"

namespace muster::launcher {
namespace {

using mpi::Implementation;

TEST(ProgramWords, SayWhereTheUserHasPutOursAlready) {
  const testing::FakeFiles files;
  const FoundLauncher launcher{"/bin/mpiexec", {.implementation = Implementation::kMpich}};
  const auto found = [&](std::vector<std::string> words) {
    return program_words(files, launcher, {"/bin/mpiexec", std::move(words)})
        .value_or(std::vector<ProgramWord>());
  };
  using Words = std::vector<ProgramWord>;
  EXPECT_EQ(found({"mpiexec", "-n", "2", "a.out"}), (Words{{3, false}}));
  EXPECT_EQ(found({"mpiexec", "muster", "rank", "--", "a.out"}), (Words{{1, true}}));
  EXPECT_EQ(found({"mpiexec", "-n", "2", "/opt/muster", "rank", "--", "a"}), (Words{{3, true}}));
  EXPECT_EQ(found({"mpiexec", "muster", "rsh"}), (Words{{1, false}}));
  EXPECT_EQ(found({"mpiexec", "muster"}), (Words{{1, false}}));
  EXPECT_EQ(found({"mpiexec", "-frobnicate", "a.out"}), Words());
  EXPECT_EQ(found({"mpiexec", "muster", "rank", "--", "a", ":", "b"}),
            (Words{{1, true}, {6, false}}));
  // Options that nobody knows: the user may have put it before each.
  EXPECT_EQ(found({"mpiexec", "-frobnicate", "muster", "rank", "--", "a", ":", "muster", "rank",
                   "--", "b"}),
            (Words{{2, true}, {7, true}}));
  EXPECT_EQ(found({"mpiexec", "-frobnicate", "muster", "rank", "--", "a", ":", "b"}), Words());
}

TEST(RankWords, NameTheLauncherThatReports) {
  std::vector<std::string> words = {"mpirun", "a", ":", "muster", "rank", "--", "b"};
  put_rank_words("/opt/muster", {{1}, {3, true}}, words, 501);
  EXPECT_EQ(words,
            (std::vector<std::string>{"mpirun", "/opt/muster", "rank", "--launcher=501", "--", "a",
                                      ":", "muster", "rank", "--launcher=501", "--", "b"}));
}

class WatchTest : public ::testing::Test {
 protected:
  WatchTest() {
    for (const char* path : {"/bin/mpirun", "/bin/python", "/a.out"}) files_.add_executable(path);
    files_.add_file("/bin/mpiexec", "#!/bin/sh\nexec other \"$@\"\n");
  }
  RankWatch watch(Implementation implementation, std::vector<std::string> words,
                  const std::string& path = "/bin/mpirun") const {
    return find_rank_watch(files_, {path, {.implementation = implementation}},
                           {path, std::move(words)}, "/bin");
  }
  testing::FakeFiles files_;
};

TEST_F(WatchTest, AVariableReachesTheRanksOfAllButMpich) {
  for (const Implementation each : {Implementation::kOpenMpi, Implementation::kIntelMpi}) {
    const RankWatch found = watch(each, {"mpirun", "--frobnicate", "2", "python", "--path", "x"});
    EXPECT_TRUE(found.by_variable);
    EXPECT_EQ(found.options, 3U);
    EXPECT_TRUE(watch(each, {"mpirun", "a.out"}, "/bin/mpiexec").by_variable);
  }
  const RankWatch mpich = watch(Implementation::kMpich, {"mpirun", "-n", "2", "python"});
  EXPECT_FALSE(mpich.by_variable);
  EXPECT_EQ(mpich.programs, (std::vector<ProgramWord>{{3, false}}));
}

TEST_F(WatchTest, WithSomeWordsRanksAreNotSeen) {
  const auto problem = [this](const std::string& word) {
    const RankWatch found = watch(Implementation::kOpenMpi, {"mpirun", word, "1", "a.out"});
    EXPECT_FALSE(found.sees_ranks());
    return found.problem;
  };
  EXPECT_EQ(problem("-xterm"), "with '-xterm' it starts ranks in another way, or none");
  EXPECT_NE(problem("--version"), "");
  EXPECT_NE(problem("--path"), "");
}

TEST_F(WatchTest, AnMpiexecOfMpichThatIsAScriptMayDoAnything) {
  const RankWatch found = watch(Implementation::kMpich, {"mpiexec", "a.out"}, "/bin/mpiexec");
  EXPECT_FALSE(found.sees_ranks());
  EXPECT_EQ(found.problem, "'/bin/mpiexec' is a script");
}

}  // namespace
}  // namespace muster::launcher
