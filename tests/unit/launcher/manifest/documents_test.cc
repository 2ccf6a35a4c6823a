#include "launcher/manifest/documents.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "launcher/manifest/yaml_reader.h"

namespace muster::launcher {
namespace {

using nlohmann::json;

constexpr const char* kRuntime = R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: r}
spec:
  mlPolicy: {numNodes: 1}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, command: [x], env: [{name: A, value: a}]}, {name: side}]}}}
)";

json one(const std::string& text) { return read_yaml(text)->at(0); }

json job(const std::string& trainer) {
  return one(
      "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: t}\n"
      "spec: {runtimeRef: {name: r}, trainer: {" +
      trainer + "}}\n");
}

TEST(Documents, WhatAListHoldsStandsInItsPlace) {
  const auto documents =
      read_yaml("kind: A\n---\nkind: List\nitems: [{kind: B}, {kind: C}]\n---\nkind: D\n");
  std::string kinds;
  for (const json* document : flattened(*documents)) kinds += description_of(*document);
  EXPECT_EQ(kinds, "ABCD");
}

TEST(Documents, TheyAreDescribedByKindAndName) {
  EXPECT_EQ(description_of(one("{kind: Job, metadata: {name: a}}")), "Job 'a'");
  EXPECT_EQ(description_of(one("[1]")), "a document without a kind");
}

TEST(Documents, ATrainJobRefersToARuntimeOfItsName) {
  EXPECT_TRUE(refers_to(job(""), one(kRuntime)));
  EXPECT_FALSE(refers_to(one(kRuntime), one(kRuntime)));
  json other = one(kRuntime);
  other["metadata"]["name"] = "s";
  EXPECT_FALSE(refers_to(job(""), other));
  other = one(kRuntime);
  other["apiVersion"] = "ome.io/v1beta1";
  EXPECT_FALSE(refers_to(job(""), other));
}

TEST(Documents, ATrainJobFillsInItsRuntime) {
  const auto merged = runtime_of_train_job(
      job("numNodes: 3, numProcPerNode: 2, args: [z], env: [{name: B, value: b}], "
          "resourcesPerNode: {limits: {cpu: 2}}"),
      one(kRuntime));
  ASSERT_TRUE(merged) << merged.error().text;
  EXPECT_EQ(merged->at("metadata").at("name"), "t");
  EXPECT_EQ(dump_json(merged->at("spec").at("mlPolicy")),
            R"({"numNodes":3,"torch":{"numProcPerNode":2}})");
  const json& containers = merged->at(
      "/spec/template/spec/replicatedJobs/0/template/spec/template/spec/containers"_json_pointer);
  EXPECT_EQ(
      dump_json(containers[0]),
      R"({"args":["z"],"command":["x"],"env":[{"name":"A","value":"a"},{"name":"B","value":"b"}],)"
      R"("name":"node","resources":{"limits":{"cpu":2}}})");
  EXPECT_EQ(dump_json(containers[1]), R"({"name":"side"})");
}

TEST(Documents, AWrongValueOfATrainJobHasItsPath) {
  EXPECT_EQ(runtime_of_train_job(job("numNodes: many"), one(kRuntime)).error().text,
            "spec.trainer.numNodes: 'many' must be a number from 1 to 100000");
  EXPECT_TRUE(
      runtime_of_train_job(job("numNodes: 2"), one("{spec: {mlPolicy: 1, template: [], x: {}}}")));
}

}  // namespace
}  // namespace muster::launcher
