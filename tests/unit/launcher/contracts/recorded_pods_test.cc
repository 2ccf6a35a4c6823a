// Every pod of tests/data/pods is read as its file `expected` says. They are renewed as the pages
// are.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "launcher/command_line/command_line.h"
#include "launcher/contracts/read_contract.h"
#include "tests/support/pages.h"

namespace muster::launcher {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> recorded_pods() {
  std::vector<fs::path> pods;
  for (const auto& entry : fs::recursive_directory_iterator(MUSTER_TEST_DATA "/pods"))
    if (entry.path().filename() == "environ") pods.push_back(entry.path().parent_path());
  std::ranges::sort(pods);
  return pods;
}

// "--nnodes  2  LWS: LWS_GROUP_SIZE" a line, and all else that is in it.
std::string text_of_contract(const Contract& contract) {
  std::string text = "contract " + std::string(contract.name) + "  " + contract.controller +
                     ": by " + contract.recognised_by + "\n";
  if (!contract.job.empty()) text += "job " + contract.job + "\n";
  for (const auto& [flag, value, source] : contract.values)
    text += long_name(row_of(flag)) + "  " + value + "  " + source + "\n";
  for (const auto& [flag, problem, always, give, rank] : contract.gaps)
    text += long_name(row_of(flag)) + " is missing: " + problem +
            (give.empty() ? "" : "; give " + give) + "\n";
  for (const Flag flag : contract.absorbed) text += "absorbed " + long_name(row_of(flag)) + "\n";
  for (const auto& host : contract.hosts) {
    text += "host " + host.host;
    if (contract.says_slots) text += "  " + std::to_string(host.slots);
    text += "\n";
  }
  if (!contract.secret_file.empty()) text += "secret " + contract.secret_file + "\n";
  for (const std::string& name : contract.scrubbed) text += "scrubbed " + name + "\n";
  for (const auto& [name, value] : contract.added) text += "added " + name + "=" + value + "\n";
  if (contract.holds) text += "holds\n";
  return text;
}

struct RecordedPod {
  explicit RecordedPod(const fs::path& folder) : root((folder / "root").string()) {
    RealFiles files;
    const auto variables = files.read((folder / "environ").string());
    const auto name = files.read((folder / "hostname").string());
    EXPECT_TRUE(variables && name) << folder;
    for (const std::string_view line : split(*variables, '\n')) environment.set_entry(line);
    host_name = trim(*name);
  }
  [[nodiscard]] PodFacts facts() const { return {environment, root, host_name}; }

