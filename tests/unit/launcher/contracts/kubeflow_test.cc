// What Kubeflow's Trainer 2 and training-operator 1 say of their pods, where it is malformed, from
// somebody else, or not enough. What they say when all is well: tests/data/pods.
#include <gtest/gtest.h>

#include "base/text.h"
#include "launcher/command_line/command_line.h"
#include "launcher/contracts/read_contract.h"
#include "tests/support/fake_files.h"

namespace muster::launcher {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

class Kubeflow : public ::testing::Test {
 protected:
  Kubeflow() { environment_.set("KUBERNETES_SERVICE_HOST", "10.96.0.1"); }

  void set(const Variables& variables) {
    for (const auto& [name, value] : variables) environment_.set(name, value);
  }

  // "TFJob: --nnodes 2; --node-rank is missing: why".
  std::string said(const std::string& host_name) {
    const auto contract = read_contract({environment_, files_, host_name}).value();
    if (!contract) return "nothing";
    std::vector<std::string> words;
    for (const auto& [flag, text, source] : contract->values)
      words.push_back(long_name(row_of(flag)) + " " + text);
    for (const auto& [flag, problem, always, give, rank] : contract->gaps)
      words.push_back(long_name(row_of(flag)) + " is missing: " + problem);
    return contract->controller + ": " + join(words, "; ");
  }

  Result<CommandLine> command_line(const std::string& host_name) {
    const PodFacts facts{environment_, files_, host_name};
    return read_command_line({Personality::kMuster, "muster", {"train.py"}}, environment_,
                             RandomBytes{}, &facts);
  }

  Environment environment_;
  testing::FakeFiles files_;
};

const Variables kTorch = {{"JOB_COMPLETION_INDEX", "1"},
                          {"PET_NNODES", "2"},
                          {"PET_NODE_RANK", "1"},
                          {"PET_NPROC_PER_NODE", "1"},
                          {"PET_MASTER_ADDR", "tj-node-0-0.tj"},
                          {"PET_MASTER_PORT", "29500"}};

TEST_F(Kubeflow, TrainersMasterBecomesTheEndpoint) {
  set(kTorch);
  const auto read = command_line("tj-node-0-1");
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->options.rdzv_endpoint, "tj-node-0-0.tj:29500,tj-node-0-1.tj:29500");
  EXPECT_EQ(read->options.master_addr, "");
  EXPECT_EQ(read->options.node_rank, 1);
  EXPECT_TRUE(read->options.warnings.empty()) << read->options.warnings.front();
}

TEST_F(Kubeflow, TrainersWordCountsOnlyIfItsNumbersArePlain) {
  set(kTorch);
  environment_.set("PET_MASTER_PORT", "tcp://10.96.0.9:80");
  EXPECT_EQ(said("tj-node-0-1"),
            "Trainer: --node-rank 1; --nnodes 2; --rdzv-endpoint tj-node-0-0.tj,tj-node-0-1.tj");
  environment_.set("PET_NODE_RANK", "7");
  EXPECT_NE(said("tj-node-0-1").find("missing: PET_NODE_RANK is 7, and there are 2 nodes"),
            std::string::npos);
  for (const char* rank : {"one", "-1", "1.0", "0x1", "99999999999", ""}) {
    environment_.set("PET_NODE_RANK", rank);
    EXPECT_FALSE(said("tj-node-0-1").starts_with("Trainer")) << rank;
  }
  environment_.set("PET_NODE_RANK", "1");
  for (const char* nodes : {"0", "999999999", "1:2", "tcp://10.96.0.9:80"}) {
    environment_.set("PET_NNODES", nodes);
    EXPECT_FALSE(said("tj-node-0-1").starts_with("Trainer")) << nodes;
  }
}

TEST_F(Kubeflow, OnlyTheFirstNodeOfATrainJobIsItsMaster) {
  set(kTorch);
  for (const char* address : {"tj-node-0-1.tj", "tj-node-0-0", "-node-0-0.x", "10.0.0.1", ""}) {
    environment_.set("PET_MASTER_ADDR", address);
    EXPECT_FALSE(said("tj-node-0-1").starts_with("Trainer")) << address;
  }
}

