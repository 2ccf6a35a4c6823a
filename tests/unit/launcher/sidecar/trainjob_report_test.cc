#include "launcher/sidecar/trainjob_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "tests/support/reported_events.h"

namespace muster::launcher {
namespace {

using muster::testing::environment_of;
using muster::testing::event_with;

nlohmann::json status_of(const TrainJobReport& report) {
  const auto request = report.request();
  if (!request) return nullptr;
  return parse_json(request->body)->at("trainerStatus");
}

class TrainJobReportTest : public ::testing::Test {
 protected:
  void begin() { report_.take(event_with("round.start", R"("first_rank":0,"leads":false)")); }
  bool progress(const std::string& fields, int first_rank = 0) {
    return report_.take(
        event_with("progress", R"("first_rank":)" + std::to_string(first_rank) + "," + fields));
  }
  TrainJobReport report_;
};

TEST_F(TrainJobReportTest, TheNodeOfRankZeroSaysHowFarTheJobIs) {
  begin();
  EXPECT_TRUE(progress(
      R"("step":4200,"total":10000,"epoch":1.5,"percent":42.9,"eta_s":794.2,"metrics":{"loss":0.2347})"));
  const auto status = status_of(report_);
  EXPECT_EQ(status.at("progressPercentage").dump(), "42");
  EXPECT_EQ(status.at("estimatedRemainingSeconds").dump(), "795");
  EXPECT_EQ(status.at("lastUpdatedTime"), "2026-08-20T10:00:00Z");
  EXPECT_EQ(status.at("metrics").dump(),
            R"([{"name":"current_epoch","value":"1.5"},{"name":"current_step","value":"4200"},)"
            R"({"name":"loss","value":"0.2347"},{"name":"total_steps","value":"10000"}])");
}

TEST_F(TrainJobReportTest, OtherNodesSayNothing) {
  report_.take(event_with("round.start", R"("first_rank":4,"leads":true)"));
  EXPECT_FALSE(progress(R"("step":1,"percent":1)", 4));
  EXPECT_FALSE(report_.take(event_with("job.end", R"("result":"succeeded")")));
  EXPECT_FALSE(report_.request());
}

TEST_F(TrainJobReportTest, OneNodeSpeaksFromTheBeginning) {
  report_.take(event_with("job.start", R"("leads":true)"));
  EXPECT_TRUE(report_.take(event_with("job.end", R"("result":"succeeded")")));
  EXPECT_EQ(status_of(report_).at("progressPercentage"), 100);
}

TEST_F(TrainJobReportTest, AJournalWithoutItsBeginningSaysItAsWell) {
  EXPECT_TRUE(progress(R"("step":5,"percent":50)"));
  EXPECT_TRUE(report_.take(event_with("job.end", R"("result":"succeeded")")));
  EXPECT_EQ(status_of(report_).at("progressPercentage"), 100);
}

TEST_F(TrainJobReportTest, NorDoesItsEndNeedMore) {
  EXPECT_FALSE(report_.take(event_with("job.end", R"("result":"succeeded","first_rank":4)")));
  EXPECT_TRUE(report_.take(event_with("job.end", R"("result":"succeeded","first_rank":0)")));
  EXPECT_EQ(status_of(report_).at("progressPercentage"), 100);
}

TEST_F(TrainJobReportTest, WhoGetsRankZeroSaysWhatIsKnown) {
  report_.take(event_with("round.start", R"("first_rank":4)"));
  progress(R"("step":1,"percent":1)", 4);
  EXPECT_TRUE(report_.take(event_with("round.start", R"("first_rank":0)")));
  EXPECT_EQ(status_of(report_).at("progressPercentage"), 1);
}

TEST_F(TrainJobReportTest, AHundredIsForTheEndAlone) {
  begin();
  progress(R"("step":10,"total":10,"percent":100,"eta_s":0,"metrics":{"loss":1})");
  EXPECT_EQ(status_of(report_).at("progressPercentage"), 99);
  EXPECT_TRUE(report_.take(event_with("job.end", R"("result":"succeeded")")));
  const auto status = status_of(report_);
  EXPECT_EQ(status.at("progressPercentage"), 100);
  EXPECT_EQ(status.at("estimatedRemainingSeconds"), 0);
  EXPECT_EQ(status.at("metrics").size(), 3U);
}

TEST_F(TrainJobReportTest, AJobThatFailsStaysWhereItWas) {
  begin();
  progress(R"("step":5,"total":10,"percent":50,"eta_s":9)");
  EXPECT_TRUE(report_.take(event_with("job.end", R"("result":"failed")")));
  const auto status = status_of(report_);
  EXPECT_EQ(status.at("progressPercentage"), 50);
  EXPECT_FALSE(status.contains("estimatedRemainingSeconds"));
}

TEST_F(TrainJobReportTest, WhatTheApiDoesNotTakeIsLeftOut) {
  begin();
  std::string metrics = R"("":1,")" + std::string(kMaxTrainJobText + 1, 'x') + R"(":1,"text":"a")";
  for (int i = 0; i < 300; ++i) metrics += ",\"m" + std::to_string(i) + "\":1e300";
  progress(R"("step":1,"eta_s":1e12,"percent":-3,"metrics":{)" + metrics + "}");
  const auto status = status_of(report_);
  EXPECT_EQ(status.at("estimatedRemainingSeconds"), 2147483647);
  EXPECT_EQ(status.at("progressPercentage"), 0);
  EXPECT_EQ(status.at("metrics").size(), kMaxTrainJobMetrics);
  for (const auto& metric : status.at("metrics")) {
    EXPECT_LE(metric.at("name").get<std::string>().size(), kMaxTrainJobText);
    EXPECT_LE(metric.at("value").get<std::string>().size(), kMaxTrainJobText);
  }
}

TEST_F(TrainJobReportTest, ABodyThatIsTooLargeLosesItsMetrics) {
  begin();
  progress(R"("step":1,"percent":1)");
  EXPECT_EQ(report_.judge(413), StateVerdict::kAtOnce);
  EXPECT_FALSE(status_of(report_).contains("metrics"));
  EXPECT_EQ(report_.judge(413), StateVerdict::kDropped);
}

TEST_F(TrainJobReportTest, AnswersAreJudgedAsTheApiMeansThem) {
  EXPECT_EQ(report_.judge(200), StateVerdict::kTaken);
  EXPECT_EQ(report_.judge(403), StateVerdict::kAnew);
  EXPECT_EQ(report_.judge(422), StateVerdict::kDropped);
  EXPECT_EQ(report_.judge(500), StateVerdict::kAgain);
  EXPECT_EQ(report_.judge(302), StateVerdict::kAgain);
  EXPECT_EQ(report_.judge(404), StateVerdict::kAgain);
  EXPECT_EQ(report_.judge(404), StateVerdict::kAgain);
  EXPECT_EQ(report_.judge(200), StateVerdict::kTaken);
  EXPECT_EQ(report_.judge(404), StateVerdict::kAgain);
  EXPECT_EQ(report_.judge(404), StateVerdict::kAgain);
  EXPECT_EQ(report_.judge(404), StateVerdict::kStop);
}

TEST(TrainJobPlaceTest, IsWhatThePodWasTold) {
  const auto place = find_trainjob(environment_of(
      {"KUBEFLOW_TRAINER_SERVER_URL=https://trainer.svc:10443/apis/x/status",
       "KUBEFLOW_TRAINER_SERVER_CA_CERT=/ca.crt", "KUBEFLOW_TRAINER_SERVER_TOKEN=/token"}));
  ASSERT_TRUE(place);
  EXPECT_EQ(place->url.path, "/apis/x/status");
  EXPECT_EQ(place->credentials.token_file, "/token");
  EXPECT_EQ(place->credentials.authorities_file, "/ca.crt");
  EXPECT_EQ(find_trainjob(environment_of({})).error().code, Code::kConfig);
}

}  // namespace
}  // namespace muster::launcher
