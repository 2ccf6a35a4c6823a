#include "launcher/output/log_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/fake_files.h"
#include "tests/support/output_fixture.h"

namespace muster::launcher {
namespace {

using muster::testing::CapturedLog;
using muster::testing::FakeFiles;
using muster::testing::TempDir;

TEST(LogFiles, TheLayoutIsTorchruns) {
  FakeFiles files;
  LogFiles log_files(files, {"/logs", "/tmp", "job", "abcdefgh"});
  ASSERT_TRUE(log_files.make_attempt(0, {"0", "1"}));
  EXPECT_TRUE(files.is_directory("/logs/job_abcdefgh/attempt_0/0"));
  EXPECT_TRUE(files.is_directory("/logs/job_abcdefgh/attempt_0/1"));
  EXPECT_EQ(log_files.stream_file("1", false), "/logs/job_abcdefgh/attempt_0/1/stdout.log");
  EXPECT_EQ(log_files.stream_file("1", true), "/logs/job_abcdefgh/attempt_0/1/stderr.log");
  EXPECT_EQ(log_files.error_file("0"), "/logs/job_abcdefgh/attempt_0/0/error.json");
  EXPECT_EQ(log_files.filtered_file(false), "/logs/job_abcdefgh/attempt_0/filtered_stdout.log");
  EXPECT_EQ(log_files.filtered_file(true), "/logs/job_abcdefgh/attempt_0/filtered_stderr.log");
}

TEST(LogFiles, WithANodesNameFoldersTellNodeAndRank) {
  FakeFiles files;
  LogFiles log_files(files, {.log_dir = "/logs",
                             .temp_dir = "/tmp",
                             .run_id = "job/1",
                             .suffix = "abcdefgh",
                             .node = "worker-1"});
  ASSERT_TRUE(log_files.make_attempt(0, {"8", "9"}));
  EXPECT_EQ(log_files.run_dir(), "/logs/job_1_worker-1_abcdefgh");
  EXPECT_TRUE(files.is_directory("/logs/job_1_worker-1_abcdefgh/attempt_0/9"));
  EXPECT_EQ(log_files.folder("9"), "/logs/job_1_worker-1_abcdefgh/attempt_0/9");
  EXPECT_EQ(log_files.error_file("8"), "/logs/job_1_worker-1_abcdefgh/attempt_0/8/error.json");
  ASSERT_TRUE(log_files.make_attempt(1, {"4"}));  // the ranks of another round
  EXPECT_EQ(log_files.stream_file("4", true),
            "/logs/job_1_worker-1_abcdefgh/attempt_1/4/stderr.log");
}

TEST(LogFiles, NamesStayBelowTheLimitOfTheFileSystem) {
  FakeFiles files;
  const std::string name(300, 'x');
  LogFiles log_files(
      files,
      {.log_dir = "/logs", .temp_dir = "/tmp", .run_id = name, .suffix = "abcdefgh", .node = name});
  EXPECT_LE(log_files.run_dir().size() - std::string("/logs/").size(), 255u);
}

TEST(LogFiles, WithoutALogDirectoryThereIsAPrivateOne) {
  FakeFiles files;
  files.add_directory("/scratch");
  LogFiles log_files(files, {std::nullopt, "/scratch", "none", "abcdefgh"});
  EXPECT_EQ(files.calls(), 0u);
  ASSERT_TRUE(log_files.make_attempt(3, {"0"}));
  EXPECT_EQ(log_files.run_dir(), "/scratch/torchelastic_1/none_abcdefgh");
  EXPECT_TRUE(files.is_directory("/scratch/torchelastic_1/none_abcdefgh/attempt_3/0"));
}

TEST(LogFiles, OneCallMakesOneFolder) {
  FakeFiles files;
  LogFiles log_files(files, {"/logs", "/tmp", "job", "abcdefgh"});
  ASSERT_TRUE(log_files.make_attempt(0, {"0", "1"}));
  EXPECT_EQ(files.calls(), 5u);  // log directory, run, attempt, two ranks
  ASSERT_TRUE(log_files.make_attempt(1, {"0", "1"}));
  EXPECT_EQ(files.calls(), 8u);
}

TEST(LogFiles, AnAttemptNumberThatComesAgainErasesNothing) {
  FakeFiles files;
  LogFiles log_files(files, {"/logs", "/tmp", "job", "s"});
  ASSERT_TRUE(log_files.make_attempt(2, {"0"}));
  ASSERT_TRUE(log_files.make_attempt(2, {"0"}));
  EXPECT_EQ(log_files.error_file("0"), "/logs/job_s/attempt_2.1/0/error.json");
  ASSERT_TRUE(log_files.make_attempt(2, {"0"}));
  EXPECT_EQ(log_files.error_file("0"), "/logs/job_s/attempt_2.2/0/error.json");
  ASSERT_TRUE(log_files.make_attempt(3, {"0"}));
  EXPECT_EQ(log_files.error_file("0"), "/logs/job_s/attempt_3/0/error.json");
}

TEST(LogFiles, ForErrorFilesAloneEachAttemptHasAFolderOfAnotherName) {
  FakeFiles files;
  files.add_directory("/scratch");
  LogFiles log_files(files, {std::nullopt, "/scratch", "job", "s", true});
  ASSERT_TRUE(log_files.make_attempt(0, {"0", "1"}));
  EXPECT_EQ(files.calls(), 1u);
  EXPECT_EQ(log_files.error_file("1"), "/scratch/torchelastic_1/attempt_0_1_error.json");
  ASSERT_TRUE(log_files.make_attempt(0, {"0", "1"}));
  EXPECT_EQ(log_files.error_file("1"), "/scratch/torchelastic_2/attempt_0.1_1_error.json");
}

TEST(LogFiles, ErrorFilesGoWithTheirFolderWhenTheNextAttemptBegins) {
  FakeFiles files;
  files.add_directory("/scratch");
  LogFiles log_files(files, {std::nullopt, "/scratch", "job", "s", true});
  ASSERT_TRUE(log_files.make_attempt(0, {"0", "1"}));
  ASSERT_TRUE(files.write(log_files.error_file("1"), "{}"));
  ASSERT_TRUE(log_files.make_attempt(1, {"0", "1"}));
  EXPECT_EQ(files.list("/scratch").value(), std::vector<std::string>{"torchelastic_2"});
  EXPECT_TRUE(files.list("/scratch/torchelastic_2")->empty());
}

TEST(LogFiles, TheFolderOfErrorFilesGoesInTheEndUnlessThereAreSome) {
  for (const bool failed : {false, true}) {
    FakeFiles files;
    files.add_directory("/scratch");
    {
      LogFiles log_files(files, {std::nullopt, "/scratch", "job", "s", true});
      ASSERT_TRUE(log_files.make_attempt(0, {"0"}));
      if (failed) (void)files.write(log_files.error_file("0"), "{}");
    }
    EXPECT_EQ(files.exists("/scratch/torchelastic_1/attempt_0_0_error.json"), failed);
    EXPECT_EQ(files.list("/scratch")->empty(), !failed);
  }
}

TEST(LogFiles, ErrorFilesNeedAFolderInWhichFilesCanBeMade) {
  FakeFiles files;
  files.add_directory("/tmp");
  LogFiles log_files(files, {std::nullopt, "/tmp", "job", "s", true});
  files.fail_nth_call(1, EROFS);
  const Status nowhere = log_files.make_attempt(1, {"0"});
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().text.find("mkdtemp '/tmp/torchelastic_"), 0u) << nowhere.error().text;
}

TEST(LogFiles, TheNullDeviceMeansNoFiles) {
  FakeFiles files;
  LogFiles log_files(files, {"/dev/null", "/tmp", "job", "s"});
  EXPECT_FALSE(log_files.are_enabled());
  EXPECT_TRUE(log_files.make_run_dir());
  EXPECT_TRUE(log_files.make_attempt(0, {"0"}));
  EXPECT_EQ(files.calls(), 0u);
}

TEST(LogFiles, ARunIdIsOneFileName) {
  FakeFiles files;
  const std::string long_id(1000, 'x');
  LogFiles log_files(files, {"/logs", "/tmp", "../team/" + long_id, "s"});
  ASSERT_TRUE(log_files.make_run_dir());
  const auto names = files.list("/logs");
  ASSERT_EQ(names->size(), 1u);
  EXPECT_EQ(names->front(), ".._team_" + std::string(kMaxRunIdInPath - 8, 'x') + "_s");
}

TEST(LogFiles, AFolderThatCannotBeMadeIsNamed) {
  FakeFiles files;
  LogFiles log_files(files, {"/logs", "/tmp", "job", "s"});
  files.fail_path("/logs", EROFS);
  const Status made = log_files.make_run_dir();
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().os_errno, EROFS);
  EXPECT_NE(made.error().text.find("'/logs'"), std::string::npos);
  files.fail_path("/logs", 0);
  EXPECT_TRUE(log_files.make_run_dir());
}

