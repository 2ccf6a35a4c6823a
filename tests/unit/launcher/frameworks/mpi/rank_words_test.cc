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

TEST(ProgramWords, ALauncherThatIsAScriptMayDoAnything) {
  testing::FakeFiles files;
  files.add_file("/bin/mpirun", "#!/bin/sh\nexec other \"$@\"\n");
  const FoundLauncher launcher{"/bin/mpirun", {.implementation = Implementation::kOpenMpi}};
  const auto programs = program_words(files, launcher, {"/bin/mpirun", {"mpirun", "a.out"}});
  ASSERT_FALSE(programs);
  EXPECT_EQ(programs.error().text, "'/bin/mpirun' is a script");
}

}  // namespace
}  // namespace muster::launcher
