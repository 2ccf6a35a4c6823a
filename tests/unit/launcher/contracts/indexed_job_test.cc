// What an Indexed Job leaves open, and which flags fill it. JobSets and Slurm's steps are recorded
// in tests/data/pods.
#include "launcher/contracts/indexed_job.h"

#include <gtest/gtest.h>

#include "launcher/command_line/command_line.h"
#include "tests/support/fake_files.h"

namespace muster::launcher {
namespace {

using Words = std::vector<std::string>;
using Variables = std::vector<std::pair<std::string, std::string>>;

const Variables kSecondPod = {{"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
                              {"JOB_COMPLETION_INDEX", "1"}};

Result<CommandLine> read(const Variables& variables, Words words) {
  Environment environment;
  for (const auto& [name, value] : variables) environment.set(name, value);
  testing::FakeFiles files;
  const PodFacts pod{environment, files, "sum-1"};
  words.emplace_back("./a.out");
  return read_command_line({Personality::kMuster, "muster", std::move(words)}, environment,
                           RandomBytes{}, &pod);
}

std::string problem(const Variables& variables, const Words& words) {
  const auto command_line = read(variables, words);
  return command_line ? "" : command_line.error().text;
}

TEST(IndexedJob, WantsItsSizeAndAServiceUnlessItIsOneNode) {
  EXPECT_EQ(problem(kSecondPod, {}),
            "Indexed Job: a pod is not told how many completions the Job wants; give --nnodes N or "
            "MUSTER_NNODES=N, where N is spec.completions");
  EXPECT_EQ(problem(kSecondPod, {"--nnodes=2"}),
            "Indexed Job: pods without a headless Service as their subdomain cannot find each "
            "other; give --rdzv-endpoint");
  for (const Words& words :
       {Words{"--nnodes=1"}, Words{"--standalone"}, Words{"--nnodes=2", "--hosts=a,b"},
        Words{"--nnodes=2", "--rdzv-endpoint=sum-0.s"}})
    EXPECT_EQ(problem(kSecondPod, words), "") << words.front();
  EXPECT_EQ(read(kSecondPod, {"--nnodes=2", "--rdzv-endpoint=sum-0.s"})->options.node_rank, 1);
}

TEST(IndexedJob, AVariableSaysTheSizeToo) {
  for (const char* name : {"MUSTER_NNODES", "PET_NNODES"}) {
    Variables variables = kSecondPod;
    variables.emplace_back(name, "1");
    EXPECT_EQ(problem(variables, {}), "") << name;
  }
}

TEST(IndexedJob, AnIndexThatIsNoNumberIsNone) {
  for (const char* index : {"", "-1", "tcp://10.0.0.1:80", "99999999999"}) {
    EXPECT_FALSE(read({kSecondPod[0], {"JOB_COMPLETION_INDEX", index}}, {})->contract) << index;
  }
}

}  // namespace
}  // namespace muster::launcher