TEST_F(Kubeflow, TrainersXgboostCountsTheGpusThatThePodWasGiven) {
  set({{"JOB_COMPLETION_INDEX", "0"},
       {"DMLC_TRACKER_URI", "x-node-0-0.x"},
       {"DMLC_TRACKER_PORT", "29500"},
       {"DMLC_TASK_ID", "1"},
       {"DMLC_NUM_WORKER", "6"},
       {"NVIDIA_VISIBLE_DEVICES", "all"}});
  EXPECT_NE(said("x-node-0-1").find("--nnodes 6"), std::string::npos);
  EXPECT_EQ(said("x-node-0-1").find("--nproc-per-node"), std::string::npos);
  files_.add_file("/dev/nvidia0", "");
  files_.add_file("/dev/nvidiactl", "");
  EXPECT_NE(said("x-node-0-1").find("--nnodes 6"), std::string::npos);
  // The image wants all: it says nothing of what the pod asked for.
  files_.add_file("/dev/nvidia1", "");
  EXPECT_EQ(said("x-node-0-1"),
            "Trainer: --framework xgboost; --node-rank 1; --rdzv-endpoint x-node-0-0.x:29500; "
            "--nnodes is missing: DMLC_NUM_WORKER 6 counts the GPUs of all nodes, and "
            "NVIDIA_VISIBLE_DEVICES=all does not say how many are this one's");
  environment_.set("NVIDIA_VISIBLE_DEVICES", "void");
  EXPECT_EQ(said("x-node-0-1"),
            "Trainer: --framework xgboost; --node-rank 1; --nnodes 3; --rdzv-endpoint "
            "x-node-0-0.x:29500,x-node-0-1.x:29500,x-node-0-2.x:29500; --nproc-per-node 2");
  environment_.set("CUDA_VISIBLE_DEVICES", "0,1,2");
  EXPECT_NE(said("x-node-0-1").find("--nnodes 2;"), std::string::npos);
  environment_.set("NVIDIA_VISIBLE_DEVICES", "GPU-1,GPU-2,GPU-3,GPU-4");
  EXPECT_NE(said("x-node-0-1")
                .find("--nnodes is missing: DMLC_NUM_WORKER 6 counts the GPUs of all nodes, and "
                      "node 1 has 4"),
            std::string::npos);
}

const Variables kWithMaster = {{"PYTHONUNBUFFERED", "1"},
                               {"PET_NNODES", "3"},
                               {"PET_NODE_RANK", "2"},
                               {"RANK", "2"},
                               {"WORLD_SIZE", "3"},
                               {"MASTER_ADDR", "pj-master-0"},
                               {"PET_MASTER_ADDR", "pj-master-0"},
                               {"MASTER_PORT", "23456"},
                               {"PET_MASTER_PORT", "23456"}};

TEST_F(Kubeflow, AnElasticPytorchJobWithAMasterMeetsWhereItsPolicySays) {
  set(kWithMaster);
  set({{"PET_RDZV_ENDPOINT", "pj-worker-0:23456"}, {"PET_NNODES", "1:3"}});
  EXPECT_EQ(said("pj-worker-1"),
            "PyTorchJob: --rdzv-endpoint pj-worker-0:23456; --node-rank 2; --nnodes 1:3");
  const auto read = command_line("pj-worker-1");
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->options.rdzv_endpoint, "pj-worker-0:23456");
  EXPECT_TRUE(read->options.warnings.empty()) << read->options.warnings.front();
}

TEST_F(Kubeflow, AnElasticPytorchJobMayHaveMorePodsThanNodes) {
  set(kWithMaster);
  set({{"PET_RDZV_ENDPOINT", "pj-worker-0:23456"}, {"PET_NNODES", "1:3"}});
  set({{"RANK", "3"}, {"PET_NODE_RANK", "3"}, {"WORLD_SIZE", "4"}});
  const auto read = command_line("pj-worker-2");
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->options.node_rank, 3);
}

TEST_F(Kubeflow, APortThatIsAServicesIsNotTheJobs) {
  set(kWithMaster);
  set({{"MASTER_PORT", "tcp://10.96.7.7:80"}, {"PET_MASTER_PORT", "tcp://10.96.7.8:80"}});
  const auto read = command_line("pj-worker-1");
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->options.rdzv_endpoint, "pj-master-0");
  EXPECT_FALSE(read->options.master_port);
}

