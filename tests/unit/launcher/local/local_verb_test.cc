// What `muster local` makes of a manifest and the user's variables, as --explain tells it.
#include "launcher/local/local_verb.h"

#include <gtest/gtest.h>

#include <fstream>
#include <utility>

namespace muster::launcher {
namespace {

using Words = std::vector<std::string>;
using Variables = std::vector<std::pair<std::string, std::string>>;

class LocalVerb : public ::testing::Test {
 protected:
  // What it prints, on either stream.
  std::string said(const std::string& container, const Words& more = {},
                   const Variables& variables = {}) {
    const std::string path = ::testing::TempDir() + "local_verb_test.yaml";
    std::ofstream(path) << "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n"
                           "  completions: 2\n  parallelism: 2\n  template: {spec: {containers: [{"
                        << container << "}]}}\n";
    Environment environment;
    for (const auto& [name, value] : variables) environment.set(name, value);
    Words words = {"-f", path, "--explain"};
    words.insert(words.end(), more.begin(), more.end());
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    (void)run_local_verb(words, environment, setup_);
    return ::testing::internal::GetCapturedStdout() + ::testing::internal::GetCapturedStderr();
  }
  // The line of --nnodes, or all that was said.
  std::string nodes(const std::string& container, const Words& more = {},
                    const Variables& variables = {}) {
    const std::string all = said(container, more, variables);
    const size_t begin = all.find("--nnodes ");
    return begin == all.npos ? all : all.substr(begin, all.find('\n', begin) - begin);
  }

  ProcessSetup setup_;
};

constexpr const char* kShell = "command: [muster, run, --, sh, -c, 'true']";

TEST_F(LocalVerb, TheUsersVariableOfNodesCountsAsTheFlagDoes) {
  const std::string flag = nodes(kShell, {"--nnodes", "1"});
  EXPECT_EQ(nodes(kShell, {}, {{"MUSTER_NNODES", "1"}}), flag);
  EXPECT_EQ(nodes(kShell, {}, {{"PET_NNODES", "1"}}), flag);
  EXPECT_EQ(nodes(kShell, {}, {{"MUSTER_NNODES", "1"}, {"PET_NNODES", "2"}}), flag);
  EXPECT_EQ(nodes(kShell, {"--nnodes", "1"}, {{"MUSTER_NNODES", "2"}}), flag);
  EXPECT_NE(nodes(kShell), flag);
  EXPECT_NE(said(kShell, {}, {{"MUSTER_NNODES", "3:5"}}).find("--nnodes wants at least 3 nodes"),
            std::string::npos);
  EXPECT_NE(said(kShell, {}, {{"MUSTER_NNODES", "x"}}).find("MUSTER_NNODES: --nnodes 'x'"),
            std::string::npos);
}

TEST_F(LocalVerb, AValueThatTheClusterWouldFillInSaysNothing) {
  EXPECT_EQ(nodes("command: [torchrun, '--nnodes=$(PET_NNODES)', "
                  "'--nproc_per_node=$(PET_NPROC_PER_NODE)', --no-python, sh]"),
            nodes("command: [torchrun, --no-python, sh]"));
}

TEST_F(LocalVerb, AManifestThatCannotBeReadTwiceIsRefused) {
  EXPECT_NE(said(kShell, {"-f", "/dev/null"}).find("/dev/null: not a regular file"),
            std::string::npos);
}

TEST_F(LocalVerb, NodesThatCallEachOtherCannotBeSeparated) {
  const Words chaos = {"--chaos", "partition:1@1s"};
  constexpr const char* kRefused = "not with --rsh or --framework mpi";
  EXPECT_NE(said("command: [muster, run, --rsh, --, sh]", chaos).find(kRefused), std::string::npos);
  EXPECT_EQ(said("command: [muster, run, --rsh=false, --, sh]", chaos).find(kRefused),
            std::string::npos);
}

}  // namespace
}  // namespace muster::launcher
