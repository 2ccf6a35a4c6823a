// A Job.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "launcher/render/writers.h"
#include "tests/support/job_form_fixture.h"

namespace muster::launcher {
namespace {

using nlohmann::json;

const json* find_kind(const Documents& documents, const char* kind) {
  for (const json& document : documents)
    if (document["kind"] == kind) return &document;
  return nullptr;
}

TEST(WriteJob, PodsFindEachOtherByAServiceOfTheJobsName) {
  JobForm form = form_of_workers(4);
  const auto documents = write_job(form);
  ASSERT_TRUE(documents);
  const json& spec = documents->back()["spec"];
  EXPECT_EQ(spec["completions"], 4);
  EXPECT_EQ(spec["backoffLimit"], 6);
  EXPECT_EQ(spec["template"]["spec"]["subdomain"], "bert");
  EXPECT_EQ(spec["template"]["spec"]["restartPolicy"], "Never");
  const json* const service = find_kind(*documents, "Service");
  ASSERT_NE(service, nullptr);
  EXPECT_EQ((*service)["metadata"]["name"], "bert");
  EXPECT_EQ((*service)["spec"], json({{"clusterIP", "None"},
                                      {"publishNotReadyAddresses", true},
                                      {"selector", {{"app.kubernetes.io/instance", "bert"}}}}));
}

TEST(WriteJob, RunsAreJobsOfOneNode) {
  JobForm form = form_of_workers(1);
  form.runs = Runs{8, 2};
  form.ttl_seconds = 0;
  const auto documents = write_job(form);
  ASSERT_TRUE(documents);
  const json& spec = documents->back()["spec"];
  EXPECT_EQ(spec["completions"], 8);
  EXPECT_EQ(spec["parallelism"], 2);
  EXPECT_EQ(spec["ttlSecondsAfterFinished"], 0);
  EXPECT_EQ(variable_of(spec["template"], "MUSTER_NNODES"), "1");
  EXPECT_EQ(find_kind(*documents, "Service"), nullptr);
  EXPECT_TRUE(form.remarks.empty());
}

TEST(WriteJob, AMasterLikeItsWorkersIsOneOfThem) {
  JobForm form = form_of_workers(3);
  form.pods.insert(form.pods.begin(), PodForm{"master", 1, plain_pod()});
  const auto documents = write_job(form);
  ASSERT_TRUE(documents);
  EXPECT_EQ(documents->back()["spec"]["completions"], 4);
}

TEST(WriteJob, OtherPodsAreRefusedWithWhoCanHoldThem) {
  JobForm form = form_of_workers(3);
  form.pods.insert(form.pods.begin(), PodForm{"master", 1, plain_pod("other")});
  EXPECT_EQ(
      write_job(form).error().text,
      "--to job: pods 'master' and 'worker' differ, and those of a Job are alike; --to jobset "
      "or pytorchjob can hold it");
  JobForm mpi = form_with_launcher(2);
  EXPECT_EQ(write_job(mpi).error().text,
            "--to job: a launcher without ranks is a pod of its own; --to mpijob or jobset can "
            "hold it");
}

TEST(WriteJob, OneFailureOfManyPodsUsesTheBackoffLimitUp) {
  JobForm form = form_of_workers(8);
  ASSERT_TRUE(write_job(form));
  EXPECT_NE(form.remarks.back().find("backoffLimit 6 is used up by one failure of 8 pods"),
            std::string::npos);
}

}  // namespace
}  // namespace muster::launcher
