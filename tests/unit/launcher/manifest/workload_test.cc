#include "launcher/manifest/workload.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "launcher/options/flag_table.h"

namespace muster::launcher {
namespace {

std::string indented(const std::string& text, size_t by) {
  std::string all;
  for (const std::string_view line : split(text, '\n'))
    all += std::string(by, ' ') + std::string(line) + "\n";
  return all;
}

// A pod's template with this in its container.
std::string pod(const std::string& container) {
  return "template: {spec: {containers: [{" + container + "}]}}";
}

std::string job(const std::string& name, const std::string& sizes, const std::string& container) {
  return "- name: " + name + "\n  template: {spec: {" + sizes + (sizes.empty() ? "" : ", ") +
         pod(container) + "}}\n";
}

std::string runtime(const std::string& policy, const std::string& jobs) {
  return "apiVersion: ome.io/v1beta1\nkind: TrainingRuntime\nmetadata: {name: r}\nspec:\n" +
         indented(policy, 2) + "  template:\n    spec:\n      replicatedJobs:\n" +
         indented(jobs, 6);
}

// "nodes 2; --nnodes 2 (spec.mlPolicy.numNodes); worker x2: python train.py", or the error.
std::string said(const std::string& text) {
  const auto workload = read_workload(text);
  if (!workload) return workload.error().text;
  std::string all = "nodes " + std::to_string(node_count(*workload));
  for (const auto& [flag, value, path] : workload->values)
    all += "; " + long_name(row_of(flag)) + " " + value + " (" + path + ")";
  for (const Replica& replica : workload->replicas) {
    all += "; " + replica.name + " x" + std::to_string(replica.pods) + ":";
    for (const std::string& word : replica.words) all += " " + word;
  }
  return all;
}

constexpr const char* kTrain = "command: [python], args: [train.py]";

TEST(Workload, ATrainingRuntimeSaysNodesWorkersAndTimeouts) {
  const std::string policy =
      "mlPolicy: {numNodes: 4, torch: {numProcPerNode: '2'}}\n"
      "podGroupPolicy: {coscheduling: {scheduleTimeoutSeconds: 300}}";
  EXPECT_EQ(said(runtime(policy, job("worker", "parallelism: 4, completions: 4", kTrain))),
            "nodes 4; --rdzv-conf join_timeout=300 "
            "(spec.podGroupPolicy.coscheduling.scheduleTimeoutSeconds); --nproc-per-node 2 "
            "(spec.mlPolicy.torch.numProcPerNode); --nnodes 4 (spec.mlPolicy.numNodes); "
            "worker x4: python train.py");
}

TEST(Workload, AnElasticOneBeginsWithItsLeastOrWithNumNodes) {
  const std::string elastic =
      "torch: {numProcPerNode: 1, elasticPolicy: {minNodes: 2, maxNodes: 8, maxRestarts: 5}}";
  const std::string jobs = job("worker", "", kTrain);
  EXPECT_EQ(said(runtime("mlPolicy: {" + elastic + "}", jobs)),
            "nodes 2; --nnodes 2:8 (spec.mlPolicy.torch.elasticPolicy); --max-restarts 5 "
            "(spec.mlPolicy.torch.elasticPolicy.maxRestarts); --nproc-per-node 1 "
            "(spec.mlPolicy.torch.numProcPerNode); worker x2: python train.py");
  EXPECT_EQ(said(runtime("mlPolicy: {numNodes: 3, " + elastic + "}", jobs)).substr(0, 25),
            "nodes 3; --nnodes 2:8 (sp");
  EXPECT_EQ(said(runtime("mlPolicy: {numNodes: 9, " + elastic + "}", jobs)),
            "spec.mlPolicy.numNodes: '9' must be between elasticPolicy's minNodes and maxNodes");
}

TEST(Workload, ALauncherIsNoNodeUnlessItSaysSo) {
  const std::string jobs = job("worker", "parallelism: 2, completions: 2", "command: [sshd]") +
                           job("launcher", "", "command: [mpirun], args: [-np, '4', ./a.out]");
  const auto policy = [](const std::string& more) {
    return "mlPolicy: {numNodes: 2, mpi: {numProcPerNode: 2, mpiImplementation: OpenMPI" + more +
           "}}";
  };
  EXPECT_EQ(said(runtime(policy(""), jobs)),
            "nodes 2; --framework mpi (spec.mlPolicy.mpi); --mpi openmpi "
            "(spec.mlPolicy.mpi.mpiImplementation); --nproc-per-node 2 "
            "(spec.mlPolicy.mpi.numProcPerNode); --nnodes 2 (spec.mlPolicy.numNodes); "
            "launcher x1: mpirun -np 4 ./a.out; worker x2: sshd");
  EXPECT_EQ(said(runtime(policy(", runLauncherAsNode: true"), jobs)),
            "spec.mlPolicy.numNodes: '2' must be 3, as many pods as the manifest has with ranks");
  EXPECT_EQ(said(runtime(policy(", mpiImplementation: LAM"), jobs)).substr(0, 6), "line 5");
}

TEST(Workload, WorkersAreTheGpusOfThePodElseItsCpus) {
  const auto with = [](const std::string& count, const std::string& resources) {
    const std::string text =
        said(runtime("mlPolicy: {numNodes: 1, torch: {" + count + "}}",
                     job("w", "", "command: [x], resources: {" + resources + "}")));
    const size_t begin = text.find("--nproc-per-node");
    if (begin == std::string::npos) return text.starts_with("nodes") ? std::string("-") : text;
    return text.substr(begin + 17, text.find(' ', begin + 17) - begin - 17);
  };
  EXPECT_EQ(with("numProcPerNode: auto", "limits: {nvidia.com/gpu: 8}"), "8");
  EXPECT_EQ(with("numProcPerNode: gpu", "limits: {nvidia.com/gpu: '4'}"), "4");
  EXPECT_EQ(with("numProcPerNode: auto", "requests: {cpu: 16, memory: 64Gi}"), "16");
  EXPECT_EQ(with("numProcPerNode: auto", "requests: {cpu: 500m}"), "auto");
  EXPECT_EQ(with("numProcPerNode: cpu", "limits: {nvidia.com/gpu: 8}"), "cpu");
  EXPECT_EQ(with("", ""), "-");
  EXPECT_EQ(with("numProcPerNode: gpu", ""),
            "spec.mlPolicy.torch.numProcPerNode: 'gpu' must be auto, cpu or a number: the pod asks "
            "for no GPU");
  EXPECT_EQ(with("numProcPerNode: many", ""),
            "spec.mlPolicy.torch.numProcPerNode: 'many' must be auto, cpu, gpu or a number from 1 "
            "to 1024");
}

TEST(Workload, VariablesAreExpandedAsKubernetesDoes) {
  const auto workload = read_workload(
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n  completions: 3\n"
      "  parallelism: 3\n  template:\n    spec:\n      containers:\n"
      "      - command: [run, $(A), $(B)/x, $$(A), $(NONE), '${NUM_NODES}', $HOME, $(OPEN]\n"
      "        env: [{name: A, value: a}, {name: B, value: $(A)b}, {name: P, valueFrom: {}}]\n");
  ASSERT_TRUE(workload) << workload.error().text;
  EXPECT_EQ(workload->replicas[0].words,
            (std::vector<std::string>{"run", "a", "ab/x", "$(A)", "$(NONE)", "${NUM_NODES}",
                                      "$HOME", "$(OPEN"}));
  EXPECT_EQ(workload->replicas[0].environment.size(), 2U);
}

TEST(Workload, KubeflowsJobs) {
  const std::string head = "metadata: {name: p}\nspec:\n  ";
  EXPECT_EQ(said("apiVersion: kubeflow.org/v1\nkind: PyTorchJob\n" + head +
                 "pytorchReplicaSpecs: {Worker: {replicas: 2, " + pod("command: [w]") +
                 "}, Master: {" + pod("command: [m]") + "}}\n  nprocPerNode: '2'\n"),
            "nodes 3; --nproc-per-node 2 (spec.nprocPerNode); --nnodes 3 "
            "(spec.pytorchReplicaSpecs); master x1: m; worker x2: w");
  EXPECT_EQ(said("apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\n" + head +
                 "slotsPerWorker: 2\n  mpiReplicaSpecs: {Worker: {replicas: 2, " +
                 pod("command: [sshd]") + "}, Launcher: {" + pod("command: [mpirun, x]") + "}}\n"),
            "nodes 2; --framework mpi (kind); --nproc-per-node 2 (spec.slotsPerWorker); --nnodes 2 "
            "(spec.mpiReplicaSpecs); launcher x1: mpirun x; worker x2: sshd");
  EXPECT_EQ(said("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n" + head +
                 "trainer: {numNodes: 2, numProcPerNode: 3, command: [t]}\n"),
            "nodes 2; --nproc-per-node 3 (spec.trainer.numProcPerNode); --nnodes 2 "
            "(spec.trainer.numNodes); node x2: t");
}

TEST(Workload, WhatIsWrongIsNamedByItsPath) {
  EXPECT_EQ(said("apiVersion: v1\nkind: Pod\n"),
            "kind: there must be one of TrainingRuntime, ClusterTrainingRuntime, JobSet, Job, "
            "PyTorchJob, MPIJob, TrainJob, and there is only Pod");
  EXPECT_TRUE(said("apiVersion: ome.io\nkind: TrainingRuntime\n")
                  .ends_with("and there is only TrainingRuntime of apiVersion 'ome.io'"));
  EXPECT_EQ(said(runtime("mlPolicy: {numNodes: 0}", job("w", "", kTrain))),
            "spec.mlPolicy.numNodes: '0' must be a number from 1 to 100000");
  EXPECT_EQ(said(runtime("mlPolicy: {numNodes: 2}", job("w", "parallelism: 3", kTrain))),
            "spec.mlPolicy.numNodes: '2' must be 3, as many pods as the manifest has with ranks");
  EXPECT_EQ(said(runtime("mlPolicy: {}", job("w", "completions: 2, parallelism: 1", kTrain))),
            "spec.template.spec.replicatedJobs[0].template.spec.completions: '2' must be 1, as "
            "parallelism is: all pods are nodes of one job");
  EXPECT_EQ(said(runtime("mlPolicy: {}", job("w", "", "args: text"))),
            "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0].args: "
            "'text' must be a list");
}

TEST(Workload, SizesOfSeveralJobsAddUp) {
  const std::string jobs = job("workers", "", kTrain) + job("master", "", "command: [m]");
  EXPECT_EQ(said(runtime("mlPolicy: {numNodes: 4}", jobs)),
            "nodes 4; --nnodes 4 (spec.mlPolicy.numNodes); workers x3: python train.py; master x1: "
            "m");
  const std::string four =
      "- name: w\n  replicas: 4\n  template: {spec: {parallelism: 1, " + pod(kTrain) + "}}\n";
  EXPECT_TRUE(said(runtime("mlPolicy: {numNodes: 4}", four)).starts_with("nodes 4;"));
  const std::string many =
      "- name: w\n  replicas: 50000\n  template: {spec: {parallelism: 50000, " + pod(kTrain) +
      "}}\n";
  EXPECT_EQ(said(runtime("mlPolicy: {}", many)),
            "spec.template.spec.replicatedJobs[0].replicas: '50000' must be fewer: these are "
            "2500000000 pods");
}

TEST(Workload, AJobsetWhoseCommandIsMpirunIsAnMpiJob) {
  const auto jobset = [](const std::string& more, const std::string& jobs) {
    return "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: j}\nspec:\n" +
           more + "  replicatedJobs:\n" + indented(jobs, 2);
  };
  const std::string jobs = job("w", "parallelism: 2, completions: 2", "command: [sshd]") +
                           job("l", "", "command: [/usr/bin/mpirun, x]");
  EXPECT_EQ(said(jobset("", jobs)),
            "nodes 2; --framework mpi "
            "(spec.replicatedJobs[1].template.spec.template.spec.containers[0].command); --nnodes "
            "2 (spec.replicatedJobs); l x1: /usr/bin/mpirun x; w x2: sshd");
  const std::string plain = job("w", "parallelism: 2", kTrain) + job("d", "", "command: [d]");
  EXPECT_EQ(said(jobset("  coordinator: {replicatedJob: d}\n", plain)),
            "nodes 3; --nnodes 3 (spec.replicatedJobs); d x1: d; w x2: python train.py");
}

std::string indexed_job(const std::string& sizes, const std::string& container) {
  return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {" + sizes + ", " +
         pod(container) + "}\n";
}

TEST(Workload, WhatStandsBesideItInTheFileIsNoWorkload) {
  const std::string service = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n";
  const std::string one = indexed_job("completions: 2, parallelism: 2", kTrain);
  EXPECT_TRUE(said(service + "---\n" + one + "---\n" + service).starts_with("nodes 2;"));
  EXPECT_TRUE(said("kind: List\napiVersion: v1\nitems:\n- {kind: Secret, apiVersion: v1}\n-\n" +
                   indented(one, 2))
                  .starts_with("nodes 2;"));
  EXPECT_EQ(said(one + "---\n" + service + "---\n" + one),
            "there are several workloads, and one can run: Job 'j', Job 'j'");
}

TEST(Workload, RunsOfAJobAreOneNodesUnlessAllPodsAreNodes) {
  const std::string plain =
      "command: [muster, run, --, x], env: [{name: MUSTER_FRAMEWORK, value: plain}]";
  EXPECT_EQ(said(indexed_job("completions: 10, parallelism: 2", plain)),
            "nodes 1; --runs 10 (spec.completions); --nproc-per-node 2 (spec.parallelism); "
            "--nnodes 1 (spec.completions); run x1: muster run -- x");
  EXPECT_EQ(said(indexed_job("completions: 10, parallelism: 2", kTrain)),
            "spec.completions: '10' must be 2, as parallelism is: all pods are nodes of one job");
  EXPECT_EQ(said(indexed_job("completions: none", plain)),
            "spec.completions: 'none' must be a number from 1 to 100000");
}

std::string trainers_runtime(const std::string& policy, const std::string& jobs) {
  std::string text = runtime("mlPolicy: {" + policy + "}", jobs);
  return text.replace(text.find("ome.io/v1beta1"), 14, "trainer.kubeflow.org/v1alpha1");
}

TEST(Workload, ARuntimeOfKubeflowsTrainer) {
  const auto step = [](const std::string& name) {
    return "- name: " + name +
           "\n  template:\n    metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: " +
           name + "}}\n    spec: {" + pod("name: node, command: [" + name + "]") + "}\n";
  };
  const std::string jobs = step("dataset-initializer") + step("trainer");
  EXPECT_EQ(said(trainers_runtime("numNodes: 2, torch: {}", jobs)),
            "nodes 2; --nnodes 2 (spec.mlPolicy.numNodes); trainer x2: trainer");
  EXPECT_EQ(said(trainers_runtime("numNodes: 2, jax: {}", jobs)),
            "nodes 2; --framework jax (spec.mlPolicy.jax); --nnodes 2 (spec.mlPolicy.numNodes); "
            "trainer x2: trainer");
  const std::string job =
      "---\napiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: t}\n"
      "spec: {runtimeRef: {name: r}, trainer: {numNodes: 3, numProcPerNode: 4, args: [z]}}\n";
  EXPECT_EQ(said(trainers_runtime("torch: {}", jobs) + job),
            "nodes 3; --nproc-per-node 4 (spec.mlPolicy.torch.numProcPerNode); --nnodes 3 "
            "(spec.mlPolicy.numNodes); trainer x3: trainer z");
  EXPECT_EQ(said(trainers_runtime("torch: {}", step("model-initializer"))),
            "spec.template.spec.replicatedJobs: there must be one");
}

TEST(Workload, AJobsetOfMustersThatSayMpiIsAnMpiJob) {
  const auto with = [](const std::string& role) {
    return "command: [muster, run, x], env: [{name: MUSTER_FRAMEWORK, value: mpi}, {name: "
           "MUSTER_MPI_ROLE, value: " +
           role + "}]";
  };
  const auto jobset = [&with](const std::string& role) {
    return "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: j}\nspec:\n"
           "  replicatedJobs:\n" +
           indented(job("w", "parallelism: 2", with("worker")) + job("l", "", with(role)), 2);
  };
  EXPECT_TRUE(said(jobset("launcher")).starts_with("nodes 2; --framework mpi"));
  EXPECT_TRUE(said(jobset("launcher")).ends_with("l x1: muster run x; w x2: muster run x"));
  EXPECT_TRUE(said(jobset("launcher-worker")).starts_with("nodes 3; --framework mpi"));
}

}  // namespace
}  // namespace muster::launcher
