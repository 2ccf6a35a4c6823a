#include "launcher/program/env_verb.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "launcher/report/exit_codes.h"
#include "tests/support/fake_files.h"
#include "tests/support/pages.h"

namespace muster::launcher {
namespace {

class EnvVerbTest : public ::testing::Test {
 protected:
  EnvVerbTest() {
    for (const char* program :
         {"/usr/bin/muster", "/usr/bin/muster-rsh", "/usr/bin/true", "/app/train"})
      files_.add_executable(program);
    files_.add_link("/proc/self/exe", "/usr/bin/muster");
    environment_.set("PATH", "/usr/bin");
    setup_.fd_limit = 1024;
  }
  int run(const std::vector<std::string>& words) {
    std::FILE* output = std::tmpfile();
    std::FILE* errors = std::tmpfile();
    const int code = run_env_verb(words, {environment_, files_, "train-0"}, setup_, output, errors);
    output_ = text_of(output);
    errors_ = text_of(errors);
    return code;
  }
  static std::string text_of(std::FILE* file) {
    std::rewind(file);
    std::string text;
    for (int c = std::getc(file); c != EOF; c = std::getc(file)) text += static_cast<char>(c);
    (void)std::fclose(file);
    return text;
  }
  // What --explain says, but for what only root gets.
  void expect_explained(const std::string& name, std::vector<std::string> words) {
    words.insert(words.begin(), "--explain");
    ASSERT_EQ(run(words), 0) << errors_;
    std::string text;
    for (const std::string_view line : split(output_, '\n')) {
      if (!line.empty() && !line.starts_with("OMPI_ALLOW_RUN_AS_ROOT"))
        text += std::string(line) + "\n";
    }
    expect_file("env/" + name + ".txt", text);
  }

