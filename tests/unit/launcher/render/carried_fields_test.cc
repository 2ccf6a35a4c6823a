#include "launcher/render/carried_fields.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "launcher/render/render.h"
#include "tests/support/fake_files.h"
#include "tests/support/job_form_fixture.h"

namespace muster::launcher {
namespace {

using nlohmann::json;

struct Made {
  json job;
  std::string remarks;  // with a line end behind each
};

Made made(const std::string& manifest, JobKind kind) {
  testing::FakeFiles files;
  files.add_file("/job.yaml", manifest);
  const auto rendered = render({.file = "/job.yaml", .to = kind}, files);
  if (!rendered) return {rendered.error().text, ""};
  Made all{rendered->documents.back(), ""};
  for (const std::string& remark : rendered->remarks) all.remarks += remark + "\n";
  return all;
}

const std::string kPod = "template: {spec: {containers: [{name: main, image: i, command: [x]}]}}";

// `job`: of the job as a whole; `part`: of each Job of a JobSet.
std::string jobset(const std::string& job, const std::string& part = "",
                   const std::string& replicated = "") {
  return "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\nspec: {" + job +
         "replicatedJobs: [{name: worker, " + replicated + "template: {spec: {completions: 2, " +
         part + kPod + "}}}]}";
}

std::string job(const std::string& fields) {
  return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {completions: 2, " + fields +
         kPod + "}";
}

std::string pytorch_job(const std::string& policy, const std::string& fields = "") {
  return "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec: {runPolicy: {" +
         policy + "}, " + fields + "pytorchReplicaSpecs: {Worker: {replicas: 2, " + kPod + "}}}";
}

std::string mpi_job(const std::string& policy, const std::string& fields = "") {
  return "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: a}\nspec: {runPolicy: "
         "{" +
         policy + "}, " + fields +
         "mpiReplicaSpecs: {Launcher: {template: {spec: {containers: [{name: l, image: i, command: "
         "[mpirun, x]}]}}}, Worker: {replicas: 2, " +
         kPod + "}}}";
}

std::string train_job(const std::string& fields) {
  return "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: a}\nspec: {" +
         fields + "runtimeRef: {name: r}, trainer: {numNodes: 2, image: i, command: [x]}}";
}

constexpr const char* kDeadline = "activeDeadlineSeconds: 60, ";
constexpr const char* kCommon = "suspend: true, managedBy: kueue.x-k8s.io/multikueue, ";

TEST(CarriedFields, WhatEachKindHasIsCarriedToEachKind) {
  const std::string both = std::string(kDeadline) + kCommon;
  const std::string sources[] = {jobset(kCommon, kDeadline), job(both), pytorch_job(both),
                                 train_job(both)};
  struct Target {
    JobKind kind;
    const char* policy;
    const char* deadline;
  };
  const Target targets[] = {{JobKind::kJobSet, "/spec", "/spec/replicatedJobs/0/template/spec"},
                            {JobKind::kJob, "/spec", "/spec"},
                            {JobKind::kPytorchJob, "/spec/runPolicy", "/spec/runPolicy"},
                            {JobKind::kTrainJob, "/spec", "/spec"}};
  for (const std::string& source : sources) {
    for (const auto& [kind, policy, deadline] : targets) {
      const Made result = made(source, kind);
      EXPECT_EQ(at(result.job, std::string(policy) + "/suspend"), true) << source << result.job;
      EXPECT_EQ(at(result.job, std::string(policy) + "/managedBy"), "kueue.x-k8s.io/multikueue");
      EXPECT_EQ(at(result.job, std::string(deadline) + "/activeDeadlineSeconds"), 60)
          << source << result.job;
    }
  }
  const json mpi = made(mpi_job(both), JobKind::kMpiJob).job;
  EXPECT_EQ(at(mpi, "/spec/runPolicy/suspend"), true);
  EXPECT_EQ(at(mpi, "/spec/runPolicy/activeDeadlineSeconds"), 60);
}

TEST(CarriedFields, ATimeOfTheWholeJobIsNotThatOfAnAttempt) {
  const json set = made(job(kDeadline), JobKind::kJobSet).job;
  EXPECT_EQ(at(set, "/spec/failurePolicy/rules/1"),
            json::parse(R"({"name": "DeadlineExceeded", "action": "FailJobSet",
                            "onJobFailureReasons": ["DeadlineExceeded"]})"));
  EXPECT_TRUE(at(made(jobset("", kDeadline), JobKind::kJobSet).job, "/spec/failurePolicy/rules/1")
                  .is_null());
}

TEST(CarriedFields, ATimeToLiveHasNoPlaceInATrainJob) {
  const std::string source = pytorch_job("ttlSecondsAfterFinished: '9'");
  EXPECT_EQ(at(made(source, JobKind::kJobSet).job, "/spec/ttlSecondsAfterFinished"), 9);
  EXPECT_EQ(at(made(source, JobKind::kPytorchJob).job, "/spec/runPolicy/ttlSecondsAfterFinished"),
            9);
  const Made left = made(source, JobKind::kTrainJob);
  EXPECT_NE(left.remarks.find("left out, for the TrainJob has no place for it: "
                              "spec.runPolicy.ttlSecondsAfterFinished\n"),
            std::string::npos)
      << left.remarks;
}

TEST(CarriedFields, AJobSetKeepsItsPolicies) {
  const std::string fields =
      "failurePolicy: {maxRestarts: 2, restartStrategy: BlockingRecreate, rules: [{name: Mine, "
      "action: RestartJobSet}]}, successPolicy: {operator: Any, targetReplicatedJobs: [worker]}, "
      "startupPolicy: {startupPolicyOrder: InOrder}, volumeClaimPolicies: [{templates: []}], ";
  const Made result =
      made(jobset(fields,
                  "successPolicy: {rules: [{succeededIndexes: '0'}]}, podFailurePolicy: "
                  "{rules: [{action: Count, onPodConditions: [{type: A}]}]}, ",
                  ""),
           JobKind::kJobSet);
  const json spec = at(result.job, "/spec");
  EXPECT_EQ(at(spec, "/failurePolicy/restartStrategy"), "BlockingRecreate");
  EXPECT_EQ(at(spec, "/failurePolicy/maxRestarts"), 2);
  EXPECT_EQ(at(spec, "/failurePolicy/rules/0/name"), "Mine");
  EXPECT_EQ(at(spec, "/failurePolicy/rules/1/name"), "WrongCommandLine");
  EXPECT_EQ(at(spec, "/successPolicy/operator"), "Any");
  EXPECT_EQ(at(spec, "/startupPolicy/startupPolicyOrder"), "InOrder");
  EXPECT_EQ(at(spec, "/volumeClaimPolicies").size(), 1);
  const json part = at(spec, "/replicatedJobs/0/template/spec");
  EXPECT_EQ(at(part, "/successPolicy/rules/0/succeededIndexes"), "0");
  EXPECT_EQ(at(part, "/podFailurePolicy/rules").size(), 1);
  EXPECT_EQ(result.remarks.find("left out"), std::string::npos) << result.remarks;
}

TEST(CarriedFields, EachJobOfASetKeepsItsOwn) {
  const auto part = [](const std::string& name, int seconds) {
    return "{name: " + name + ", template: {metadata: {annotations: {of: " + name +
           "}}, spec: {activeDeadlineSeconds: " + std::to_string(seconds) + ", " + kPod + "}}}";
  };
  const std::string set =
      "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\nspec: "
      "{coordinator: {replicatedJob: b}, replicatedJobs: [" +
      part("a", 10) + ", " + part("b", 20) + "]}";
  const json made_set = made(set, JobKind::kJobSet).job;
  for (const auto& [place, name, seconds] : {std::tuple("/spec/replicatedJobs/0", "b", 20),
                                             std::tuple("/spec/replicatedJobs/1", "a", 10)}) {
    const json found = at(made_set, place);
    EXPECT_EQ(at(found, "/template/metadata/annotations/of"), name);
    EXPECT_EQ(at(found, "/template/spec/activeDeadlineSeconds"), seconds);
  }
  const Made one = made(set, JobKind::kPytorchJob);
  EXPECT_NE(one.remarks.find("left out, for the PyTorchJob has no place for it: "
                             "spec.replicatedJobs[0].template.metadata, "),
            std::string::npos)
      << one.remarks;
}

TEST(CarriedFields, JobsOfASetKeepTheirGroupsAndWhatTheyWaitFor) {
  const std::string part = ", template: {spec: {" + kPod + "}}}";
  const std::string set =
      "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\nspec: "
      "{replicatedJobs: [{name: a, groupName: g" +
      part + ", {name: b, dependsOn: [{name: a, status: Ready}]" + part + "]}";
  const Made result = made(set, JobKind::kJobSet);
  EXPECT_EQ(at(result.job, "/spec/replicatedJobs/0/groupName"), "g") << result.job;
  EXPECT_EQ(at(result.job, "/spec/replicatedJobs/1/dependsOn/0/name"), "a");
  EXPECT_EQ(result.remarks.find("left out"), std::string::npos) << result.remarks;
  EXPECT_NE(made(set, JobKind::kPytorchJob)
                .remarks.find("spec.replicatedJobs[0].groupName, "
                              "spec.replicatedJobs[1].dependsOn\n"),
            std::string::npos);
}

TEST(CarriedFields, JobsThatBecomeOneAreTold) {
  const std::string remark = "spec.replicatedJobs[0].replicas: 4 Jobs become one of 8 pods\n";
  EXPECT_NE(made(jobset("", "", "replicas: 4, "), JobKind::kJobSet).remarks.find(remark),
            std::string::npos);
  EXPECT_EQ(made(jobset(""), JobKind::kJobSet).remarks.find("become one"), std::string::npos);
}

TEST(CarriedFields, AJobKeepsItsPolicies) {
  const Made result =
      made(job("podFailurePolicy: {rules: [{action: Count}]}, podReplacementPolicy: Failed, "
               "successPolicy: {rules: [{succeededCount: 1}]}, backoffLimitPerIndex: 2, "
               "maxFailedIndexes: 1, completionMode: Indexed, "),
           JobKind::kJob);
  const json spec = at(result.job, "/spec");
  EXPECT_EQ(at(spec, "/podFailurePolicy/rules"), json::parse(R"([{"action": "Count"}])"));
  EXPECT_EQ(at(spec, "/podReplacementPolicy"), "Failed");
  EXPECT_EQ(at(spec, "/successPolicy/rules/0/succeededCount"), 1);
  EXPECT_EQ(at(spec, "/backoffLimitPerIndex"), 2);
  EXPECT_EQ(at(spec, "/maxFailedIndexes"), 1);
  EXPECT_EQ(result.remarks.find("left out"), std::string::npos) << result.remarks;
}

TEST(CarriedFields, OperatorsKeepTheirOwn) {
  const json mpi =
      made(mpi_job("cleanPodPolicy: All", "launcherCreationPolicy: WaitForWorkersReady, "),
           JobKind::kMpiJob)
          .job;
  EXPECT_EQ(at(mpi, "/spec/runPolicy/cleanPodPolicy"), "All");
  EXPECT_EQ(at(mpi, "/spec/launcherCreationPolicy"), "WaitForWorkersReady");
  const Made torch = made(
      pytorch_job("cleanPodPolicy: None, schedulingPolicy: {minAvailable: 2, minResources: {cpu: "
                  "2}}",
                  "elasticPolicy: {minReplicas: 1, maxReplicas: 3, rdzvBackend: c10d, rdzvPort: "
                  "29511, rdzvId: i, rdzvConf: [{key: a, value: b}], nProcPerNode: 4}, "),
      JobKind::kPytorchJob);
  const json spec = at(torch.job, "/spec");
  EXPECT_EQ(at(spec, "/runPolicy/cleanPodPolicy"), "None");
  EXPECT_EQ(at(spec, "/runPolicy/schedulingPolicy"),
            json::parse(R"({"minAvailable": 2, "minResources": {"cpu": 2}})"));
  EXPECT_EQ(at(spec, "/nprocPerNode"), "4");
  EXPECT_EQ(at(spec, "/elasticPolicy"),
            json::parse(R"({"minReplicas": 1, "maxReplicas": 3, "rdzvBackend": "c10d",
                            "rdzvPort": 29511, "rdzvId": "i",
                            "rdzvConf": [{"key": "a", "value": "b"}]})"));
  EXPECT_EQ(torch.remarks.find("left out"), std::string::npos) << torch.remarks;
}

TEST(CarriedFields, WhatWouldContradictThePodsIsTold) {
  const std::map<std::string, std::string> left = {
      {jobset("failurePolicy: {restartStrategy: InPlaceRestart}, "),
       "spec.failurePolicy.restartStrategy"},
      {jobset("network: {enableDNSHostnames: false, subdomain: s}, "),
       "spec.network.enableDNSHostnames, spec.network.subdomain"},
      {jobset("coordinator: {replicatedJob: worker, podIndex: 1}, "), "spec.coordinator.podIndex"},
      {jobset("managedBy: jobset.sigs.k8s.io/jobset-controller, "), "spec.managedBy"},
      {job("completionMode: NonIndexed, "), "spec.completionMode"},
      {pytorch_job("", "elasticPolicy: {minReplicas: 1, maxReplicas: 2, rdzvBackend: etcd}, "),
       "spec.elasticPolicy.rdzvBackend"}};
  for (const auto& [source, paths] : left) {
    const std::string remarks = made(source, JobKind::kJobSet).remarks;
    EXPECT_NE(remarks.find("left out, for the JobSet has no place for it: " + paths + "\n"),
              std::string::npos)
        << source << remarks;
  }
}

TEST(CarriedFields, WhatIsUsualIsNotTold) {
  const std::string sources[] = {
      jobset("suspend: false, coordinator: {replicatedJob: worker, jobIndex: 0, podIndex: 0}, "
             "network: {enableDNSHostnames: true, publishNotReadyAddresses: true}, failurePolicy: "
             "{restartStrategy: Recreate}, startupPolicy: {startupPolicyOrder: AnyOrder}, ",
             "completionMode: Indexed, "),
      job("suspend: false, "), pytorch_job("cleanPodPolicy: Running, suspend: false")};
  for (const std::string& source : sources)
    EXPECT_EQ(made(source, JobKind::kJobSet).remarks.find("left out"), std::string::npos) << source;
}

TEST(CarriedFields, AWrongValueIsNamedByItsPath) {
  EXPECT_EQ(made(jobset("suspend: maybe, "), JobKind::kJob).job,
            "/job.yaml: spec.suspend: 'maybe' must be true or false");
  EXPECT_EQ(made(job("activeDeadlineSeconds: -1, "), JobKind::kJob).job,
            "/job.yaml: spec.activeDeadlineSeconds: '-1' must be a number from 0 to 2147483647");
  EXPECT_EQ(made(pytorch_job("managedBy: [a]"), JobKind::kJob).job,
            "/job.yaml: spec.runPolicy.managedBy: a list must be a text");
}

}  // namespace
}  // namespace muster::launcher
