// RecordedFiles on folders of the real disk: what is in them, and what must not be reached.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "base/recorded_files.h"
#include "tests/support/fake_files.h"

namespace muster {
namespace {

TEST(RecordedEnvironment, ALineIsAVariable) {
  testing::FakeFiles files;
  EXPECT_TRUE(recorded_environment(files).variables().empty());
  files.add_file("/environ", "A=1\nB=x=y\n\nnonsense\nC=\n");
  const Environment environment = recorded_environment(files);
  EXPECT_EQ(environment.variables().size(), 3U);
  EXPECT_EQ(environment.get("B"), "x=y");
  EXPECT_EQ(environment.get("C"), "");
}

// A link with ".." in it, as those of sysfs, while somebody else renames files all the time.
TEST(RecordedFiles, RenamesElsewhereOnTheMachineHideNoFile) {
  const std::string root = ::testing::TempDir() + "recorded_files_test." + std::to_string(getpid());
  std::filesystem::create_directories(root + "/devices/ib0");
  std::filesystem::create_directories(root + "/class/net");
  std::filesystem::create_directory_symlink("../../devices/ib0", root + "/class/net/ib0");
  ASSERT_TRUE(RealFiles().write(root + "/devices/ib0/type", "32\n"));
  const std::string first = root + ".a";
  const std::string second = root + ".b";
  ASSERT_TRUE(RealFiles().write(first, ""));
  const pid_t other = fork();
  if (other == 0) {
    for (;;)
      (void)(std::rename(first.c_str(), second.c_str()) +
             std::rename(second.c_str(), first.c_str()));
  }
  const auto files = RecordedFiles::open(root);
  ASSERT_TRUE(files) << files.error().text;
  constexpr int kReads = 20'000;
  int seen = 0;
  for (int i = 0; i < kReads; ++i) seen += files->read("/class/net/ib0/type") ? 1 : 0;
  EXPECT_EQ(seen, kReads);
  kill(other, SIGKILL);
  EXPECT_EQ(waitpid(other, nullptr, 0), other);
  std::filesystem::remove_all(root);
  std::filesystem::remove(first);
  std::filesystem::remove(second);
}

}  // namespace
}  // namespace muster