  RealFiles root;
  Environment environment;
  std::string host_name;
};

std::string read_recorded(const fs::path& folder) {
  const RecordedPod pod(folder);
  const auto contract = read_contract(pod.facts());
  if (!contract) return contract.error().text + "\n";
  return *contract ? text_of_contract(**contract) : "no contract\n";
}

// "test_pods.py", "test_mpi_roles.py TrainerTest"; "" = nothing runs it.
std::string test_of(const fs::path& job) {
  if (fs::exists(job / "result")) return "test_pods.py";
  const auto text = RealFiles().read((job / "tested").string());
  return text ? std::string(trim(*text)) : "";
}

TEST(RecordedPodsPages, AreReadAsExpected) {
  const auto pods = recorded_pods();
  ASSERT_GE(pods.size(), 2U);
  const fs::path data = MUSTER_TEST_DATA;
  for (const fs::path& pod : pods)
    expect_file((fs::relative(pod, data) / "expected").string(), read_recorded(pod));
}

TEST(RecordedPods, OneOfEachRowOfTheTableReallyRuns) {
  std::vector<std::string_view> ran;
  for (const fs::path& folder : recorded_pods()) {
    if (test_of(folder.parent_path()).empty()) continue;
    const RecordedPod pod(folder);
    const auto row = std::ranges::find_if(contract_rows(), [&pod](const ContractRow& each) {
      return each.read(pod.facts()).has_value();
    });
    if (row != contract_rows().end()) ran.push_back(row->controller);
  }
  for (const ContractRow& row : contract_rows())
    EXPECT_NE(std::ranges::find(ran, row.controller), ran.end()) << row.controller;
}

// What `muster run WORDS train.py` ends with in that pod, with these variables; "" = it starts.
std::string refusal(const std::string& pod, std::vector<std::string> words,
                    const std::vector<std::pair<std::string, std::string>>& variables = {}) {
  RecordedPod recorded(fs::path(MUSTER_TEST_DATA "/pods") / pod);
  for (const auto& [name, value] : variables) recorded.environment.set(name, value);
  const PodFacts facts = recorded.facts();
  words.emplace_back("train.py");
  const auto read = read_command_line({Personality::kMuster, "muster", std::move(words)},
                                      recorded.environment, RandomBytes{}, &facts);
  return read ? "" : read.error().text;
}

TEST(RecordedPods, WhatTheyAreNotToldIsOneLineThatSaysWhatToWrite) {
  struct Case {
    const char* pod;
    std::vector<std::string> words;
    const char* line;
  };
  const Case cases[] = {
      {"indexed-job/no-service/example-job-1",
       {},
       "Indexed Job: a pod is not told how many completions the Job wants; give --nnodes N or "
       "MUSTER_NNODES=N, where N is spec.completions"},
      {"indexed-job/no-service/example-job-1",
       {"--nnodes=3"},
       "Indexed Job: pods without a headless Service as their subdomain cannot find each other; "
       "give --rdzv-endpoint"},
      {"indexed-job/like-a-jobset/my-run-2-1",
       {"--nnodes=3"},
       "Indexed Job: a JobSet may have a pod called 'my-run-2-1' as well; give --contract "
       "indexed-job or --contract jobset"},
      {"indexed-job/like-a-jobset/my-run-2-1", {"--nnodes=3", "--contract=jobset"}, ""},
      {"indexed-job/like-a-jobset/my-run-2-1", {"--nnodes=3", "--contract=indexed-job"}, ""},
      {"indexed-job/like-a-jobset/my-run-2-1", {"--nnodes=1"}, ""},
      {"indexed-job/like-a-jobset/my-run-2-1",
       {},
       "Indexed Job: a JobSet may have a pod called 'my-run-2-1' as well; give --contract "
       "indexed-job or --contract jobset"},
      {"jobset/subdomain-names/network-jobset-leader-0-0", {"--contract=jobset", "--nnodes=3"}, ""},
      {"jobset/subdomain/network-jobset-workers-0-1",
       {},
       "JobSet: a pod is not told how many pods the JobSet has; give --nnodes N or "
       "MUSTER_NNODES=N, where N is the number of pods that train"},
      {"jobset/names/pytorch-workers-0-1",
       {},
       "JobSet: a pod is not told how many pods the JobSet has; give --nnodes N or "
       "MUSTER_NNODES=N, where N is the number of pods that train; if they are of several "
       "replicatedJobs, mount their labels and annotations at /etc/podinfo as well"},
      {"dlrover/servers/worker-0",
       {},
       "DLRover: without WORLD_SIZE this is no job of AllreduceStrategy, and DLRover itself brings "
       "its pods together; give --contract none, and the program of this pod runs alone"},
      {"dlrover/servers/worker-0", {"--contract=none"}, ""},
      {"sagemaker/unlisted/algo-9",
       {},
       "SageMaker: /opt/ml/input/config/resourceconfig.json does not list its own host 'algo-9'; "
       "give --node-rank"},
      {"sagemaker/unlisted/algo-9", {"--node-rank=1"}, ""},
      {"training-operator/paddle-servers/paddle-servers-worker-0",
       {},
       "PaddleJob: PADDLE_TRAINER_NUM is for a job of parameter servers, whose programs find each "
       "other; give --contract none, and the program of this pod runs alone"},
      {"training-operator/paddle-servers/paddle-servers-worker-0", {"--contract=none"}, ""},
  };
  for (const Case& each : cases)
    EXPECT_EQ(refusal(each.pod, each.words), each.line) << each.pod << " " << join(each.words, " ");
}

TEST(RecordedPods, WhatContradictsItselfIsOneLineWithBothValues) {
  struct Case {
    const char* pod;
    const char* name;
    const char* value;
    const char* line;
  };
  const Case cases[] = {
      {"lws/group/worker-1", "LWS_WORKER_INDEX", "5",
       "LWS: LWS_WORKER_INDEX is 5, and there are 2 nodes; give --node-rank"},
      {"lws/group/worker-1", "LWS_GROUP_SIZE", "0",
       "LWS: LWS_GROUP_SIZE is no number of nodes; give --nnodes"},
      {"trainer/torch/multi-node-example-node-0-1", "PET_NODE_RANK", "7",
       "Trainer: PET_NODE_RANK is 7, and there are 3 nodes; give --node-rank"},
      {"training-operator/pytorch-master/pytorch-simple-worker-0", "RANK", "2",
       "PyTorchJob: RANK is 2, and there are 2 nodes; give --node-rank"},
      {"training-operator/pytorch-master/pytorch-simple-worker-0", "PET_NNODES", "5",
       "PyTorchJob: PET_NNODES is 5, and WORLD_SIZE 2 does not divide by it; give --nnodes"},
      {"training-operator/paddle/paddle-simple-gpu-worker-1", "PADDLE_NNODES", "1",
       "PaddleJob: own name is 1, and there is 1 node; give --node-rank"},
      {"training-operator/pytorch-master/pytorch-simple-worker-0", "WORLD_SIZE", "0",
       "PyTorchJob: PET_NNODES is 2, and WORLD_SIZE 0 does not divide by it; give --nnodes"},
      {"training-operator/pytorch-master/pytorch-simple-worker-0", "PET_NODE_RANK", "0",
       "PyTorchJob: RANK is 1, and PET_NODE_RANK 0; give --node-rank"},
      {"lws/group/worker-1", "LWS_WORKER_INDEX", "x",
       "LWS: LWS_WORKER_INDEX is no number; give --node-rank"},
      {"trainer/xgboost-gpus/xgb-node-0-0", "DMLC_TASK_ID", "2",
       "Trainer: DMLC_NUM_WORKER 4 counts the GPUs of all nodes, and node 2 has 2; give --nnodes"},
      {"sagemaker/toolkit-without-file/algo-2", "SM_CURRENT_HOST", "",
       "SageMaker: SM_CURRENT_HOST is not set; give --node-rank"},
      {"slurm/step/gpu10", "SLURM_STEP_NODELIST", "gpu[01-03]",
       "Slurm: SLURM_STEP_NODELIST does not list SLURMD_NODENAME 'gpu10'; give --node-rank"},
      {"slurm/step/gpu10", "SLURM_NODEID", "4",
       "Slurm: SLURM_NODEID is 4, and there are 2 nodes; give --node-rank"},
  };
  for (const Case& each : cases)
    EXPECT_EQ(refusal(each.pod, {}, {{each.name, each.value}}), each.line) << each.name;
}

TEST(RecordedPods, OneNodeOfTheControllersIsNoAnswerToARankThatContradictsIt) {
  const std::pair<std::string, std::string> one = {"PET_NNODES", "1"};
  EXPECT_EQ(refusal("trainer/torch/multi-node-example-node-0-1", {}, {one}),
            "Trainer: PET_NODE_RANK is 1, and there is 1 node; give --node-rank");
  EXPECT_EQ(refusal("training-operator/pytorch-master/pytorch-simple-worker-0", {},
                    {one, {"WORLD_SIZE", "1"}}),
            "PyTorchJob: RANK is 1, and there is 1 node; give --node-rank");
  EXPECT_EQ(refusal("lws/group/worker-1", {}, {{"LWS_GROUP_SIZE", "1"}}),
            "LWS: LWS_WORKER_INDEX is 1, and there is 1 node; give --node-rank");
  EXPECT_EQ(refusal("lws/group/worker-1", {"--nnodes=1"}, {{"LWS_GROUP_SIZE", "1"}}), "");
}

TEST(RecordedPods, MoreNodesOrSparesOfTheUserHaveTheRankThatContradictedTheController) {
  struct Case {
    const char* pod;
    const char* name;
  };
  const Case cases[] = {{"lws/group/worker-1", "LWS_WORKER_INDEX"},
                        {"training-operator/pytorch-kubedl/mnist-worker-0", "RANK"},
                        {"trainer/torch/multi-node-example-node-0-1", "PET_NODE_RANK"},
                        {"slurm/step/gpu10", "SLURM_NODEID"}};
  for (const auto& [pod, name] : cases) {
    const std::string what = std::string(pod) + " " + name;
    EXPECT_EQ(refusal(pod, {"--nnodes=4"}, {{name, "3"}}), "") << what;
    EXPECT_EQ(refusal(pod, {"--spares=2"}, {{name, "3"}}), "") << what;
    EXPECT_EQ(refusal(pod, {}, {{name, "3"}, {"MUSTER_NNODES", "4"}}), "") << what;
    EXPECT_EQ(refusal(pod, {}, {{name, "3"}, {"MUSTER_NODE_RANK", "1"}}), "") << what;
    EXPECT_NE(refusal(pod, {"--nnodes=3"}, {{name, "3"}}), "") << what;
  }
  EXPECT_NE(refusal("lws/group/worker-1", {}, {{"LWS_WORKER_INDEX", "3"}, {"PET_NNODES", "4"}}),
            "");
  const auto rank = [](std::vector<std::string> words) {
    RecordedPod pod(fs::path(MUSTER_TEST_DATA "/pods/lws/group/worker-1"));
    pod.environment.set("LWS_WORKER_INDEX", "3");
    const PodFacts facts = pod.facts();
    words.emplace_back("train.py");
    return read_command_line({Personality::kMuster, "muster", std::move(words)}, pod.environment,
                             RandomBytes{}, &facts)
        ->options.node_rank;
  };
  EXPECT_EQ(rank({"--nnodes=4"}), 3);
  EXPECT_EQ(rank({"--nnodes=1", "--spares=3"}), 3);
  EXPECT_EQ(rank({"--node-rank=1"}), 1);
}

TEST(RecordedPods, OneHostOfSagemakerNeedsNoNameOfItsOwn) {
  const std::pair<std::string, std::string> unnamed = {"SM_CURRENT_HOST", ""};
  EXPECT_EQ(
      refusal("sagemaker/toolkit-without-file/algo-2", {}, {unnamed, {"SM_HOSTS", R"(["a"])"}}),
      "");
}

TEST(RecordedPods, TorchrunsWordsMeetWhereTheControllerSaysUnlessTheyNameAMaster) {
  const RecordedPod pod(MUSTER_TEST_DATA "/pods/jobset/names/pytorch-workers-0-1");
  const PodFacts facts = pod.facts();
  const auto read = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"torchrun", "--nnodes=4"});
    words.emplace_back("train.py");
    return read_command_line({Personality::kMuster, "muster", std::move(words)}, pod.environment,
                             RandomBytes{}, &facts);
  };
  const auto named = read({});
  ASSERT_TRUE(named) << named.error().text;
  EXPECT_EQ(named->options.backend, RendezvousBackend::kC10d);
  EXPECT_EQ(named->options.rdzv_endpoint, "pytorch-workers-0-0.pytorch.default.svc.cluster.local");
  const auto master = read({"--master-addr=a", "--master-port=3389", "--node-rank=1"});
  ASSERT_TRUE(master) << master.error().text;
  EXPECT_EQ(master->options.backend, RendezvousBackend::kStatic);
  EXPECT_EQ(master->options.master_addr, "a");
  EXPECT_EQ(master->options.rdzv_endpoint, "");
}

