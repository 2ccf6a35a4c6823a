#include "launcher/progress/trainer_door.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

TEST(TrainerStatusTest, WhatTheCallbackOfHuggingFacePostsIsProgress) {
  const auto report = parse_trainer_status(
      R"({"trainerStatus":{"progressPercentage":42,"estimatedRemainingSeconds":795,"metrics":[)"
      R"({"name":"loss","value":"0.25"},{"name":"current_step","value":"120"},)"
      R"({"name":"total_steps","value":"1000"},{"name":"current_epoch","value":"1.5"},)"
      R"({"name":"phase","value":"warm"}],"lastUpdatedTime":"2026-08-20T10:00:00.000001+00:00"}})");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->source, ProgressSource::kWorker);
  EXPECT_EQ(report->step, 120);
  EXPECT_EQ(report->total, 1000);
  EXPECT_EQ(report->epoch, 1.5);
  EXPECT_EQ(report->metrics, (std::map<std::string, double>{{"loss", 0.25}}));
}

TEST(TrainerStatusTest, NothingInItIsNothingSaid) {
  for (const char* empty :
       {"{}", R"({"trainerStatus":null})", R"({"trainerStatus":{}})",
        R"({"trainerStatus":{"metrics":[1,{"name":"x"},{"name":"current_step","value":"-1"},)"
        R"({"name":"total_steps","value":"0"},{"name":"y","value":"nan"}]}})"}) {
    const auto report = parse_trainer_status(empty);
    ASSERT_TRUE(report) << empty;
    EXPECT_FALSE(report->says_anything()) << empty;
  }
}

TEST(TrainerStatusTest, WhatIsNoneIsRefused) {
  for (const char* wrong : {"", "[]", "x", R"({"trainerStatus":7})"})
    EXPECT_FALSE(parse_trainer_status(wrong)) << wrong;
  EXPECT_FALSE(parse_trainer_status(std::string(kMaxTrainerBodyBytes + 1, ' ')));
}

}  // namespace
}  // namespace muster::launcher
