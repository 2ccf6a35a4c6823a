// What was rendered, or is told to Muster in its pods, is rendered again.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "launcher/render/render.h"
#include "launcher/render/render_flags.h"
#include "tests/support/fake_files.h"
#include "tests/support/job_form_fixture.h"

namespace muster::launcher {
namespace {

using nlohmann::json;

// With its remarks under "remarks"; a text: the error.
json again(const std::string& manifest, JobKind kind, const std::string& name = "") {
  testing::FakeFiles files;
  files.add_file("/job.yaml", manifest);
  const auto rendered = render({.file = "/job.yaml", .to = kind, .name = name}, files);
  if (!rendered) return rendered.error().text;
  json all = {{"documents", rendered->documents},
              {"job", rendered->documents.back()},
              {"remarks", rendered->remarks}};
  for (const json& document : rendered->documents)
    if (document["kind"] == "TrainingRuntime") all["runtime"] = document;
  return all;
}

json made(std::vector<std::string> flags) {
  flags.insert(flags.end(), {"--name", "a", "--image", "i", "--", "train.py"});
  const auto request = parse_render_flags(flags);
  EXPECT_TRUE(request) << request.error().text;
  const auto rendered = render(*request, testing::FakeFiles());
  EXPECT_TRUE(rendered) << rendered.error().text;
  return rendered ? rendered->documents.back() : json();
}

json variable_of(const json& pod, const std::string& name) {
  const json variables = at(pod, "/spec/containers/0/env");
  for (const json& variable : variables)
    if (variable["name"] == name) return variable.value("value", json());
  return {};
}

constexpr const char* kJobSetPod = "/job/spec/replicatedJobs/0/template/spec/template";

TEST(RenderedAgain, OneProcessStaysOne) {
  for (const char* const framework : {"jax", "tensorflow", "plain"}) {
    const std::string set = made({"--workers", "2", "--no-master", "--gpu", "8", "--framework",
                                  framework, "--to", "jobset"})
                                .dump();
    const json pod = at(again(set, JobKind::kJobSet), kJobSetPod);
    EXPECT_EQ(variable_of(pod, "MUSTER_FRAMEWORK"), framework);
    EXPECT_EQ(variable_of(pod, "MUSTER_NPROC_PER_NODE"), json()) << framework;
    EXPECT_EQ(at(again(set, JobKind::kPytorchJob), "/job/spec/nprocPerNode"), json());
  }
}

TEST(RenderedAgain, AnMpiJobIsTheSameAfterAJobSet) {
  const json set = again(
      "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: m}\nspec: "
      "{slotsPerWorker: 2, mpiImplementation: MPICH, mpiReplicaSpecs: {Launcher: {template: {spec: "
      "{containers: [{name: a, image: i, command: [mpirun, ring]}]}}}, Worker: {replicas: 2, "
      "template: {spec: {containers: [{name: b, image: i}]}}}}}",
      JobKind::kJobSet);
  const json job = again(at(set, "/job").dump(), JobKind::kMpiJob);
  EXPECT_EQ(at(job, "/job/spec/slotsPerWorker"), 2) << job;
  EXPECT_EQ(at(job, "/job/spec/mpiImplementation"), "MPICH");
}

TEST(RenderedAgain, AnElasticJobStaysOne) {
  const json set = again(
      "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: p}\nspec: {elasticPolicy: "
      "{minReplicas: 1, maxReplicas: 4, maxRestarts: 3}, pytorchReplicaSpecs: {Worker: {replicas: "
      "2, template: {spec: {containers: [{name: pytorch, image: i, command: [x]}]}}}}}",
      JobKind::kJobSet);
  const json policy =
      at(again(at(set, "/job").dump(), JobKind::kPytorchJob), "/job/spec/elasticPolicy");
  EXPECT_EQ(at(policy, "/minReplicas"), 1) << policy;
  EXPECT_EQ(at(policy, "/maxReplicas"), 4);
  EXPECT_EQ(at(policy, "/maxRestarts"), 3);
}

std::string jobset_of(const std::string& container, int pods = 2) {
  return "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: s}\nspec: "
         "{replicatedJobs: [{name: worker, template: {spec: {parallelism: " +
         std::to_string(pods) + ", template: {spec: {containers: [{name: c, image: i, " +
         container + "}]}}}}}]}";
}

TEST(RenderedAgain, ATrainJobHasThePolicyOfTheFrameworkThatIsTold) {
  for (const std::string framework : {"xgboost", "jax"}) {
    for (const std::string& container :
         {"args: [x], env: [{name: MUSTER_FRAMEWORK, value: " + framework + "}]",
          "command: [muster, run, --framework, " + framework + ", x]"}) {
      const json policy =
          at(again(jobset_of(container), JobKind::kTrainJob), "/runtime/spec/mlPolicy");
      EXPECT_TRUE(policy.contains(framework)) << container << policy;
      EXPECT_FALSE(policy.contains("torch")) << policy;
    }
  }
}

TEST(RenderedAgain, WhatTorchrunIsToldIsTheOperators) {
  const std::string set = jobset_of(
      "command: [torchrun, '--nnodes=1:3', --nproc-per-node=2, --max-restarts=5, x], resources: "
      "{limits: {nvidia.com/gpu: 8}}");
  const json spec = at(again(set, JobKind::kPytorchJob), "/job/spec");
  EXPECT_EQ(at(spec, "/nprocPerNode"), "2") << spec;
  EXPECT_EQ(at(spec, "/elasticPolicy/maxReplicas"), 3);
  EXPECT_EQ(at(spec, "/elasticPolicy/maxRestarts"), 5);
  // A range without these pods is not theirs.
  EXPECT_EQ(at(again(jobset_of("command: [torchrun, '--nnodes=3:4', x]"), JobKind::kPytorchJob),
               "/job/spec/elasticPolicy"),
            json());
}

TEST(RenderedAgain, WhatOnlySomePodsAreToldIsNotTheJobs) {
  const auto part = [](const std::string& name, const std::string& variables) {
    return "{name: " + name +
           ", template: {spec: {template: {spec: {containers: [{name: c, image: i, command: [x], "
           "resources: {limits: {nvidia.com/gpu: 8}}, env: [" +
           variables + "]}]}}}}}";
  };
  const json set = again(
      "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: "
      "s}\nspec: {replicatedJobs: [" +
          part("master", "{name: MUSTER_NPROC_PER_NODE, value: '1'}") + ", " + part("worker", "") +
          "]}",
      JobKind::kJobSet);
  EXPECT_EQ(variable_of(at(set, kJobSetPod), "MUSTER_NPROC_PER_NODE"), "1");
  EXPECT_EQ(variable_of(at(set, "/job/spec/replicatedJobs/1/template/spec/template"),
                        "MUSTER_NPROC_PER_NODE"),
            "auto");
}

TEST(RenderedAgain, RunsStayRuns) {
  for (const char* const framework : {"plain", "pytorch"}) {
    const json job = made({"--runs", "10", "--parallelism", "2", "--framework", framework});
    const json same = again(job.dump(), JobKind::kJob);
    EXPECT_EQ(at(same, "/job"), job) << same;
    EXPECT_EQ(again(job.dump(), JobKind::kJobSet).dump().find("--to jobset: --runs"), 1);
  }
  // Nodes of one job, each of which says how many they are.
  const json nodes = made({"--workers", "2", "--no-master", "--framework", "plain", "--to", "job"});
  EXPECT_EQ(at(again(nodes.dump(), JobKind::kJobSet),
               "/job/spec/replicatedJobs/0/template/spec/parallelism"),
            2);
}

TEST(RenderedAgain, OfAListOnlyTheJobIsWritten) {
  const json list = {{"kind", "List"},
                     {"apiVersion", "v1"},
                     {"items", {{{"kind", "Service"}}, made({"--to", "job"})}}};
  const json remarks = at(again(list.dump(), JobKind::kJob), "/remarks");
  EXPECT_EQ(std::count(remarks.begin(), remarks.end(),
                       "of 2 documents only the job is written, with what Muster puts beside it"),
            1)
      << remarks;
}

TEST(RenderedAgain, AnotherNameIsItsNameEverywhere) {
  const json first = again(jobset_of("command: [x, '$MASTER_ADDR']"), JobKind::kJobSet, "zebra");
  ASSERT_EQ(variable_of(at(first, kJobSetPod), "MASTER_ADDR"), "zebra-worker-0-0.zebra") << first;
  const json renamed = again(at(first, "/job").dump(), JobKind::kJobSet, "new");
  EXPECT_EQ(renamed["job"].dump().find("zebra"), std::string::npos) << renamed["job"].dump(1);
  const json remarks = at(renamed, "/remarks");
  EXPECT_TRUE(std::any_of(remarks.begin(), remarks.end(), [](const json& remark) {
    return remark.get<std::string>().find("generic new-muster ") != std::string::npos;
  })) << remarks;
}

TEST(RenderedAgain, AnotherKindHasAnotherFirstPod) {
  const json first = again(jobset_of("command: [x, '$MASTER_ADDR']"), JobKind::kJobSet, "a");
  const json job = at(again(at(first, "/job").dump(), JobKind::kJob), "/job/spec/template");
  EXPECT_EQ(variable_of(job, "MASTER_ADDR"), "a-0.a");
  const json mine = at(again(jobset_of("command: [x, '$MASTER_ADDR'], env: [{name: MASTER_ADDR, "
                                       "value: mine}]"),
                             JobKind::kJob),
                       "/job/spec/template");
  EXPECT_EQ(variable_of(mine, "MASTER_ADDR"), "mine");
}

}  // namespace
}  // namespace muster::launcher
