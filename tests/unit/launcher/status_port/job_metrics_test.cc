#include "launcher/status_port/job_metrics.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace muster::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using enum ExpositionFormat;

MetricFacts leader() {
  MetricFacts facts;
  facts.status = R"({"run_id":"bert","round":2,"restarts_used":1,"max_restarts":3,
      "nodes":[{"state":"running","node_rank":0,"workers":2},{"state":"running","node_rank":1,"workers":2},
               {"state":"spare","node_rank":-1,"workers":2}],
      "progress":{"rank":0,"step":120,"total":1000,"epoch":1.5,"rate":2,"eta_s":440,"unmoved_s":0.5,
                  "metrics":{"loss":0.25,"note":"x"}}})";
  facts.job = "bert-7";
  facts.node = "node-0";
  facts.leads = true;
  facts.progress = R"({"step":7})";
  JobTimes times;
  times.causes["lost"] = {2, seconds(9)};
  times.phases.at(static_cast<size_t>(elastic::RestartPhase::kDetect)) = seconds(6);
  times.states = {{"Running", seconds(50)}, {"Gathering", milliseconds(1500)}};
  times.rounds = 3;
  times.rendezvous = seconds(1);
  times.productive_ratio = 0.75;
  facts.times = times;
  facts.worker_count = 70;
  facts.workers = {{0, 100, {milliseconds(2500), 4096, 3}}, {1, 101, {seconds(1), 8192, 1}}};
  facts.lines_dropped = 5;
  facts.started = WallTime(seconds(1795000000));
  return facts;
}

void expect_line(const std::string& text, const std::string& line) {
  EXPECT_NE(("\n" + text).find("\n" + line + "\n"), std::string::npos) << line << " in\n" << text;
}

TEST(JobMetricsTest, ALeaderTellsOfTheJobAndOfItsNode) {
  const std::string text = job_metrics(leader(), kPrometheusText);
  for (const char* line : {"muster_build_info{version=\"" MUSTER_VERSION "\"} 1",
                           R"(muster_job_info{name="bert-7",run_id="bert",node="node-0"} 1)",
                           "muster_start_time_seconds 1795000000",
                           "muster_leader 1",
                           "muster_round 2",
                           R"(muster_nodes{state="running"} 2)",
                           R"(muster_nodes{state="spare"} 1)",
                           "muster_ranks 4",
                           R"(muster_restarts_total{cause="lost"} 2)",
                           R"(muster_restart_seconds_total{cause="lost"} 9)",
                           R"(muster_restart_phase_seconds_total{phase="detect"} 6)",
                           R"(muster_restart_phase_seconds_total{phase="first_progress"} 0)",
                           "muster_restarts_charged 1",
                           "muster_restarts_allowed 3",
                           R"(muster_state_seconds_total{state="Gathering"} 1.5)",
                           R"(muster_state_seconds_total{state="Running"} 50)",
                           "muster_rendezvous_seconds_sum 1",
                           "muster_rendezvous_seconds_count 3",
                           "muster_effective_training_time_ratio 0.75",
                           "muster_workers 70",
                           R"(muster_worker_cpu_seconds_total{rank="0"} 2.5)",
                           R"(muster_worker_resident_bytes{rank="1"} 8192)",
                           R"(muster_worker_processes{rank="0"} 3)",
                           "muster_progress_step 120",
                           "muster_progress_end_step 1000",
                           "muster_progress_epoch 1.5",
                           "muster_progress_steps_per_second 2",
                           "muster_progress_eta_seconds 440",
                           "muster_progress_unmoved_seconds 0.5",
                           R"(muster_progress_metric{name="loss"} 0.25)",
                           "muster_log_lines_dropped_total 5"})
    expect_line(text, line);
  EXPECT_EQ(text.find("note"), std::string::npos);
}

TEST(JobMetricsTest, AnotherNodeTellsOfItself) {
  MetricFacts facts = leader();
  facts.leads = false;
  facts.status = R"({"run_id":"bert","node":"node-0","round":2,"restarts_used":1})";
  const std::string text = job_metrics(facts, kPrometheusText);
  expect_line(text, "muster_leader 0");
  expect_line(text, "muster_round 2");
  expect_line(text, "muster_progress_step 7");
  expect_line(text, "muster_workers 70");
  for (const char* of_the_job :
       {"muster_nodes", "muster_restarts", "muster_state", "muster_effective"})
    EXPECT_EQ(text.find(of_the_job), std::string::npos) << of_the_job;
}

TEST(JobMetricsTest, WhileNothingRunsTheOnlyNodeHasNoRanks) {
  MetricFacts facts = leader();
  facts.status = R"({"state":"Gathering","nodes":[{"state":"idle","node_rank":0,"workers":2}]})";
  expect_line(job_metrics(facts, kPrometheusText), "muster_ranks 0");
  facts.status = R"({"state":"Running","nodes":[{"state":"running","node_rank":0,"workers":2}]})";
  expect_line(job_metrics(facts, kPrometheusText), "muster_ranks 2");
}

TEST(JobMetricsTest, WhatIsNotKnownIsAbsent) {
  MetricFacts facts;
  facts.status = "no JSON";
  facts.leads = true;
  const std::string text = job_metrics(facts, kOpenMetrics);
  EXPECT_EQ(text.find("muster_round"), std::string::npos);
  EXPECT_EQ(text.find("muster_progress"), std::string::npos);
  EXPECT_TRUE(text.ends_with("# EOF\n"));
}

TEST(JobMetricsTest, AUnitEndsTheNameOfItsFamily) {
  std::set<std::string_view> names;
  for (const MetricFamily& family : metric_families()) {
    EXPECT_TRUE(names.insert(family.name).second) << family.name;
    EXPECT_FALSE(family.help.empty() || family.help.ends_with('.')) << family.name;
    if (!family.unit.empty()) {
      EXPECT_TRUE(family.name.ends_with("_" + std::string(family.unit))) << family.name;
    }
    for (const char* suffix : {"_total", "_info", "_count", "_sum", "_bucket"})
      EXPECT_FALSE(family.name.ends_with(suffix)) << family.name;
  }
}

TEST(JobMetricsTest, ThePageHasARowForEachOfThem) {
  const std::ifstream file(MUSTER_TEST_DATA "/../../docs/observability.md");
  std::stringstream page;
  page << file.rdbuf();
  for (const MetricFamily& family : metric_families()) {
    std::string name(family.name);
    if (family.type == MetricType::kCounter) name += "_total";
    if (family.type == MetricType::kInfo) name += "_info";
    EXPECT_NE(page.str().find("| `" + name), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace muster::launcher