  muster::testing::FakeFiles files_;
  Environment environment_;
  ProcessSetup setup_;
  std::string output_;
  std::string errors_;
};

TEST_F(EnvVerbTest, PageOfPytorchOnOneNode) {
  expect_explained("pytorch", {"--nproc-per-node", "2", "--rdzv-id", "job-1"});
}

TEST_F(EnvVerbTest, PageOfPytorchOnTheSecondOfTwoNodes) {
  expect_explained("pytorch-nodes", {"--local-rank", "1", "--nnodes", "2", "--nproc-per-node", "4",
                                     "--node-rank", "1", "--rdzv-id", "job-1", "--rdzv-endpoint",
                                     "train-0", "--role", "trainer", "--max-restarts", "3"});
}

TEST_F(EnvVerbTest, PageOfAPodThatSetsVariablesItself) {
  for (const auto& [name, value] : {std::pair{"OMP_NUM_THREADS", "8"},
                                    {"RANK", "7"},
                                    {"SLURM_PROCID", "3"},
                                    {"CUDA_VISIBLE_DEVICES", "4,6"},
                                    {"MUSTER_JOB_SECRET_FILE", "/run/secret"}})
    environment_.set(name, value);
  expect_explained("pytorch-user", {"--local-rank", "1", "--nproc-per-node", "2", "--rdzv-id",
                                    "job-1", "--virtual-local-rank"});
}

TEST_F(EnvVerbTest, PageOfWorkersThatMayCallOtherNodes) {
  expect_explained("rsh",
                   {"--rsh", "--nnodes", "2", "--rdzv-endpoint", "train-0", "--rdzv-id", "job-1"});
}

TEST_F(EnvVerbTest, PagesOfMpiruns) {
  for (const auto& [name, daemon] : {std::pair{"openmpi", "orted"},
                                     {"mpich", "hydra_pmi_proxy"},
                                     {"intel", "hydra_bstrap_proxy"}}) {
    const std::string folder = std::string("/opt/") + name + "/bin";
    for (const char* program : {"mpirun", "mpiexec.hydra", daemon})
      files_.add_executable(folder + "/" + program);
    environment_.set("PATH", folder);
    expect_explained(std::string("mpi-") + name,
                     {"--framework", "mpi", "--mpi", name, "--nproc-per-node", "2", "--nnodes", "2",
                      "--rdzv-endpoint", "train-0", "--no-python", "/app/train"});
  }
}

TEST_F(EnvVerbTest, PageOfRanksThatAgentsStart) {
  expect_explained("mpi-pmi", {"--framework", "mpi", "--mpi-launch", "pmi", "--nproc-per-node", "2",
                               "--rdzv-id", "job-1", "--no-python", "/app/train"});
}

TEST_F(EnvVerbTest, PageOfACommandThatCallsMpirun) {
  expect_explained("mpi-command", {"--framework", "mpi", "--mpi-launch", "command", "--nnodes", "2",
                                   "--rdzv-endpoint", "train-0", "--no-python", "/app/train"});
}

TEST_F(EnvVerbTest, TheTextIsWhatAProcessWouldHave) {
  environment_.set("OMP_NUM_THREADS", "8");
  environment_.set("PMI_RANK", "1");
  ASSERT_EQ(run({"--nproc-per-node", "2"}), 0);
  EXPECT_NE(output_.find("\nRANK=0\n"), std::string::npos);
  EXPECT_NE(output_.find("\nunset PMI_RANK\n"), std::string::npos);
  EXPECT_EQ(output_.find("OMP_NUM_THREADS"), std::string::npos) << "it is the user's";
}

TEST_F(EnvVerbTest, JsonNamesActionLayerAndConfidence) {
  ASSERT_EQ(run({"--json", "--local-rank", "1", "--nproc-per-node", "2"}), 0);
  const auto json = parse_json(output_);
  ASSERT_TRUE(json);
  EXPECT_EQ((*json)["local_rank"], 1);
  std::map<std::string, nlohmann::json> by_name;
  for (const auto& variable : (*json)["variables"]) by_name[variable["name"]] = variable;
  EXPECT_EQ(by_name["RANK"]["value"], "1");
  EXPECT_EQ(by_name["RANK"]["action"], "set");
  EXPECT_EQ(by_name["RANK"]["layer"], "framework");
  EXPECT_EQ(by_name["RANK"]["confidence"], "certain");
  EXPECT_TRUE(by_name["MASTER_PORT"]["value"].is_null());
  EXPECT_EQ(by_name["MASTER_PORT"]["confidence"], "at start");
}

TEST_F(EnvVerbTest, AllWorkersComeOneAfterTheOther) {
  ASSERT_EQ(run({"--json", "--all", "--nproc-per-node", "3"}), 0);
  const auto json = parse_json(output_);
  ASSERT_TRUE(json);
  ASSERT_EQ((*json)["processes"].size(), 3U);
  EXPECT_EQ((*json)["processes"][2]["local_rank"], 2);
  ASSERT_EQ(run({"--all", "--nproc-per-node", "2"}), 0);
  EXPECT_NE(output_.find("# worker of local rank 1\n"), std::string::npos);
}

TEST_F(EnvVerbTest, WhatAShellReadsIsQuoted) {
  ASSERT_EQ(run({"--export", "--role", "it's"}), 0);
  EXPECT_NE(output_.find("export ROLE_NAME='it'\\''s'\n"), std::string::npos);
  EXPECT_NE(output_.find("# MASTER_PORT is decided at the start\n"), std::string::npos);
}

TEST_F(EnvVerbTest, AWorkerOfTheLauncherStartsNothing) {
  ASSERT_EQ(run({"--framework", "mpi", "--mpi-role", "worker", "--nnodes", "2", "--rdzv-endpoint",
                 "launcher", "--no-python", "/app/train"}),
            0)
      << errors_;
  EXPECT_EQ(output_, "");
}

TEST_F(EnvVerbTest, WrongInputIsOneLineAndTheCodeOfRun) {
  EXPECT_EQ(run({"--json", "--export"}), kExitUsage);
  EXPECT_EQ(errors_, "muster env: --explain, --json and --export exclude each other\n");
  EXPECT_EQ(run({"--local-rank", "2", "--nproc-per-node", "2"}), kExitUsage);
  EXPECT_EQ(errors_, "muster env: --local-rank 2: this node has 2 workers\n");
  EXPECT_EQ(run({"--nnodes", "two"}), kExitUsage);
  EXPECT_EQ(run({"--local-rank"}), kExitUsage);
  EXPECT_EQ(run({"--export", "--all"}), kExitUsage);
  EXPECT_EQ(output_, "");
}

TEST_F(EnvVerbTest, NoSecretIsPrinted) {
  environment_.set("MUSTER_JOB_SECRET", "hunter2");
  for (const char* form : {"--explain", "--json", "--export"}) {
    ASSERT_EQ(run({form}), 0);
    EXPECT_EQ(output_.find("hunter2"), std::string::npos) << form;
  }
}

}  // namespace
}  // namespace muster::launcher