TEST_F(Kubeflow, WhatIsNoPytorchJobIsNotTakenForOne) {
  set(kWithMaster);
  for (const char* master : {"pj-master-0.pj", "pj-master-1", "-master-0", "pj", "10.0.0.1"}) {
    environment_.set("MASTER_ADDR", master);
    EXPECT_EQ(said("pj-worker-1"), "nothing") << master;
  }
  environment_ = Environment();
  set({{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}, {"PET_NNODES", "2"}, {"PYTHONUNBUFFERED", "1"}});
  EXPECT_EQ(said("pj-worker-1"),
            "PyTorchJob: --node-rank 1; --nnodes 2; --rdzv-endpoint "
            "pj-worker-0:23456,pj-worker-1:23456");
  EXPECT_EQ(said("gpu-node-17"), "nothing");  // on the host network
  EXPECT_EQ(said("js-worker-0-1"), "nothing");
  EXPECT_NE(said("pj-worker-4").find("--node-rank is missing: own name is 4"), std::string::npos);
  environment_.set("JOB_COMPLETION_INDEX", "1");
  EXPECT_TRUE(said("pj-worker-1").starts_with("Indexed Job"));
}

TEST_F(Kubeflow, AnXgboostJobHasAMasterAndNothingOfTorchs) {
  set({{"MASTER_ADDR", "xj-master-0"}, {"MASTER_PORT", "9999"}, {"RANK", "1"}});
  EXPECT_EQ(said("xj-worker-0"), "nothing");
  environment_.set("WORLD_SIZE", "2");
  EXPECT_EQ(said("xj-worker-0"),
            "XGBoostJob: --rdzv-endpoint xj-master-0:9999; --framework xgboost; --nnodes 2; "
            "--node-rank 1");
  environment_.set("RANK", "2");
  EXPECT_NE(said("xj-worker-0").find("RANK is 2, and there are 2 nodes"), std::string::npos);
  environment_.set("PET_NPROC_PER_NODE", "1");
  EXPECT_EQ(said("xj-worker-0"), "nothing");
}

TEST_F(Kubeflow, OnTheHostNetworkAPaddleJobsRankIsNotKnown) {
  set({{"PADDLE_JOB_ID", "pd"}, {"PADDLE_NNODES", "2"}, {"PADDLE_MASTER", "pd-worker-0:36543"}});
  EXPECT_EQ(said("gpu-node-17"),
            "PaddleJob: --framework paddle; --nnodes 2; --rdzv-endpoint "
            "pd-worker-0:36543,pd-worker-1:36543; --node-rank is missing: the host name "
            "'gpu-node-17' is not pd-worker-N");
  EXPECT_EQ(command_line("gpu-node-17").error().text,
            "PaddleJob: the host name 'gpu-node-17' is not pd-worker-N; give --node-rank");
  const auto contract = *read_contract({environment_, files_, "gpu-node-17"});
  EXPECT_TRUE(contract->hosts.empty());
}

TEST_F(Kubeflow, AJaxJobIsToldByItsFirstWorker) {
  set({{"COORDINATOR_ADDRESS", "jj-worker-0"},
       {"COORDINATOR_PORT", "6666"},
       {"NUM_PROCESSES", "2"},
       {"PROCESS_ID", "2"}});
  EXPECT_NE(said("jj-worker-1").find("PROCESS_ID is 2, and there are 2 nodes"), std::string::npos);
  environment_.set("COORDINATOR_ADDRESS", "10.0.0.1");  // JAX's own words, of a user
  EXPECT_EQ(said("jj-worker-1"), "nothing");
}

std::string tf_config(const std::string& task,
                      const std::string& more = R"(,"environment":"cloud")") {
  return R"({"cluster":{"evaluator":["tf-evaluator-0.ns.svc:2222"],"master":["tf-master-0.ns.svc:2222"],)"
         R"("ps":["tf-ps-0.ns.svc:2222"],"worker":["tf-worker-0.ns.svc:2222","tf-worker-1.ns.svc:2222"]},)"
         R"("task":)" +
         task + more + "}";
}

