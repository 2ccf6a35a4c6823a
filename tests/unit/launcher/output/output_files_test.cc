// Output's files: which stream is in which, and what happens when they cannot be made.
#include "launcher/output/output.h"

#include <gtest/gtest.h>

#include "tests/support/output_rig.h"

namespace muster::launcher {
namespace {

using muster::testing::kErr;
using muster::testing::OutputTest;
using muster::testing::TempDir;
using muster::testing::workers;
using Lines = std::vector<std::string>;

TEST_F(OutputTest, TeedStreamsAreInFileAndConsole) {
  options_.log_dir = "/logs";
  options_.tee.otherwise = {.out = true, .err = false};
  open(1);
  print(0, "one\ntwo");
  print(0, "not in a file\n", kErr);
  end(0);
  output_->drain(0);
  output_->close_attempt();
  EXPECT_EQ(shown(), "[10] one\n[10] two");
  const std::string folder = run_dir("/logs") + "/attempt_0/0";
  EXPECT_EQ(files_.content(folder + "/stdout.log"), "one\ntwo");
  EXPECT_FALSE(files_.exists(folder + "/stderr.log"));
}

TEST_F(OutputTest, RedirectedStreamsAreWrittenByTheWorker) {
  options_.log_dir = "/logs";
  options_.redirects.by_local_rank[1] = {.out = true, .err = true};
  open(2);
  print(0, "shown\n");
  print(1, "only in the file\n");
  EXPECT_EQ(shown(), "[10] shown\n");
  EXPECT_EQ(files_.content(run_dir("/logs") + "/attempt_0/1/stdout.log"), "only in the file\n");
}

TEST_F(OutputTest, LastLinesOfARedirectedStreamComeFromItsFile) {
  const TempDir directory;
  RealFiles files;
  options_.log_dir = directory.path();
  options_.redirects.otherwise = {.out = true, .err = true};
  output_ = std::move(*Output::create(*loop_, files, console_, options_));
  ASSERT_TRUE(output_->open_attempt(0, workers(1)));
  start(0);
  print(0, "one\ntwo\n");
  EXPECT_EQ(output_->last_lines(0), (Lines{"one", "two"}));
  print(0, "error\n", kErr);
  EXPECT_EQ(output_->last_lines(0), Lines{"error"});
}

TEST_F(OutputTest, OnlyTeedStreamsGetThePrefixWhenAskedSo) {
  options_.log_dir = "/logs";
  options_.prefix_tee_only = true;
  options_.prefix_template = "[${role_name}${local_rank}]:";
  options_.tee.by_local_rank[0] = {.out = true, .err = false};
  open(2);
  print(0, "teed\n");
  print(1, "plain\n");
  EXPECT_EQ(shown(), "[trainer0]:teed\nplain\n");
}

TEST_F(OutputTest, RanksThatAreNotShownKeepTheirTeeFiles) {
  options_.log_dir = "/logs";
  options_.tee.otherwise = {.out = true, .err = false};
  options_.local_ranks_filter = {1};
  open(2);
  print(0, "hidden\n");
  print(0, "nowhere\n", kErr);
  print(1, "shown\n");
  EXPECT_EQ(shown(), "[11] shown\n");
  EXPECT_EQ(shown(kErr), "");
  EXPECT_EQ(files_.content(run_dir("/logs") + "/attempt_0/0/stdout.log"), "hidden\n");
}

TEST_F(OutputTest, OfRanksThatAreNotShownTheLastLinesAreKept) {
  options_.local_ranks_filter = {1};
  open(2);
  print(0, "on stdout\n");
  print(0, "ValueError: x\n", kErr);
  print(1, "shown\n");
  EXPECT_EQ(shown(), "[11] shown\n");
  EXPECT_EQ(shown(kErr), "");
  output_->drain(0);
  EXPECT_EQ(output_->last_lines(0), std::vector<std::string>{"ValueError: x"});
  end(0);
  output_->close_attempt();
  EXPECT_EQ(shown(kErr), "");
}

TEST_F(OutputTest, FilteredLinesOfAllTeedRanksAreInOneFile) {
  options_.log_dir = "/logs";
  options_.tee.otherwise = {.out = true, .err = true};
  options_.stdout_filters = {"loss"};
  options_.stderr_filters = {"Error"};
  open(2);
  print(0, "loss 1\nnoise\n");
  print(0, "loss on stderr\n", kErr);
  settle();
  print(1, "loss 2\n");
  print(1, "ValueError\n", kErr);
  settle();
  const std::string folder = run_dir("/logs") + "/attempt_0";
  EXPECT_EQ(files_.content(folder + "/filtered_stdout.log"), "[10] loss 1\n[11] loss 2\n");
  EXPECT_EQ(files_.content(folder + "/filtered_stderr.log"), "[11] ValueError\n");
}

TEST_F(OutputTest, EveryAttemptHasItsOwnFilesAndPipes) {
  options_.log_dir = "/logs";
  options_.tee.otherwise = {.out = true, .err = false};
  open(1, 0);
  print(0, "first");
  child_ends_.clear();
  open(1, 1);
  print(0, "second\n");
  EXPECT_EQ(shown(), "[10] first\n[10] second\n");
  EXPECT_EQ(files_.content(run_dir("/logs") + "/attempt_0/0/stdout.log"), "first");
  EXPECT_EQ(files_.content(run_dir("/logs") + "/attempt_1/0/stdout.log"), "second\n");
}

TEST_F(OutputTest, ErrorFilesHaveAPlaceEvenWithoutLogs) {
  open(2);
  const std::string path = output_->paths(1).error_file;
  EXPECT_TRUE(path.starts_with("/tmp/torchelastic_")) << path;
  EXPECT_TRUE(path.ends_with("/attempt_0_1_error.json")) << path;
}

TEST_F(OutputTest, FiltersAloneMakeNoFiles) {
  options_.stdout_filters = {"x"};
  open(1);
  print(0, "x\n");
  settle();
  EXPECT_TRUE(files_.list("/tmp/torchelastic_1")->empty());
  EXPECT_NE(output_->paths(0).error_file, "");
}

TEST_F(OutputTest, TheNullDeviceAsLogDirectoryTurnsFilesOff) {
  options_.log_dir = "/dev/null";
  options_.tee.otherwise = {.out = true, .err = true};
  options_.redirects.otherwise = {.out = true, .err = true};
  options_.stdout_filters = {"x"};
  options_.prefix_tee_only = true;
  open(1);
  EXPECT_EQ(output_->paths(0).error_file, "");
  print(0, "x\n");
  EXPECT_EQ(shown(), "x\n");
  EXPECT_EQ(files_.calls(), 0u);
}

TEST_F(OutputTest, ALogDirectoryThatCannotBeMadeIsAnErrorAtTheStart) {
  options_.log_dir = "/logs";
  files_.fail_path("/logs", EROFS);
  const auto created = Output::create(*loop_, files_, console_, options_);
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code, Code::kConfig);
  EXPECT_NE(created.error().text.find("--log-dir: "), std::string::npos);
  EXPECT_NE(created.error().text.find("'/logs'"), std::string::npos);
}

TEST_F(OutputTest, OnlyAFolderThatSomebodyNamedIsTheirSetting) {
  options_.log_dir = "/logs";
  files_.fail_path("/logs", ENOSPC);
  EXPECT_EQ(Output::create(*loop_, files_, console_, options_).error().code, Code::kOs);
  options_.log_dir.reset();
  options_.tee.otherwise = {.out = true, .err = true};
  options_.temp_dir = "/file";
  files_.add_file("/file", "");
  const auto created = Output::create(*loop_, files_, console_, options_);
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code, Code::kOs);
  EXPECT_EQ(created.error().text.find("--log-dir"), std::string::npos) << created.error().text;
}

