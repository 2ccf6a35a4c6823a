// What an Indexed Job leaves open, and which flags fill it. JobSets and Slurm's steps are recorded
// in tests/data/pods.
#include "launcher/contracts/indexed_job.h"

#include <gtest/gtest.h>

#include "launcher/command_line/command_line.h"
#include "launcher/contracts/read_contract.h"
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

// Of pod 1 of a Job called my-train-2, which a JobSet's pod may be called as well.
Result<CommandLine> read_numbered(const Variables& variables, Words words,
                                  const std::string& subdomain = "net") {
  Environment environment;
  for (const auto& [name, value] : kSecondPod) environment.set(name, value);
  for (const auto& [name, value] : variables) environment.set(name, value);
  testing::FakeFiles files;
  files.add_file("/etc/hosts", "10.0.0.2\tmy-train-2-1." + subdomain + ".ns.svc\tmy-train-2-1\n");
  const PodFacts pod{environment, files, "my-train-2-1"};
  words.emplace_back("./a.out");
  return read_command_line({Personality::kMuster, "muster", std::move(words)}, environment,
                           RandomBytes{}, &pod);
}

TEST(IndexedJob, ANameAsOfAJobSetIsClearIfTheServiceOrTheUserNamesTheJob) {
  const auto as_job = read_numbered({}, {"--nnodes=2"}, "my-train-2");
  ASSERT_TRUE(as_job) << as_job.error().text;
  EXPECT_EQ(as_job->options.rdzv_endpoint, "my-train-2-0.my-train-2.ns.svc");
  for (const char* name : {"PET_MASTER_ADDR", "PET_RDZV_ENDPOINT", "MUSTER_RDZV_ENDPOINT"}) {
    const auto named = read_numbered({{name, "my-train-2-0.net"}}, {"--nnodes=2"});
    ASSERT_TRUE(named) << name << ": " << named.error().text;
    EXPECT_EQ(named->contract->gaps.size(), 1U) << name;
  }
  const auto other = read_numbered({{"PET_MASTER_ADDR", "my-train-0-0.net"}}, {"--nnodes=2"});
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().text.find("a JobSet may have a pod called"), std::string::npos);
}

TEST(IndexedJob, WhoSaysWhereItMeetsIsStillAskedForItsSizeAndToldItsRank) {
  const auto sized = read_numbered({}, {"--nnodes=2", "--rdzv-endpoint=my-train-2-0.net"});
  ASSERT_TRUE(sized) << sized.error().text;
  EXPECT_EQ(sized->options.node_rank, 1);
  const auto unsized = read_numbered({}, {"--rdzv-endpoint=my-train-2-0.net"});
  ASSERT_FALSE(unsized);
  EXPECT_EQ(unsized.error().text,
            "Indexed Job: a pod is not told how many completions the Job wants; give --nnodes N or "
            "MUSTER_NNODES=N, where N is spec.completions");
  const auto inner = read_numbered(
      {}, {"torchrun", "--nnodes=2", "--master-addr=my-train-2-0.net", "--master-port=29500"});
  ASSERT_TRUE(inner) << inner.error().text;
  EXPECT_EQ(inner->options.node_rank, 1);
}

TEST(IndexedJob, LabelsThatAreNoJobSetsAreOfNoJobSet) {
  Environment environment;
  for (const auto& [name, value] : kSecondPod) environment.set(name, value);
  testing::FakeFiles files;
  files.add_file("/etc/hosts", "10.0.0.2\tset-jobs-2-1.set.ns.svc\tset-jobs-2-1\n");
  const PodFacts pod{environment, files, "set-jobs-2-1"};
  const auto name = [&pod] { return (*read_contract(pod))->name; };
  EXPECT_EQ(name(), "jobset");
  files.add_file("/etc/podinfo/labels", "batch.kubernetes.io/job-name=\"set-jobs-2\"\n");
  EXPECT_EQ(name(), "indexed-job");
  EXPECT_FALSE(read_contract(pod, "jobset"));
  files.add_file("/etc/podinfo/labels", "jobset.sigs.k8s.io/jobset-name=\"set\"\n");
  EXPECT_EQ(name(), "jobset");
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