TEST(LogFiles, EveryFailureOnTheWayIsHandedUp) {
  for (size_t n = 1; n <= 5; ++n) {
    FakeFiles files;
    LogFiles log_files(files, {"/logs", "/tmp", "job", "s"});
    files.fail_nth_call(n, ENOSPC);
    EXPECT_FALSE(log_files.make_attempt(0, {"0", "1"})) << n;
  }
}

TEST(LogFiles, SuffixesDiffer) {
  const auto one = random_suffix();
  const auto two = random_suffix();
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->size(), 8u);
  EXPECT_NE(*one, *two);
  EXPECT_EQ(one->find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789"), std::string::npos);
}

TEST(LogFiles, TheEndOfARegularFileIsReadWithoutTheRest) {
  const TempDir directory;
  const std::string path = directory.path() + "/log";
  ASSERT_TRUE(RealFiles().write(path, "0123456789"));
  EXPECT_EQ(read_end(path, 4).value(), "6789");
  EXPECT_EQ(read_end(path, 100).value(), "0123456789");
  ASSERT_EQ(mkfifo((directory.path() + "/pipe").c_str(), 0600), 0);
  EXPECT_FALSE(read_end(directory.path() + "/pipe", 4));
  ASSERT_EQ(symlink(path.c_str(), (directory.path() + "/link").c_str()), 0);
  EXPECT_FALSE(read_end(directory.path() + "/link", 4));
  const auto missing = read_end(directory.path() + "/none", 4);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().os_errno, ENOENT);
}

TEST(LogFile, AFullDiskIsToldOnceAndTheLossAtTheEnd) {
  CapturedLog log;
  LogFile file(UniqueFd(open("/dev/full", O_WRONLY | O_CLOEXEC)), "/logs/stdout.log");
  file.write("12345");
  file.write("678");
  EXPECT_EQ(log.count("output.file_failed path=/logs/stdout.log"), 1u);
  file.report_lost();
  EXPECT_EQ(log.count("output.file_lost path=/logs/stdout.log lost_bytes=8"), 1u);
}

TEST(LogFile, WithoutLossNothingIsSaid) {
  const TempDir directory;
  const std::string path = directory.path() + "/log";
  CapturedLog log;
  LogFile file(std::move(*RealFiles().create(path)), path);
  file.write("a\n");
  file.write("");
  file.write("b\n");
  file.report_lost();
  EXPECT_EQ(log.text(), "");
  EXPECT_EQ(muster::testing::content_of(path), "a\nb\n");
}

}  // namespace
}  // namespace muster::launcher
