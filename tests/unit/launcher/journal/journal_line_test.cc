#include "launcher/journal/journal_line.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace muster::launcher {
namespace {

const JournalPlace kPlace{"bert", "run-7", "node-1"};
const JournalStamp kStamp{42, "abc-42", WallTime(std::chrono::seconds(1'700'000'000)),
                          TimePoint(std::chrono::milliseconds(1234))};

std::string line_of(const std::vector<log::Field>& fields) {
  return journal_line(kPlace, kStamp, {log::Level::kWarning, "a.b", fields});
}

TEST(JournalLine, BeginsWithWhenWhereAndOfWhatJob) {
  EXPECT_EQ(line_of({{"rank", 3}, {"alive_s", 1.5}}),
            R"({"id":"abc-42","seq":42,"time":"2023-11-14T22:13:20.000Z","monotonic_ms":1234,)"
            R"("level":"warning","event":"a.b","job":"bert","run_id":"run-7","node":"node-1",)"
            "\"rank\":3,\"alive_s\":1.5}\n");
}

TEST(JournalLine, RanksAndTheirLikeAreNumbersOrAbsent) {
  const auto line = *parse_json(line_of({{"rank", "none"}, {"code", 7}, {"round", "x"}}));
  EXPECT_FALSE(line.contains("rank"));
  EXPECT_FALSE(line.contains("round"));
  EXPECT_EQ(line.at("code"), 7);
}

TEST(JournalLine, WhatIsEmptyIsLeftOut) {
  const auto line = *parse_json(line_of({{"notes", ""}, {"lines", std::vector<std::string>{}}}));
  EXPECT_FALSE(line.contains("notes"));
  EXPECT_FALSE(line.contains("lines"));
}

TEST(JournalLine, AnEventsFieldDoesNotReplaceOneOfTheHead) {
  const auto line = *parse_json(line_of({{"node", "node-2"}, {"run_id", "run-7"}, {"time", "x"}}));
  EXPECT_EQ(line.at("node"), "node-1");
  EXPECT_EQ(line.at("event_node"), "node-2");
  EXPECT_EQ(line.at("event_time"), "x");
  EXPECT_FALSE(line.contains("event_run_id"));
}

TEST(JournalLine, StaysOneLineWhateverTheWords) {
  const std::vector<std::string> lines{"a\nb\x1b[2J", "\xff\""};
  const std::string line = line_of({{"says", "x\ny\"z"}, {"last_lines", lines}});
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_TRUE(parse_json(line));
}

TEST(JournalLine, OneThatIsTooLongHasItsHeadOnly) {
  const std::string line = line_of({{"says", std::string(kMaxJournalLineBytes, 'x')}});
  EXPECT_EQ(parse_json(line)->at("cut"), true);
  EXPECT_FALSE(parse_json(line)->contains("says"));
}

TEST(JournalLine, KnowsTheNumberOfALineAndThatOthersHaveNone) {
  EXPECT_EQ(seq_of_line(line_of({})), 42U);
  for (const char* other : {"", "{}", "[1]", R"({"seq":1})", R"({"seq":-1,"event":"a"})",
                            R"({"seq":"1","event":"a"})", R"({"seq":1,"event":"a")"})
    EXPECT_EQ(seq_of_line(other), std::nullopt) << other;
}

}  // namespace
}  // namespace muster::launcher
