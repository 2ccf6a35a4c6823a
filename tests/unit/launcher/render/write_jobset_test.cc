// A JobSet.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "launcher/render/writers.h"
#include "tests/support/job_form_fixture.h"

namespace muster::launcher {
namespace {

using nlohmann::json;

json written(JobForm form) {
  auto documents = write_jobset(form);
  EXPECT_TRUE(documents) << documents.error().text;
  return documents ? documents->back()["spec"] : json();
}

TEST(WriteJobSet, PodsOfAKindAreAReplicatedJob) {
  const json spec = written(form_of_workers(4));
  const json& job = spec["replicatedJobs"].at(0)["template"]["spec"];
  EXPECT_EQ(spec["replicatedJobs"].size(), 1);
  EXPECT_EQ(spec["replicatedJobs"][0]["name"], "worker");
  EXPECT_EQ(job["completions"], 4);
  EXPECT_EQ(job["parallelism"], 4);
  EXPECT_EQ(job["completionMode"], "Indexed");
  EXPECT_EQ(spec["coordinator"],
            json({{"replicatedJob", "worker"}, {"jobIndex", 0}, {"podIndex", 0}}));
  EXPECT_EQ(variable_of(job["template"], "MUSTER_NNODES"), "4");
  EXPECT_FALSE(spec.contains("successPolicy"));
}

TEST(WriteJobSet, TheWholeSetIsTriedAgainButNotAWrongCommandLine) {
  JobForm form = form_of_workers(2);
  form.backoff_limit = 3;
  const json spec = written(form);
  const json& job = spec["replicatedJobs"].at(0)["template"]["spec"];
  EXPECT_EQ(spec["failurePolicy"]["maxRestarts"], 3);
  EXPECT_EQ(job["backoffLimit"], 0);
  const json& rules = job["podFailurePolicy"]["rules"];
  EXPECT_EQ(rules.at(0)["action"], "Ignore");
  EXPECT_EQ(rules.at(1)["action"], "FailJob");
  EXPECT_EQ(rules.at(1)["onExitCodes"]["values"], json({64, 78}));
  EXPECT_EQ(rules.at(1)["onExitCodes"]["containerName"], "trainer");
  EXPECT_EQ(spec["failurePolicy"]["rules"].at(0)["onJobFailureReasons"],
            json({"PodFailurePolicy"}));
}

TEST(WriteJobSet, APodThatStartsInItsPlaceKeepsThat) {
  JobForm form = form_of_workers(2);
  form.pods[0].pod["spec"]["restartPolicy"] = "OnFailure";
  form.backoff_limit = 3;
  const json job = written(form)["replicatedJobs"].at(0)["template"]["spec"];
  EXPECT_EQ(job["backoffLimit"], 3);
  EXPECT_FALSE(job.contains("podFailurePolicy"));
  EXPECT_EQ(job["template"]["spec"]["restartPolicy"], "OnFailure");
}

TEST(WriteJobSet, ALauncherLeadsAndEndsTheSet) {
  const json spec = written(form_with_launcher(2));
  EXPECT_EQ(spec["coordinator"]["replicatedJob"], "launcher");
  EXPECT_EQ(spec["successPolicy"],
            json({{"operator", "All"}, {"targetReplicatedJobs", {"launcher"}}}));
  const auto pod = [&spec](size_t index) {
    return spec["replicatedJobs"].at(index)["template"]["spec"]["template"];
  };
  EXPECT_EQ(variable_of(pod(0), "MUSTER_MPI_ROLE"), "launcher");
  EXPECT_EQ(variable_of(pod(1), "MUSTER_MPI_ROLE"), "worker");
  EXPECT_EQ(variable_of(pod(0), "MUSTER_NNODES"), "2");
  EXPECT_EQ(variable_of(pod(1), "MUSTER_FRAMEWORK"), "mpi");
}

TEST(WriteJobSet, WhatTheFormSaysReachesThePods) {
  JobForm form = form_of_workers(2);
  form.nodes = "2:8";
  form.workers = "8";
  form.max_restarts = 5;
  form.ttl_seconds = 60;
  form.pods[0].pod["spec"]["containers"][0]["env"] =
      json::array({{{"name", "MUSTER_MAX_RESTARTS"}, {"value", "1"}}});
  const json spec = written(form);
  const json& pod = spec["replicatedJobs"].at(0)["template"]["spec"]["template"];
  EXPECT_EQ(variable_of(pod, "MUSTER_NNODES"), "2:8");
  EXPECT_EQ(variable_of(pod, "MUSTER_NPROC_PER_NODE"), "8");
  EXPECT_EQ(variable_of(pod, "MUSTER_MAX_RESTARTS"), "1");
  EXPECT_EQ(spec["ttlSecondsAfterFinished"], 60);
}

TEST(WriteJobSet, PodsMeetWithASecretThatSomebodyMakes) {
  JobForm form = form_of_workers(2);
  form.name_space = "team";
  const auto documents = write_jobset(form);
  const json& pod =
      documents->back()["spec"]["replicatedJobs"].at(0)["template"]["spec"]["template"];
  const json& volume = pod["spec"]["volumes"].at(0);
  EXPECT_EQ(volume["secret"], json({{"secretName", "bert-muster"}, {"defaultMode", 0400}}));
  EXPECT_EQ(variable_of(pod, "MUSTER_JOB_SECRET_FILE"), "/etc/muster/secret");
  EXPECT_TRUE(pod["spec"]["securityContext"].contains("fsGroup"));
  ASSERT_EQ(form.remarks.size(), 1);
  EXPECT_NE(form.remarks[0].find("kubectl -n team create secret generic bert-muster"),
            std::string::npos)
      << form.remarks[0];
}

TEST(WriteJobSet, OnePodNeedsNoSecret) {
  JobForm form = form_of_workers(1);
  EXPECT_FALSE(
      written(form)["replicatedJobs"].at(0)["template"]["spec"]["template"]["spec"].contains(
          "volumes"));
}

TEST(WriteJobSet, RunsAreRefused) {
  JobForm form = form_of_workers(1);
  form.runs = Runs{8, 2};
  const auto documents = write_jobset(form);
  ASSERT_FALSE(documents);
  EXPECT_EQ(documents.error().text,
            "--to jobset: --runs are independent, and pods of a JobSet are one job; --to job can "
            "hold it");
}

}  // namespace
}  // namespace muster::launcher