TEST(RecordedPods, ANameThatTwoControllersUseIsReadAsTheOneThatIsDemanded) {
  const RecordedPod pod(MUSTER_TEST_DATA "/pods/indexed-job/like-a-jobset/my-run-2-1");
  const auto endpoint = [&pod](std::string_view wanted) {
    return said(**read_contract(pod.facts(), wanted), flag::kRdzvEndpoint);
  };
  const std::string service = ".headless-svc.default.svc.cluster.local";
  EXPECT_EQ(endpoint("indexed-job"), "my-run-2-0" + service);
  EXPECT_EQ(endpoint("jobset"), "my-run-0-0" + service);
  EXPECT_EQ(endpoint("auto"), "");
}

TEST(RecordedPods, TheirPageHasEachJobThatRunsWithTheTestThatRunsIt) {
  const fs::path pods = MUSTER_TEST_DATA "/pods";
  const auto page = RealFiles().read((pods / "README.md").string());
  ASSERT_TRUE(page);
  std::set<fs::path> jobs;
  for (const fs::path& folder : recorded_pods()) jobs.insert(folder.parent_path());
  std::ptrdiff_t running = 0;
  for (const fs::path& job : jobs) {
    const std::string test = test_of(job);
    if (test.empty()) continue;
    ++running;
    const std::string row = "| `" + fs::relative(job, pods).string() + "` | `" + test + "`";
    EXPECT_NE(page->find(row), std::string::npos) << "no row has " << row;
    const auto file = pods / "../../integration" / test.substr(0, test.find(' '));
    const auto source = RealFiles().read(file.string());
    const std::string test_class = test.substr(test.rfind(' ') + 1) + "(";
    const bool is_named = test.find(' ') != std::string::npos;
    EXPECT_TRUE(source && (!is_named || source->find("class " + test_class) != std::string::npos))
        << test;
  }
  const auto rows = std::ranges::count_if(split(*page, '\n'), [](std::string_view line) {
    return line.find("` | `test_") != std::string_view::npos;
  });
  EXPECT_EQ(rows, running) << "a row is of a job that nothing runs";
}

}  // namespace
}  // namespace muster::launcher