TEST_F(OutputTest, WithoutATemporaryDirectoryTheJobGoesOnWithoutErrorFiles) {
  files_.remove("/tmp");
  open(1);
  EXPECT_EQ(output_->paths(0).error_file, "");
  EXPECT_EQ(log_.count("output.no_folders"), 1u);
  print(0, "x\n");
  EXPECT_EQ(shown(), "[10] x\n");
  child_ends_.clear();
  open(1, 1);
  EXPECT_EQ(log_.count("output.no_folders"), 1u);
}

TEST_F(OutputTest, FilesThatFailLaterCostTheFilesOnly) {
  options_.log_dir = "/logs";
  options_.tee.by_local_rank[0] = {.out = true, .err = false};
  options_.redirects.by_local_rank[1] = {.out = true, .err = false};
  open(2, 0);
  child_ends_.clear();
  const std::string attempt = run_dir("/logs") + "/attempt_1";
  files_.fail_path(attempt + "/0/stdout.log", ENOSPC);
  files_.fail_path(attempt + "/1/stdout.log", ENOSPC);
  open(2, 1);
  EXPECT_EQ(log_.count("output.no_file"), 2u);
  print(0, "a\n");
  settle();
  print(1, "b\n");
  EXPECT_EQ(shown(), "[10] a\n[11] b\n");

  child_ends_.clear();
  files_.fail_path(run_dir("/logs") + "/attempt_2", ENOSPC);
  open(2, 2);
  EXPECT_EQ(log_.count("output.no_folders"), 1u);
  EXPECT_EQ(output_->paths(0).error_file, "");
  print(1, "c\n");
  EXPECT_EQ(shown(), "[11] c\n");
}

TEST_F(OutputTest, AFileThatCannotBeCreatedInTheFirstAttemptIsAnError) {
  options_.log_dir = "/logs";
  options_.redirects.otherwise = {.out = true, .err = true};
  output_ = std::move(*Output::create(*loop_, files_, console_, options_));
  files_.fail_path(run_dir("/logs") + "/attempt_0/0/stderr.log", EACCES);
  const Status opened = output_->open_attempt(0, workers(1));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().os_errno, EACCES);
  EXPECT_TRUE(opened.error().text.starts_with("stderr of local rank 0: ")) << opened.error().text;
}

}  // namespace
}  // namespace muster::launcher
