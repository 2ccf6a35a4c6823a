#include "launcher/progress/progress_pattern.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "launcher/progress/progress_lines.h"

namespace muster::launcher {
namespace {

constexpr std::string_view kPattern =
    R"(update (?P<step>[\d, ]+)(?: of (?P<total>[\d,]+))?(?: epoch (?P<epoch>\S+))?$)";

ProgressPattern pattern_of(std::string_view text) {
  auto pattern = ProgressPattern::parse(text);
  EXPECT_TRUE(pattern) << text << ": " << (pattern ? "" : pattern.error().text);
  return *std::move(pattern);
}

std::optional<int64_t> step_of(const std::optional<ProgressReport>& report) {
  return report ? report->step : std::nullopt;
}

std::string complaint_of(std::string_view text) {
  const auto pattern = ProgressPattern::parse(text);
  EXPECT_FALSE(pattern) << text;
  if (pattern) return "";
  EXPECT_EQ(pattern.error().code, Code::kUsage) << text;
  return pattern.error().text;
}

TEST(ProgressPattern, TellsItsGroups) {
  const auto report = pattern_of(kPattern).read("07:12 update 120 of 1000 epoch 2.5");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->source, ProgressSource::kPattern);
  EXPECT_EQ(report->step, 120);
  EXPECT_EQ(report->total, 1000);
  EXPECT_EQ(report->epoch, 2.5);
}

TEST(ProgressPattern, TotalAndEpochMayBeMissing) {
  for (const std::string_view text : {kPattern, std::string_view(R"(update (?P<step>\d+))")}) {
    const auto report = pattern_of(text).read("update 7");
    ASSERT_TRUE(report) << text;
    EXPECT_EQ(report->step, 7);
    EXPECT_FALSE(report->total);
    EXPECT_FALSE(report->epoch);
  }
}

TEST(ProgressPattern, AnotherLineSaysNothing) {
  const ProgressPattern pattern = pattern_of(kPattern);
  for (const std::string_view line : {"", "updated 7", "update", "update 7 of", "UPDATE 7"})
    EXPECT_FALSE(pattern.read(line)) << line;
  EXPECT_FALSE(pattern_of("(?P<step>\\d*)").read(""));
}

TEST(ProgressPattern, AStepIsAWholeNumber) {
  const ProgressPattern pattern = pattern_of("step (?P<step>.*)");
  EXPECT_EQ(step_of(pattern.read("step   12 ")), 12);
  EXPECT_EQ(step_of(pattern.read("step 9007199254740992")), kMaxStep);
  for (const std::string_view line : {"step 1,200", "step 1.5", "step -1", "step 12k", "step ",
                                      "step 9007199254740993", "step 99999999999999999999"})
    EXPECT_FALSE(pattern.read(line)) << line;
}

TEST(ProgressPattern, WhatElseIsNoNumberIsLeftOut) {
  const ProgressPattern pattern = pattern_of(kPattern);
  for (const std::string_view line :
       {"update 7 of 1,000", "update 7 of 0", "update 7 epoch nan", "update 7 epoch last"}) {
    const auto report = pattern.read(line);
    ASSERT_TRUE(report) << line;
    EXPECT_EQ(report->step, 7);
    EXPECT_FALSE(report->total) << line;
    EXPECT_FALSE(report->epoch) << line;
  }
}

TEST(ProgressPattern, AlternativesMayEachHaveAStep) {
  const ProgressPattern pattern = pattern_of(R"(a (?P<step>\d+)|b (?P<step>\d+) (?P<total>\d+))");
  EXPECT_EQ(step_of(pattern.read("a 3")), 3);
  const auto second = pattern.read("b 4 9");
  ASSERT_TRUE(second);
  EXPECT_EQ(second->step, 4);
  EXPECT_EQ(second->total, 9);
}

TEST(ProgressPattern, BytesThatAreNoTextMatchNoCharacter) {
  const ProgressPattern pattern = pattern_of("Schritt — (?P<step>\\d+)");
  EXPECT_EQ(step_of(pattern.read("Schritt — 5")), 5);
  EXPECT_EQ(step_of(pattern.read("\xff\xfe Schritt — 5 \xe2\x80")), 5);
  EXPECT_FALSE(pattern_of("^.*step (?P<step>\\d+)").read("\xff step 5"));
  EXPECT_EQ(step_of(pattern_of("a.(?P<step>\\d+)")
                        .read(std::string_view("a\0"
                                               "5",
                                               3))),
            5);
}

TEST(ProgressPattern, WhatIsWrongIsSaidWithItsPlace) {
  EXPECT_EQ(complaint_of("(?P<step>\\d+"), "missing )");
  EXPECT_EQ(complaint_of("a[z-a](?P<step>\\d+)"), "invalid character class range: z-a, at byte 3");
  EXPECT_EQ(complaint_of("a (?<step>\\d+)"),
            "invalid perl operator: (?<, at byte 3; named groups are written (?P<name>...)");
  EXPECT_EQ(complaint_of("(?<!a)(?P<step>\\d+)"), "invalid perl operator: (?<, at byte 1");
  EXPECT_EQ(complaint_of("(?P<step>\\d+) \\1"), "invalid escape sequence: \\1, at byte 15");
  EXPECT_EQ(complaint_of("\xff(?P<step>\\d+)"), "invalid UTF-8");
}

TEST(ProgressPattern, GroupsAreThoseThatAreKnown) {
  constexpr std::string_view kNone = "no group 'step'; named groups are written (?P<name>...)";
  EXPECT_EQ(complaint_of(""), kNone);
  EXPECT_EQ(complaint_of("step (\\d+)"), kNone);
  EXPECT_EQ(complaint_of("(?P<total>\\d+)"), kNone);
  EXPECT_EQ(complaint_of("(?P<step>\\d+) (?P<loss>.*)"),
            "group 'loss' is none of step, total, epoch");
}

TEST(ProgressPattern, OneThatWouldBeSlowIsRefused) {
  EXPECT_EQ(complaint_of("(?P<step>\\d{500})"), "pattern too large");
  EXPECT_EQ(complaint_of("(?P<step>\\d+)\\pL{1000}"), "pattern too large - compile failed");
  std::string groups = "(?P<step>\\d+)";
  for (int i = 1; i < 16; ++i) groups += "()";
  pattern_of(groups);
  EXPECT_EQ(complaint_of(groups + "()"), "more than 16 groups; (?:...) is none");
}

// With a matcher that goes back, the first would not end while anybody waits.
TEST(ProgressPattern, NoPatternHangs) {
  const std::string line(kMaxProgressLineBytes, 'x');
  EXPECT_FALSE(pattern_of("^(x+x+)+(?P<step>\\d+)$").read(line));
  EXPECT_FALSE(pattern_of("^(.*x)*(.*x)*(?P<step>\\d+)$").read(line));
  EXPECT_EQ(step_of(pattern_of("x*(x?){100}(?P<step>\\d+)").read(line + "3")), 3);
}

class OwnLines : public ::testing::Test {
 protected:
  ProgressLines lines_{pattern_of("(?P<step>\\d+) done$")};
};

TEST_F(OwnLines, ComeBeforeTheFormsThatAreKnown) {
  EXPECT_EQ(step_of(lines_.read("{\"step\":5} 6 done\n")), 6);
  const auto known = lines_.read(" 50%|#####     | 5/10 [00:01<00:01, 1.00it/s]\r");
  ASSERT_TRUE(known);
  EXPECT_EQ(known->source, ProgressSource::kBar);
  EXPECT_EQ(step_of(lines_.read("{\"step\":5, \"loss\":1, \"of\":\"1,0 done\"}")), 5);
}

TEST_F(OwnLines, AreSeenWithoutEndAndColours) {
  EXPECT_EQ(step_of(lines_.read("7 done\r\n")), 7);
  EXPECT_EQ(step_of(lines_.read("\x1b[1;32m8\x1b[0m done\x1b[0m\n")), 8);
}

TEST_F(OwnLines, AreSeenWholeOrNotAtAll) {
  const std::string end = "12 done";
  const std::string fits = std::string(kMaxProgressLineBytes - end.size(), ' ') + end;
  EXPECT_EQ(step_of(lines_.read(fits + "\n")), 12);
  EXPECT_FALSE(lines_.read(" " + fits));
  EXPECT_FALSE(lines_.read(fits + std::string(1 << 20, 'x')));
}

// As slow as a pattern may be, a flood of long lines does not keep the agent from its other duties.
TEST_F(OwnLines, CountByTheirLength) {
  const auto nothing = [](const ProgressReport&) {};
  EXPECT_EQ(lines_.read_all("a\nb\n", 10, nothing), 2U);
  EXPECT_EQ(lines_.read_all(std::string(32, 'x') + "\n", 10, nothing), 2U);
  const std::string longest = std::string(kMaxProgressLineBytes, 'x') + "\n";
  EXPECT_EQ(lines_.read_all(longest + longest, 10, nothing), 129U);
  EXPECT_EQ(ProgressLines().read_all(longest + longest, 10, nothing), 2U);
}

}  // namespace
}  // namespace muster::launcher
