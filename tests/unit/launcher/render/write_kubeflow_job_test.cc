// Jobs of the operators of Kubeflow.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "launcher/render/writers.h"
#include "tests/support/job_form_fixture.h"

namespace muster::launcher {
namespace {

using nlohmann::json;

json spec_of(const Result<Documents>& documents) {
  EXPECT_TRUE(documents) << documents.error().text;
  return documents ? documents->back()["spec"] : json();
}

TEST(WriteMpiJob, TheLauncherIsTheFormsOwn) {
  JobForm form = form_with_launcher(2);
  form.workers = "4";
  form.mpi = "MPICH";
  const json spec = spec_of(write_mpi_job(form));
  EXPECT_EQ(spec["slotsPerWorker"], 4);
  EXPECT_EQ(spec["runLauncherAsWorker"], false);
  EXPECT_EQ(spec["mpiImplementation"], "MPICH");
  const json& launcher = spec["mpiReplicaSpecs"]["Launcher"];
  const json& worker = spec["mpiReplicaSpecs"]["Worker"];
  EXPECT_EQ(launcher["template"]["spec"]["containers"].at(0)["name"], "mpi-launcher");
  EXPECT_EQ(launcher["replicas"], 1);
  EXPECT_EQ(worker["replicas"], 2);
  EXPECT_EQ(variable_of(worker["template"], "MUSTER_MPI"), "mpich");
  // What the operator says is not said again, and its key is the secret.
  for (const char* const name :
       {"MUSTER_FRAMEWORK", "MUSTER_NNODES", "MUSTER_MPI_ROLE", "MUSTER_JOB_SECRET_FILE"})
    EXPECT_EQ(variable_of(worker["template"], name), "") << name;
  EXPECT_NE(spec["sshAuthMountPath"], "/root/.ssh");
}

TEST(WriteMpiJob, WorkersAloneGetALauncherWithoutTheirGpus) {
  JobForm form = form_of_workers(2);
  form.pods[0].pod["spec"]["containers"][0]["resources"]["limits"] = {
      {"nvidia.com/gpu", 8}, {"rdma/hca", 1}, {"cpu", "4"}};
  const json spec = spec_of(write_mpi_job(form));
  const auto limits = [&spec](const char* name) {
    return spec["mpiReplicaSpecs"][name]["template"]["spec"]["containers"][0]["resources"]
               ["limits"];
  };
  EXPECT_EQ(spec["slotsPerWorker"], 8);
  EXPECT_EQ(limits("Launcher"), json({{"cpu", "4"}}));
  EXPECT_EQ(limits("Worker")["nvidia.com/gpu"], 8);
}

TEST(WriteMpiJob, WorkersComeBackIfTheLauncherMay) {
  JobForm form = form_with_launcher(2);
  form.ttl_seconds = 60;
  const json again = spec_of(write_mpi_job(form));
  EXPECT_EQ(
      again["runPolicy"],
      json({{"backoffLimit", 6}, {"cleanPodPolicy", "Running"}, {"ttlSecondsAfterFinished", 60}}));
  EXPECT_EQ(again["mpiReplicaSpecs"]["Launcher"]["restartPolicy"], "Never");
  EXPECT_EQ(again["mpiReplicaSpecs"]["Worker"]["restartPolicy"], "OnFailure");
  JobForm once = form_with_launcher(2);
  once.backoff_limit = 0;
  EXPECT_EQ(spec_of(write_mpi_job(once))["mpiReplicaSpecs"]["Worker"]["restartPolicy"], "Never");
}

TEST(WriteMpiJob, OtherFrameworksAreRefused) {
  JobForm form = form_of_workers(2);
  form.framework = "pytorch";
  EXPECT_EQ(write_mpi_job(form).error().text,
            "--to mpijob: --framework 'pytorch' is not mpi; --to jobset or pytorchjob can hold it");
}

TEST(WritePytorchJob, AMasterIsAReplicaOfItsOwn) {
  JobForm form = form_of_workers(3);
  form.workers = "auto";
  form.max_restarts = 2;
  form.pods[0].pod["spec"]["restartPolicy"] = "Never";
  form.pods.insert(form.pods.begin(), PodForm{"master", 1, plain_pod("main")});
  const json spec = spec_of(write_pytorch_job(form));
  const json& replicas = spec["pytorchReplicaSpecs"];
  EXPECT_EQ(spec["nprocPerNode"], "auto");
  EXPECT_EQ(replicas["Master"]["replicas"], 1);
  EXPECT_EQ(replicas["Worker"]["replicas"], 3);
  for (const char* const name : {"Master", "Worker"}) {
    const json& pod = replicas[name]["template"];
    EXPECT_EQ(pod["spec"]["containers"].at(0)["name"], "pytorch");
    EXPECT_EQ(variable_of(pod, "MUSTER_NNODES"), "");
    EXPECT_EQ(variable_of(pod, "MUSTER_MAX_RESTARTS"), "2");
    EXPECT_EQ(variable_of(pod, "MUSTER_JOB_SECRET_FILE"), "/etc/muster/secret");
  }
  EXPECT_EQ(replicas["Master"]["restartPolicy"], "OnFailure");
  EXPECT_EQ(replicas["Worker"]["restartPolicy"], "Never");
  EXPECT_FALSE(replicas["Worker"]["template"]["spec"].contains("restartPolicy"));
}

TEST(WritePytorchJob, AnElasticJobIsScaledByItsMetrics) {
  JobForm form = form_of_workers(4);
  form.nodes = "2:8";
  form.max_restarts = 5;
  form.metrics = json::array({{{"type", "Resource"}}});
  form.gang = {{"coscheduling", {{"scheduleTimeoutSeconds", 300}}}};
  const json spec = spec_of(write_pytorch_job(form));
  EXPECT_EQ(spec["elasticPolicy"], json({{"minReplicas", 2},
                                         {"maxReplicas", 8},
                                         {"rdzvBackend", "c10d"},
                                         {"maxRestarts", 5},
                                         {"metrics", {{{"type", "Resource"}}}}}));
  EXPECT_EQ(spec["runPolicy"]["schedulingPolicy"],
            json({{"minAvailable", 2}, {"scheduleTimeoutSeconds", 300}}));
  EXPECT_EQ(variable_of(spec["pytorchReplicaSpecs"]["Worker"]["template"], "MUSTER_MAX_RESTARTS"),
            "");
}

TEST(WritePytorchJob, WhatItCannotHold) {
  JobForm elastic = form_of_workers(3);
  elastic.nodes = "2:8";
  elastic.pods.insert(elastic.pods.begin(), PodForm{"master", 1, plain_pod("main")});
  EXPECT_EQ(write_pytorch_job(elastic).error().text,
            "--to pytorchjob: nodes '2:8' and a master of its own: only workers are scaled; --to "
            "jobset can hold it");
  JobForm mpi = form_with_launcher(2);
  EXPECT_EQ(
      write_pytorch_job(mpi).error().text,
      "--to pytorchjob: a launcher without ranks is no master; --to mpijob or jobset can hold "
      "it");
}

TEST(WritePytorchJob, WhatThePodsOwnJobsSayIsTheLimit) {
  const auto limit = [](JobForm& form) {
    return write_pytorch_job(form)->back()["spec"]["runPolicy"]["backoffLimit"];
  };
  JobForm form = form_of_workers(2);
  form.pods[0].backoff_limit = 3;
  EXPECT_EQ(limit(form), 3);
  EXPECT_TRUE(form.left.empty());
  JobForm both = form_of_workers(2);
  both.backoff_limit = 2;
  both.pods[0].backoff_limit = 3;
  EXPECT_EQ(limit(both), 2);
  EXPECT_EQ(both.left, std::vector<std::string>{"backoffLimit of worker"});
}

}  // namespace
}  // namespace muster::launcher
