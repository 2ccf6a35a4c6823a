#include "launcher/render/names.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "launcher/render/form_of_manifest.h"
#include "tests/support/job_form_fixture.h"

namespace muster::launcher {
namespace {

std::string problem(JobForm form, size_t letters, JobKind kind) {
  form.name = std::string(letters, 'a');
  const auto checked = check_name(form, kind);
  return checked ? "" : checked.error().text;
}

TEST(Names, EachKindHasItsSuffix) {
  const JobForm form = form_of_workers(12);
  const std::pair<JobKind, size_t> longest[] = {{JobKind::kJobSet, 51},
                                                {JobKind::kJob, 60},
                                                {JobKind::kMpiJob, 53},
                                                {JobKind::kPytorchJob, 53},
                                                {JobKind::kTrainJob, 53}};
  for (const auto& [kind, letters] : longest) {
    EXPECT_EQ(problem(form, letters, kind), "");
    EXPECT_NE(problem(form, letters + 1, kind), "");
  }
  EXPECT_EQ(problem(form, 52, JobKind::kJobSet),
            "--name: '" + std::string(52, 'a') +
                "' must have at most 51 letters: a pod is called NAME-worker-0-11, and 63 is the "
                "limit");
}

TEST(Names, WhatMayComeCounts) {
  JobForm elastic = form_of_workers(2);
  elastic.nodes = "2:101";
  EXPECT_NE(problem(elastic, 60, JobKind::kJob), "");
  JobForm runs = form_of_workers(1);
  runs.runs = Runs{1001, 1};
  EXPECT_NE(problem(runs, 59, JobKind::kJob), "");
  EXPECT_EQ(problem(runs, 58, JobKind::kJob), "");
  EXPECT_EQ(problem(form_with_launcher(2), 50, JobKind::kTrainJob), "");
  EXPECT_NE(problem(form_with_launcher(2), 51, JobKind::kTrainJob), "");
}

TEST(Names, WhatSaysTheNameIsNamed) {
  JobForm form = form_of_workers(12);
  form.name_place = "job.yaml: metadata.name";
  EXPECT_TRUE(problem(form, 52, JobKind::kJobSet)
                  .starts_with("job.yaml: metadata.name: '" + std::string(52, 'a') +
                               "' must have at most 51 letters"));
  form.name = "Bert";
  EXPECT_EQ(check_name(form, JobKind::kJob).error().text,
            "job.yaml: metadata.name: 'Bert' must be at most 63 of a-z, 0-9 and '-', a letter "
            "first and no '-' last");
}

TEST(Names, ARoleMayBeTooLongForAnyName) {
  JobForm form = form_of_workers(12);
  form.pods[0].role = std::string(63, 'r');
  EXPECT_NE(problem(form, 1, JobKind::kJobSet).find("must have at most 0 letters"),
            std::string::npos);
}

std::string labels_problem(const nlohmann::json& metadata) {
  const auto checked = check_labels(Field(&metadata, "metadata"));
  return checked ? "" : checked.error().text;
}

TEST(Names, LabelsHaveAGrammar) {
  EXPECT_EQ(labels_problem({{"labels", {{"a.b/c_D", "e.F-1"}, {"empty", ""}, {"number", 1}}},
                            {"annotations", {{"A.b/c", "any text: \n"}}}}),
            "");
  EXPECT_EQ(labels_problem({{"labels", {{"team", "a team"}}}}),
            "metadata.labels.team: 'a team' must be at most 63 of letters, digits, '-', '_', '.', "
            "a letter or digit at both ends");
  EXPECT_EQ(labels_problem({{"annotations", {{"a/b/c", "x"}}}}),
            "metadata.annotations: 'a/b/c' must be [DOMAIN/]NAME, the name at most 63 of letters, "
            "digits, '-', '_', '.'");
  EXPECT_NE(labels_problem({{"labels", {{"A.b/c", "x"}}}}), "");  // a domain, in small letters
  EXPECT_NE(labels_problem({{"labels", {{std::string(64, 'a'), "x"}}}}), "");
  EXPECT_NE(labels_problem({{"labels", {{"a", std::string(64, 'x')}}}}), "");
}

TEST(Names, ANameIsALabelOfTheDns) {
  for (const char* const name : {"", "1a", "a-", "-a", "A", "a_b", "a.b", "a\n"}) {
    JobForm form = form_of_workers(1);
    form.name = name;
    EXPECT_FALSE(check_name(form, JobKind::kJob)) << name;
  }
}

// "" = it is read.
TEST(Names, NamesHaveKubernetesGrammar) {
  const auto job = [](const std::string& metadata, const std::string& pod = "") {
    return problem_of("apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, " + metadata +
                      "}\nspec: {template: {" + pod + "spec: {containers: [{name: c}]}}}");
  };
  constexpr const char* kLabel = "at most 63 of a-z, 0-9 and '-', a letter or digit at both ends";
  EXPECT_EQ(job("namespace: My_Team"),
            std::string("metadata.namespace: 'My_Team' must be ") + kLabel);
  EXPECT_EQ(job("labels: {team: a b}").find("metadata.labels.team: 'a b' must"), 0);
  EXPECT_EQ(job("", "metadata: {annotations: {a b: c}}, ")

                .find("spec.template.metadata.annotations: 'a b' must"),
            0);
  const auto set = [](const std::string& first, const std::string& second) {
    const std::string rest = ", template: {spec: {template: {spec: {containers: [{name: c}]}}}}}";
    return problem_of(
        "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\n"
        "spec: {replicatedJobs: [{name: " +
        first + rest + ", {name: " + second + rest + "]}");
  };
  EXPECT_EQ(set("a", "Work_er"),
            "spec.replicatedJobs[1].name: 'Work_er' must be at most 63 of a-z, 0-9 and '-', a "
            "letter first and no '-' last");
  EXPECT_EQ(set("b", "b"),
            "spec.replicatedJobs[1].name: 'b' must be another name than that of a job before it");
  const std::string coordinator =
      "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\nspec: "
      "{coordinator: {replicatedJob: driver}, replicatedJobs: [{name: b, template: {spec: "
      "{template: {spec: {containers: [{name: c}]}}}}}]}";
  EXPECT_EQ(problem_of(coordinator),
            "spec.coordinator.replicatedJob: 'driver' must be the name of a replicatedJob");
}

TEST(Names, AnOperatorHasOneLauncherAndOneMaster) {
  const std::string pod = "template: {spec: {containers: [{name: c, image: i, command: [x]}]}}";
  EXPECT_EQ(problem_of("apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec: "
                       "{pytorchReplicaSpecs: {Master: {replicas: 2, " +
                       pod + "}}}"),
            "spec.pytorchReplicaSpecs.Master.replicas: '2' must be a number from 1 to 1");
  EXPECT_EQ(problem_of("apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: a}\nspec: "
                       "{mpiReplicaSpecs: {Launcher: {replicas: 2, " +
                       pod + "}}}"),
            "spec.mpiReplicaSpecs.Launcher.replicas: '2' must be a number from 1 to 1");
}

}  // namespace
}  // namespace muster::launcher
