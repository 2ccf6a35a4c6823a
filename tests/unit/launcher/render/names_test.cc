#include "launcher/render/names.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

}  // namespace
}  // namespace muster::launcher
