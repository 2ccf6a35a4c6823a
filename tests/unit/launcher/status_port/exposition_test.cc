#include "launcher/status_port/exposition.h"

#include <gtest/gtest.h>

#include <limits>

namespace muster::launcher {
namespace {

using enum ExpositionFormat;

constexpr MetricFamily kRestarts{"muster_restarts", MetricType::kCounter, "", "Rounds that ended"};
constexpr MetricFamily kTime{"muster_wait_seconds", MetricType::kCounter, "seconds", "A time"};
constexpr MetricFamily kBuild{"muster_build", MetricType::kInfo, "", "Version"};
constexpr MetricFamily kGauge{"muster_x", MetricType::kGauge, "", "X"};

std::string one_of_each(ExpositionFormat format) {
  Exposition text(format);
  text.begin(kBuild);
  text.add(1, {{"version", "1.0"}});
  text.begin(kRestarts);
  text.add(2, {{"cause", "lost"}});
  text.add(3, {{"cause", "asked"}});
  text.begin(kTime);
  text.add(1.5);
  text.begin({"muster_r_seconds", MetricType::kSummary, "seconds", "Rounds"});
  text.add_summary(0.25, 4);
  return std::move(text).end();
}

TEST(ExpositionTest, TheOlderFormCallsFamiliesAsTheirSamples) {
  EXPECT_EQ(one_of_each(kPrometheusText),
            "# HELP muster_build_info Version\n"
            "# TYPE muster_build_info gauge\n"
            "muster_build_info{version=\"1.0\"} 1\n"
            "# HELP muster_restarts_total Rounds that ended\n"
            "# TYPE muster_restarts_total counter\n"
            "muster_restarts_total{cause=\"lost\"} 2\n"
            "muster_restarts_total{cause=\"asked\"} 3\n"
            "# HELP muster_wait_seconds_total A time\n"
            "# TYPE muster_wait_seconds_total counter\n"
            "muster_wait_seconds_total 1.5\n"
            "# HELP muster_r_seconds Rounds\n"
            "# TYPE muster_r_seconds summary\n"
            "muster_r_seconds_sum 0.25\n"
            "muster_r_seconds_count 4\n");
}

TEST(ExpositionTest, OpenMetricsHasUnitsAndAnEnd) {
  EXPECT_EQ(one_of_each(kOpenMetrics),
            "# HELP muster_build Version\n"
            "# TYPE muster_build info\n"
            "muster_build_info{version=\"1.0\"} 1\n"
            "# HELP muster_restarts Rounds that ended\n"
            "# TYPE muster_restarts counter\n"
            "muster_restarts_total{cause=\"lost\"} 2\n"
            "muster_restarts_total{cause=\"asked\"} 3\n"
            "# HELP muster_wait_seconds A time\n"
            "# TYPE muster_wait_seconds counter\n"
            "# UNIT muster_wait_seconds seconds\n"
            "muster_wait_seconds_total 1.5\n"
            "# HELP muster_r_seconds Rounds\n"
            "# TYPE muster_r_seconds summary\n"
            "# UNIT muster_r_seconds seconds\n"
            "muster_r_seconds_sum 0.25\n"
            "muster_r_seconds_count 4\n"
            "# EOF\n");
}

TEST(ExpositionTest, WhatWorkersSayCannotEndALineOrALabel) {
  Exposition text(kPrometheusText);
  text.begin(kGauge);
  text.add(1, {{"name", "a\"} 7\nb\\c\xff"}});
  const std::string written = std::move(text).end();
  EXPECT_NE(written.find("{name=\"a\\\"} 7"), std::string::npos) << written;
  EXPECT_NE(written.find("b\\\\c"), std::string::npos) << written;
  EXPECT_EQ(std::count(written.begin(), written.end(), '\n'), 3) << written;
  EXPECT_EQ(written.find('\xff'), std::string::npos) << written;
}

TEST(ExpositionTest, NumbersAreExactAndSomeHaveNames) {
  const auto value = [](double number) {
    Exposition text(kPrometheusText);
    text.begin(kGauge);
    text.add(number);
    const std::string written = std::move(text).end();
    const size_t line = written.rfind("muster_x ") + 9;
    return written.substr(line, written.size() - line - 1);
  };
  EXPECT_EQ(value(0.1), "0.1");
  EXPECT_EQ(value(5), "5");
  EXPECT_EQ(value(1795000000.25), "1795000000.25");
  EXPECT_EQ(value(std::numeric_limits<double>::infinity()), "+Inf");
  EXPECT_EQ(value(-std::numeric_limits<double>::infinity()), "-Inf");
  EXPECT_EQ(value(std::numeric_limits<double>::quiet_NaN()), "NaN");
}

TEST(ExpositionTest, AFamilyWithoutSamplesIsNotWritten) {
  Exposition text(kPrometheusText);
  text.begin(kGauge);
  text.begin(kRestarts);
  EXPECT_EQ(std::move(text).end(), "");
}

TEST(ExpositionTest, TheFormIsThatWhichTheClientPrefers) {
  // As Prometheus 2.42 asks.
  EXPECT_EQ(format_for("application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
                       "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"),
            kOpenMetrics);
  EXPECT_EQ(format_for("Application/OpenMetrics-Text; q=0.5, text/plain; q=0.5"), kOpenMetrics);
  for (const char* other :
       {"", "*/*", "text/html, text/plain;version=0.0.4", "application/openmetrics-text;q=0",
        "text/plain, application/openmetrics-text;q=0.9", "application/openmetrics-text;q=x", ",;"})
    EXPECT_EQ(format_for(other), kPrometheusText) << other;
}

}  // namespace
}  // namespace muster::launcher
