#include "launcher/render/names.h"

#include <gtest/gtest.h>

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

TEST(Names, ANameIsALabelOfTheDns) {
  for (const char* const name : {"", "1a", "a-", "-a", "A", "a_b", "a.b", "a\n"}) {
    JobForm form = form_of_workers(1);
    form.name = name;
    EXPECT_FALSE(check_name(form, JobKind::kJob)) << name;
  }
}

}  // namespace
}  // namespace muster::launcher
