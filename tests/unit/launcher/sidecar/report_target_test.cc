#include "launcher/sidecar/report_target.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

TEST(ReportTargetTest, WordsMayStandInOneTextAndTwice) {
  const auto targets = parse_reports(" trainjob\nwebhook=http://a/x stdout\tannotation stdout");
  ASSERT_TRUE(targets);
  ASSERT_EQ(targets->size(), 4U);
  EXPECT_EQ((*targets)[0].kind, TargetKind::kTrainJob);
  EXPECT_EQ((*targets)[1].url.host, "a");
  EXPECT_EQ(shown((*targets)[1]), "webhook http://a:80/x");
  EXPECT_EQ(shown((*targets)[3]), "annotation");
}

TEST(ReportTargetTest, AnotherUrlHasOtherFiles) {
  const auto targets = parse_reports("webhook=http://a/x webhook=http://a/y");
  ASSERT_TRUE(targets);
  EXPECT_NE(name_of((*targets)[0]), name_of((*targets)[1]));
  EXPECT_EQ(name_of((*targets)[0]), name_of((*parse_reports("webhook=http://a/x"))[0]));
  EXPECT_EQ(name_of((*parse_reports("trainjob"))[0]), "trainjob");
}

TEST(ReportTargetTest, WrongWordsAreNamed) {
  for (const char* wrong : {"", "webhook", "webhook=", "webhook=a", "train", "stdout=1"}) {
    const auto targets = parse_reports(wrong);
    ASSERT_FALSE(targets) << wrong;
    EXPECT_EQ(targets.error().code, Code::kUsage);
  }
  std::string many;
  for (size_t i = 0; i <= kMaxReportTargets; ++i) many += " webhook=http://a/" + std::to_string(i);
  EXPECT_FALSE(parse_reports(many));
}

}  // namespace
}  // namespace muster::launcher
