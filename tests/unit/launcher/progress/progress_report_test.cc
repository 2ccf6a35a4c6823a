#include "launcher/progress/progress_report.h"

#include <gtest/gtest.h>

#include <cmath>

namespace muster::launcher {
namespace {

TEST(ProgressMessage, SaysStepTotalEpochAndMetrics) {
  const auto report = parse_progress_message(
      R"({"step":120,"total":1000,"epoch":3.5,"metrics":{"loss":0.31,"note":"x"},"more":[]})");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->source, ProgressSource::kWorker);
  EXPECT_EQ(report->step, 120);
  EXPECT_EQ(report->total, 1000);
  EXPECT_EQ(report->epoch, 3.5);
  EXPECT_EQ(report->metrics, (std::map<std::string, double>{{"loss", 0.31}}));
}

TEST(ProgressMessage, MayLeaveOutAnythingButNotAll) {
  EXPECT_EQ(parse_progress_message(R"({"step":0})")->step, 0);
  EXPECT_EQ(parse_progress_message(R"({"step":7.0,"total":null})")->step, 7);
  EXPECT_FALSE(parse_progress_message(R"({"metrics":{"loss":0.5}})")->step);
  EXPECT_FALSE(parse_progress_message(R"({"note":1})"));
}

TEST(ProgressMessage, WhatIsNoMessageIsAnError) {
  for (const char* text : {"", "x", "[1]", "3", R"({"step":"1"})", R"({"step":-1})",
                           R"({"total":0})", R"({"step":1e17})", R"({"epoch":"x"})",
                           R"({"step":1,"metrics":[1]})", R"({"step":1)", R"({"step":NaN})"})
    EXPECT_FALSE(parse_progress_message(text)) << text;
  EXPECT_FALSE(parse_progress_message(std::string(kMaxProgressMessageBytes + 1, ' ')));
}

TEST(ProgressReport, KeepsSoManyMetricsThatAreNumbers) {
  ProgressReport report;
  report.add_metric("", 1);
  report.add_metric(std::string(kMaxMetricNameBytes + 1, 'x'), 1);
  report.add_metric("loss", std::nan(""));
  report.add_metric("loss", INFINITY);
  EXPECT_FALSE(report.says_anything());
  for (size_t i = 0; i < 2 * kMaxMetrics; ++i) report.add_metric(std::to_string(i), 1);
  EXPECT_EQ(report.metrics.size(), kMaxMetrics);
}

}  // namespace
}  // namespace muster::launcher
