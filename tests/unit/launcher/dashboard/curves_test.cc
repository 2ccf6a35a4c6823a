#include "launcher/dashboard/curves.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace muster::launcher {
namespace {

StoredProgress point(int64_t time_ms, int rank, double step, std::string_view metrics = "{}") {
  return {"node", time_ms,
          fmt::format(R"({{"rank":{},"step":{},"metrics":{}}})", rank, step, metrics)};
}

using Points = std::vector<std::pair<int64_t, double>>;

TEST(Curves, StepsAndMetricsAreCurvesOfTheirOwn) {
  const std::vector<StoredProgress> points = {point(1000, 0, 1, R"({"loss":2,"lr":0.1})"),
                                              point(2000, 0, 5, R"({"loss":1,"note":"text"})")};
  const auto curves = curves_of(points);
  ASSERT_EQ(curves.size(), 3U);
  EXPECT_EQ(curves[0].name, "step");
  EXPECT_EQ(curves[0].points, (Points{{1000, 1}, {2000, 5}}));
  EXPECT_EQ(curves[1].name, "loss");
  EXPECT_EQ(curves[1].points, (Points{{1000, 2}, {2000, 1}}));
  EXPECT_EQ(curves[2].points, (Points{{1000, 0.1}}));
}

TEST(Curves, TheLowestRankSpeaksUntilItIsSilent) {
  const std::vector<StoredProgress> points = {point(1000, 4, 1), point(2000, 0, 2),
                                              point(3000, 4, 3),
                                              point(2000 + kSpeakerSilenceMs, 4, 9)};
  EXPECT_EQ(curves_of(points)[0].points,
            (Points{{1000, 1}, {2000, 2}, {2000 + kSpeakerSilenceMs, 9}}));
  EXPECT_EQ(speaker_of(points), 2U);
  EXPECT_EQ(speaker_of(std::span(points).first(3)), 1U);
  EXPECT_EQ(speaker_of({}), std::nullopt);
}

TEST(Curves, LongNamesAreCut) {
  const std::string name(200, 'm');
  const auto curves = curves_of(std::vector{point(1, 0, 1, "{\"" + name + "\":1}")});
  EXPECT_EQ(curves[1].name, name.substr(0, kMaxMetricNameBytes));
}

TEST(Curves, WhatIsNoPointIsPassedOver) {
  EXPECT_TRUE(curves_of(std::vector<StoredProgress>{
                            {"n", 1, "["}, {"n", 2, "[]"}, {"n", 3, R"({"step":"x"})"}})
                  .empty());
}

TEST(Curves, OfManyPointsSpikesAndBothEndsStay) {
  Points many;
  for (int64_t i = 0; i < 10000; ++i)
    many.emplace_back(i * 1000, i == 5555 ? 1e6 : static_cast<double>(i % 10));
  const Points few = thinned(many);
  EXPECT_LE(few.size(), kMaxCurvePoints);
  EXPECT_GT(few.size(), kMaxCurvePoints / 2);
  EXPECT_EQ(few.front(), many.front());
  EXPECT_EQ(few.back(), many.back());
  EXPECT_EQ(std::ranges::count(few, many[5555]), 1);
  EXPECT_TRUE(std::ranges::is_sorted(few, {}, &std::pair<int64_t, double>::first));
}

TEST(Curves, PointsOfOneTimeAreThinnedAsWell) {
  EXPECT_LE(thinned(Points(5000, {7, 1.0})).size(), kMaxCurvePoints);
}

TEST(Curves, TooManyMetricsAreCutOff) {
  std::string metrics = "{";
  for (int i = 0; i < 40; ++i) metrics += fmt::format("{}\"m{}\":1", i == 0 ? "" : ",", i);
  EXPECT_EQ(curves_of(std::vector{point(1, 0, 1, metrics + "}")}).size(), kMaxCurves);
}

}  // namespace
}  // namespace muster::launcher
