#include "launcher/progress/progress.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace muster::launcher {
namespace {

using std::chrono::seconds;

class ProgressTest : public ::testing::Test {
 protected:
  ProgressTest() { progress_.begin_attempt(now_); }
  void say(int rank, int64_t step, std::optional<int64_t> total = {}) {
    ProgressReport report;
    report.step = step;
    report.total = total;
    progress_.take(now_, rank, report);
  }
  void bar(const std::string& name, int64_t step, int64_t total) {
    ProgressReport report{.source = ProgressSource::kBar, .bar = name};
    report.step = step;
    report.total = total;
    progress_.take(now_, 0, report);
  }
  [[nodiscard]] ProgressView view() const { return *progress_.view(now_); }

  TimePoint now_{std::chrono::hours(1)};
  Progress progress_;
};

TEST_F(ProgressTest, NobodyHasSaidAnythingAtFirst) {
  EXPECT_FALSE(progress_.view(now_));
  EXPECT_EQ(progress_.furthest(), -1);
}

TEST_F(ProgressTest, TheLowestRankThatReportsSpeaks) {
  say(3, 7);
  EXPECT_EQ(view().rank, 3);
  say(1, 5);
  say(3, 8);
  EXPECT_EQ(view().rank, 1);
  EXPECT_EQ(view().step, 5);
  EXPECT_EQ(progress_.furthest(), 5);
}

TEST_F(ProgressTest, RatePercentAndTimeLeftFollowFromSteps) {
  say(0, 0, 1000);
  EXPECT_FALSE(view().rate);
  EXPECT_EQ(view().percent, 0);
  for (int64_t step = 1; step <= 100; ++step) {
    now_ += std::chrono::milliseconds(500);
    say(0, step, 1000);
  }
  EXPECT_DOUBLE_EQ(*view().rate, 2);
  EXPECT_DOUBLE_EQ(*view().percent, 10);
  EXPECT_DOUBLE_EQ(*view().eta_s, 450);
}

TEST_F(ProgressTest, TheRateIsThatOfTheLastMinute) {
  for (int64_t step = 0; step < 300; ++step) {
    now_ += seconds(1);
    say(0, step, 100'000);
  }
  for (int64_t step = 300; step < 300 + 900; step += 10) {
    now_ += seconds(1);
    say(0, step, 100'000);
  }
  EXPECT_NEAR(*view().rate, 10, 0.2);
}

TEST_F(ProgressTest, TellsHowLongNothingHasMoved) {
  now_ += seconds(5);
  ProgressReport words;
  words.add_metric("loss", 0.5);
  progress_.take(now_, 0, words);
  EXPECT_EQ(view().unmoved, seconds(5));  // since the attempt began
  say(0, 1);
  now_ += seconds(7);
  say(0, 1);  // the same again
  EXPECT_EQ(view().unmoved, seconds(7));
}

TEST_F(ProgressTest, BeyondTheTotalNothingIsLeft) {
  say(0, 1, 10);
  now_ += seconds(1);
  say(0, 12, 10);
  EXPECT_EQ(view().percent, 100);
  EXPECT_EQ(view().eta_s, 0);
}

TEST_F(ProgressTest, ABarOfNobodyKnowsWhatIsShownAndDecidesNothing) {
  for (int epoch = 0; epoch < 3; ++epoch)
    for (int64_t step = 0; step <= 10; ++step) bar("train", step, 10);
  EXPECT_EQ(view().step, 10);
  EXPECT_EQ(progress_.furthest(), -1);
}

TEST_F(ProgressTest, StepsThatFallAddNothing) {
  for (int i = 0; i < 3; ++i) {
    say(0, 99);
    say(0, 5);
  }
  EXPECT_EQ(progress_.furthest(), 99);
  EXPECT_EQ(view().step, 5);
}

TEST_F(ProgressTest, ABarWithAPlaceInTheTrainingBeatsLongerOnes) {
  ProgressReport epoch{.source = ProgressSource::kBar, .bar = "epoch", .is_placed = true};
  epoch.step = 7;
  bar("batches/1000", 5, 1000);
  progress_.take(now_, 0, epoch);
  bar("batches/1000", 6, 1000);
  EXPECT_EQ(view().step, 7);
  EXPECT_EQ(progress_.furthest(), 7);
}

TEST_F(ProgressTest, WhatNoLongerMovesGivesWay) {
  bar("eval/1000", 999, 1000);
  bar("train/100", 6, 100);
  EXPECT_EQ(view().total, 1000);
  now_ += kProgressStale + seconds(1);
  bar("train/100", 7, 100);
  EXPECT_EQ(view().total, 100);
}

TEST_F(ProgressTest, AShorterBarBesideTheTrainingIsNotTheTraining) {
  bar("train/500", 5, 500);
  bar("eval/3", 1, 3);
  EXPECT_EQ(view().total, 500);
  EXPECT_EQ(view().step, 5);
}

TEST_F(ProgressTest, ABarThatIsFullMakesRoom) {
  bar("load/8", 8, 8);
  bar("train/5", 1, 5);
  EXPECT_EQ(view().total, 5);
}

TEST_F(ProgressTest, TheWorkersOwnWordSilencesItsBars) {
  bar("train/5", 4, 5);
  say(0, 40, 100);
  bar("train/5", 5, 5);
  EXPECT_EQ(view().step, 40);
  ProgressReport line{.source = ProgressSource::kLine, .bar = ""};
  line.step = 99;
  line.add_metric("loss", 0.25);
  progress_.take(now_, 0, line);
  EXPECT_EQ(view().step, 40);
  EXPECT_EQ(view().metrics.at("loss"), 0.25);
}

TEST_F(ProgressTest, AnotherAttemptBeginsAnew) {
  say(0, 7);
  progress_.begin_attempt(now_);
  EXPECT_FALSE(progress_.view(now_));
  say(0, 3);
  EXPECT_EQ(progress_.furthest(), 3);
}

TEST_F(ProgressTest, WhatIsNotKnownIsAbsentInJson) {
  say(2, 7);
  now_ += std::chrono::milliseconds(1500);
  EXPECT_EQ(*parse_json(progress_json(view())),
            *parse_json(R"({"rank":2,"step":7,"metrics":{},"unmoved_s":1.5})"));
}

}  // namespace
}  // namespace muster::launcher
