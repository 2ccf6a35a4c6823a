// A TrainJob and its runtime.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "launcher/render/writers.h"
#include "tests/support/job_form_fixture.h"

namespace muster::launcher {
namespace {

using nlohmann::json;

struct Written {
  json runtime;
  json job;
};

Written written_pair(JobForm& form) {
  const auto documents = write_train_job(form);
  EXPECT_TRUE(documents) << documents.error().text;
  if (!documents) return {};
  return {documents->at(documents->size() - 2)["spec"], documents->back()["spec"]};
}

json part(const Written& written, size_t index) {
  return written.runtime["template"]["spec"]["replicatedJobs"].at(index);
}

TEST(WriteTrainJob, TheTrainerTellsTheSizes) {
  JobForm form = form_of_workers(4);
  form.workers = "8";
  const Written made = written_pair(form);
  EXPECT_EQ(made.runtime["mlPolicy"], json({{"numNodes", 4}, {"torch", json::object()}}));
  EXPECT_EQ(made.job["trainer"], json({{"numNodes", 4}, {"numProcPerNode", 8}}));
  EXPECT_EQ(made.job["runtimeRef"]["name"], "bert");
  const json job = part(made, 0);
  EXPECT_EQ(job["name"], "node");
  EXPECT_EQ(job["template"]["metadata"]["labels"]["trainer.kubeflow.org/trainjob-ancestor-step"],
            "trainer");
  const json& spec = job["template"]["spec"];
  EXPECT_FALSE(spec.contains("completions"));
  EXPECT_EQ(spec["template"]["spec"]["containers"].at(0)["name"], "node");
  EXPECT_EQ(spec["podFailurePolicy"]["rules"].at(1)["onExitCodes"]["containerName"], "node");
  EXPECT_EQ(variable_of(spec["template"], "MUSTER_NNODES"), "");
  EXPECT_EQ(variable_of(spec["template"], "MUSTER_NPROC_PER_NODE"), "");
}

TEST(WriteTrainJob, PodsOfOtherFrameworksAreToldByVariables) {
  JobForm form = form_of_workers(4);
  form.framework = "tensorflow";
  form.workers = "1";
  const Written made = written_pair(form);
  EXPECT_EQ(made.runtime["mlPolicy"], json({{"numNodes", 4}}));
  const json pod = part(made, 0)["template"]["spec"]["template"];
  EXPECT_EQ(variable_of(pod, "MUSTER_NNODES"), "4");
  EXPECT_EQ(variable_of(pod, "MUSTER_NPROC_PER_NODE"), "1");
  EXPECT_EQ(variable_of(pod, "MUSTER_FRAMEWORK"), "tensorflow");
}

TEST(WriteTrainJob, MpiHasALauncher) {
  JobForm form = form_with_launcher(2);
  form.workers = "4";
  const Written made = written_pair(form);
  EXPECT_EQ(made.runtime["mlPolicy"]["numNodes"], 1);  // launchers
  EXPECT_EQ(made.job["trainer"]["numNodes"], 2);
  EXPECT_EQ(made.runtime["mlPolicy"]["mpi"]["runLauncherAsNode"], false);
  EXPECT_EQ(made.runtime["mlPolicy"]["mpi"]["numProcPerNode"], 4);
  EXPECT_EQ(part(made, 0)["name"], "launcher");
  EXPECT_EQ(part(made, 1)["name"], "node");
  EXPECT_EQ(made.runtime["template"]["spec"]["successPolicy"]["targetReplicatedJobs"],
            json({"launcher"}));
  const json pod = part(made, 1)["template"]["spec"]["template"];
  EXPECT_EQ(variable_of(pod, "MUSTER_JOB_SECRET_FILE"), "");
  EXPECT_TRUE(pod["spec"]["securityContext"].contains("fsGroup"));
}

TEST(WriteTrainJob, AnElasticSizeIsARemark) {
  JobForm form = form_of_workers(4);
  form.nodes = "2:4";
  const Written made = written_pair(form);
  EXPECT_EQ(variable_of(part(made, 0)["template"]["spec"]["template"], "MUSTER_NNODES"), "2:4");
  EXPECT_EQ(form.remarks.at(0),
            "nodes '2:4': a TrainJob keeps its 4 pods; the job goes on with the least of them, but "
            "is not scaled");
}

TEST(WriteTrainJob, GangsAreTheTrainersOwn) {
  JobForm form = form_of_workers(4);
  form.gang = {{"volcano", {{"minMember", 4}, {"queue", "q"}, {"priorityClassName", "high"}}}};
  const Written made = written_pair(form);
  EXPECT_EQ(made.runtime["podGroupPolicy"], json({{"volcano", json::object()}}));
  EXPECT_EQ(made.runtime["template"]["metadata"]["annotations"]["scheduling.volcano.sh/queue-name"],
            "q");
  EXPECT_EQ(part(made, 0)["template"]["spec"]["template"]["spec"]["priorityClassName"], "high");
  EXPECT_TRUE(form.left.empty());
}

TEST(WriteTrainJob, ThePluginsGangHasATimeAlone) {
  JobForm form = form_of_workers(4);
  form.gang = {{"coscheduling",
                {{"minMember", 4}, {"scheduleTimeoutSeconds", 9}, {"minResources", {{"cpu", 1}}}}}};
  EXPECT_EQ(written_pair(form).runtime["podGroupPolicy"],
            json({{"coscheduling", {{"scheduleTimeoutSeconds", 9}}}}));
  EXPECT_EQ(form.left, std::vector<std::string>{"minResources"});
}

TEST(WriteTrainJob, KeysAreWhereTheFormSays) {
  JobForm form = form_with_launcher(2);
  form.ssh_path = "/etc/keys";
  EXPECT_EQ(written_pair(form).runtime["mlPolicy"]["mpi"]["sshAuthMountPath"], "/etc/keys");
}

TEST(WriteTrainJob, WhatItCannotHold) {
  const auto problem = [](auto change) {
    JobForm form = form_of_workers(4);
    change(form);
    const auto documents = write_train_job(form);
    return documents ? std::string() : documents.error().text;
  };
  EXPECT_EQ(problem([](JobForm& form) { form.ttl_seconds = 60; }),
            "--to trainjob: --ttl: '60s': there is no such field; --to jobset, job, mpijob or "
            "pytorchjob can hold it");
  EXPECT_EQ(
      problem([](JobForm& form) {
        form.gang = {{"volcano", {{"minMember", 3}}}};
      }),
      "--to trainjob: minMember of the gang: 3 must be the number of pods, 4; --to jobset can hold "
      "it");
  EXPECT_EQ(
      problem([](JobForm& form) {
        form = form_with_launcher(2);
        form.mpi = "Intel";
      }),
      "--to trainjob: mpiImplementation 'Intel' is not OpenMPI; --to mpijob or jobset can hold "
      "it");
  EXPECT_EQ(problem([](JobForm& form) {
              form.pods.push_back({"other", 1, plain_pod("other")});
            }),
            "--to trainjob: its pods differ, and those of a TrainJob are alike; --to jobset or "
            "pytorchjob can hold it");
}

}  // namespace
}  // namespace muster::launcher