TEST_F(Kubeflow, EachPodOfATfJobIsWhatItsConfigSays) {
  const std::string all =
      "TFJob: --framework tensorflow; --roles chief=1,worker=2,ps=1,evaluator=1; --nnodes 5; "
      "--nproc-per-node 1; --rdzv-endpoint tf-master-0.ns.svc; --node-rank ";
  const Variables ranks = {{R"({"type":"master","index":0})", "0"},
                           {R"({"type":"worker","index":"1"})", "2"},
                           {R"({"type":"ps","index":0})", "3"},
                           {R"({"type":"evaluator","index":0})", "4"}};
  for (const auto& [task, rank] : ranks) {
    environment_.set("TF_CONFIG", tf_config(task));
    EXPECT_EQ(said("gpu-node-17"), all + rank);
    const auto read = command_line("gpu-node-17");
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(read->options.framework.roles.size(), 4U);
  }
}

TEST_F(Kubeflow, APodThatItsConfigDoesNotListHasNoRank) {
  for (const char* task : {R"({"type":"worker","index":2})", R"({"type":"worker"})", "{}", "[]",
                           R"({"type":7,"index":-1})", R"({"type":"worker","index":1e99})"}) {
    environment_.set("TF_CONFIG", tf_config(task));
    EXPECT_NE(said("tf-worker-2").find("--node-rank is missing: TF_CONFIG does not list its own"),
              std::string::npos)
        << task;
  }
}

TEST_F(Kubeflow, AConfigOfOneHostThatIsAnothersIsRefused) {
  const std::string config =
      R"({"cluster":{"worker":["tf-worker-0.ns.svc:2222"]},"task":{"type":"worker","index":1},)"
      R"("environment":"cloud"})";
  environment_.set("TF_CONFIG", config);
  EXPECT_EQ(command_line("tf-worker-1").error().text,
            "TFJob: TF_CONFIG does not list its own task, worker 1; give --node-rank");
}

TEST_F(Kubeflow, VolcanosSparseConfigDoesNotListTheWorkers) {
  set({{"VC_TASK_INDEX", "1"},
       {"TF_CONFIG",
        R"({"cluster":{"worker":{"1":"tf-worker-1.tf:2222"}},"task":{"type":"worker","index":1}})"}});
  EXPECT_EQ(command_line("tf-worker-1").error().text,
            "Volcano: TF_CONFIG of a sparse cluster does not list the workers; give --nnodes");
}

TEST_F(Kubeflow, AnotherConfigOfTensorflowIsNotTheOperators) {
  const std::string own = R"({"type":"worker","index":1})";
  for (const std::string& config :
       {tf_config(own, ""), tf_config(own, R"(,"environment":"local")"), std::string("{}"),
        std::string("[1]"), std::string(R"({"cluster":[],"environment":"cloud"})"),
        std::string(R"({"cluster":{"worker":7},"environment":"cloud"})"),
        tf_config(own).substr(0, 90),
        std::string(R"({"cluster":{"worker":["a:1","b:1"]},"task":{"type":"worker","index":1},)"
                    R"("environment":"cloud"})")}) {
    environment_.set("TF_CONFIG", config);
    EXPECT_EQ(said("tf-worker-1"), "nothing") << config;
  }
}

TEST_F(Kubeflow, TheFirstMpiJobsLauncherRunsItsCommandAndItsWorkersHold) {
  files_.add_file("/etc/mpi/kubexec.sh", "#!/bin/sh\n");
  EXPECT_EQ(said("mj-worker-1"), "MPIJob v1: ");
  EXPECT_TRUE(command_line("mj-worker-1")->contract->holds);
  files_.add_file("/etc/mpi/hostfile", "mj-worker-0 slots=1\n");
  EXPECT_EQ(said("mj-launcher"), "nothing");
  environment_.set("OMPI_MCA_plm_rsh_agent", "/etc/mpi/kubexec.sh");
  const PodFacts facts{environment_, files_, "mj-launcher"};
  const auto read = read_command_line({Personality::kMuster, "muster", {"mpirun", "-n", "2", "x"}},
                                      environment_, RandomBytes{}, &facts);
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->contract->job, "mj");
  EXPECT_FALSE(read->contract->holds);
  EXPECT_EQ(read->options.framework.framework, Framework::kPlain);
  EXPECT_EQ(read->options.program, "mpirun");
  const Environment job = job_environment(*read, environment_);
  EXPECT_EQ(job.get("PRTE_MCA_plm_ssh_agent"), "/etc/mpi/kubexec.sh");
  EXPECT_EQ(job.get("PRTE_MCA_prte_default_hostfile"), "/etc/mpi/hostfile");
}

}  // namespace
}  // namespace muster::launcher
