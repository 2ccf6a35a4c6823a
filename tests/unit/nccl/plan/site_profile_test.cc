#include "nccl/plan/site_profile.h"

#include <gtest/gtest.h>

#include "tests/support/fake_files.h"

namespace muster::nccl {
namespace {

std::string error_of(const std::string& text) {
  const auto profile = parse_profile("site.conf", text);
  return profile ? "" : profile.error().text;
}

TEST(SiteProfile, ACommentIsTheReasonOfTheLineBelow) {
  const auto profile = parse_profile(
      "site.conf", "# class 5 is lossless\n NCCL_IB_TC = 160 \n# apart\n\nUCX_IB_SL=1\n");
  ASSERT_TRUE(profile);
  ASSERT_EQ(profile->lines.size(), 2U);
  EXPECT_EQ(profile->lines[0].name, "NCCL_IB_TC");
  EXPECT_EQ(profile->lines[0].value, "160");
  EXPECT_EQ(profile->lines[0].reason, "class 5 is lossless");
  EXPECT_EQ(profile->lines[1].reason, "");
}

TEST(SiteProfile, ErrorsNameTheLine) {
  EXPECT_EQ(error_of("NCCL_A=1\nNCCL_A=2\n"), "site.conf:2: NCCL_A stands here a second time");
  EXPECT_NE(error_of("\nPATH=/x\n").find("site.conf:2: 'PATH' is no variable"), std::string::npos);
  EXPECT_NE(error_of("nothing\n").find("NAME=VALUE"), std::string::npos);
  EXPECT_NE(error_of("NCCL_A B=1\n").find("'NCCL_A B'"), std::string::npos);
  EXPECT_NE(error_of(std::string(2 * kMaxProfileLines, '\n')).find("more than"), std::string::npos);
}

TEST(SiteProfile, TheUsualFileNeedNotBeThereANamedOneMust) {
  muster::testing::FakeFiles files;
  const auto none = read_profile(files, "");
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->lines.empty());
  const auto named = read_profile(files, "/site.conf");
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().code, Code::kConfig);
  files.add_file(std::string(kProfilePath), "NCCL_IB_TC=1\n");
  EXPECT_EQ(read_profile(files, "")->lines.size(), 1U);
}

}  // namespace
}  // namespace muster::nccl
