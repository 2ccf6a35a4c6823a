#include "base/log.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace muster::log {
namespace {

class LogTest : public ::testing::Test {
 protected:
  LogTest() {
    set_sink([this](std::string_view line) { lines_.emplace_back(line); });
  }
  ~LogTest() override {
    set_sink({});
    set_level(Level::kInfo);
    set_format(Format::kText);
    set_place({});
  }
  std::vector<std::string> lines_;
};

TEST_F(LogTest, ALineIsTimeLevelEventAndFields) {
  info("worker.exit", {{"rank", 3}, {"reason", "out of memory"}, {"alive_s", 1.5}});
  ASSERT_EQ(lines_.size(), 1U);
  // 2026-01-31T12:34:56.789Z is 24 characters.
  EXPECT_EQ(lines_[0].substr(24), " I worker.exit rank=3 reason=\"out of memory\" alive_s=1.5\n");
}

TEST_F(LogTest, LinesBelowTheThresholdAreNotWritten) {
  debug("a.b", {});
  EXPECT_TRUE(lines_.empty());
  set_level(Level::kDebug);
  debug("a.b", {});
  EXPECT_EQ(lines_.size(), 1U);
  set_level(Level::kOff);
  error("a.b", {});
  EXPECT_EQ(lines_.size(), 1U);
}

TEST_F(LogTest, JsonCarriesTheSameFields) {
  set_format(Format::kJson);
  warning("store.full", {{"limit_bytes", 7}});
  const auto line = parse_json(lines_.at(0));
  ASSERT_TRUE(line);
  EXPECT_EQ(line->at("level"), "warning");
  EXPECT_EQ(line->at("event"), "store.full");
  EXPECT_EQ(line->at("limit_bytes"), 7);
}

TEST_F(LogTest, InJsonNumbersAreNumbersAndLinesAreAList) {
  set_format(Format::kJson);
  const std::vector<std::string> two{"a", "b"};
  info("a.b", {{"rank", 3},
               {"share", 0.5},
               {"alive_s", Duration(std::chrono::milliseconds(1500))},
               {"elected", true},
               {"code", "7"},
               {"letter", 'x'},
               {"lines", two},
               {"none", std::vector<std::string>{}}});
  auto line = *parse_json(lines_.at(0));
  for (const char* key : {"time", "level", "event"}) line.erase(key);
  EXPECT_EQ(line, *parse_json(R"({"rank": 3, "share": 0.5, "alive_s": 1.5, "elected": true,
      "code": "7", "letter": "x", "lines": ["a", "b"], "none": []})"));
}

TEST_F(LogTest, TextLeavesOutWhatIsEmptyAndJsonDoesNot) {
  info("a.b", {{"notes", ""}, {"rank", 0}});
  EXPECT_EQ(lines_.at(0).substr(24), " I a.b rank=0\n");
  set_format(Format::kJson);
  info("a.b", {{"notes", ""}});
  EXPECT_EQ(parse_json(lines_.at(1))->at("notes"), "");
}

TEST_F(LogTest, JsonSaysOfWhichJobAndNodeItIs) {
  set_format(Format::kJson);
  set_place({"bert", "run-1", "node-0"});
  info("a.b", {{"node", "node-0"}, {"run_id", "run-1"}});
  info("a.b", {{"node", "node-1"}});
  auto line = *parse_json(lines_.at(0));
  EXPECT_EQ(line.at("job"), "bert");
  EXPECT_EQ(line.at("run_id"), "run-1");
  EXPECT_EQ(line.at("node"), "node-0");
  EXPECT_FALSE(line.contains("event_node"));
  line = *parse_json(lines_.at(1));
  EXPECT_EQ(line.at("node"), "node-0");
  EXPECT_EQ(line.at("event_node"), "node-1");
}

TEST_F(LogTest, ANumberForProgramsIsNotInTheText) {
  info("a.b", {{"reason", "round 2"}, Field::for_programs("round", 2)});
  EXPECT_EQ(lines_.at(0).substr(24), " I a.b reason=\"round 2\"\n");
  set_format(Format::kJson);
  info("a.b", {Field::for_programs("round", 2)});
  EXPECT_EQ(parse_json(lines_.at(1))->at("round"), 2);
}

TEST_F(LogTest, LevelNamesAreTorchrunsToo) {
  EXPECT_EQ(parse_level("WARNING"), Level::kWarning);
  EXPECT_EQ(parse_level("warn"), Level::kWarning);
  EXPECT_EQ(parse_level("CRITICAL"), Level::kError);
  EXPECT_EQ(parse_level("loud"), std::nullopt);
}

TEST_F(LogTest, TheRecorderGetsInfoAndAboveWhateverTheLogShows) {
  std::vector<std::string> recorded;
  set_recorder([&recorded](const Event& event) {
    recorded.push_back(std::string(event.name) + "/" + json_of(event.fields[0]));
  });
  set_level(Level::kOff);
  debug("a.debug", {{"rank", 1}});
  info("a.info", {{"rank", 2}});
  error("an.error", {{"says", "x\ny"}});
  record(Level::kInfo, "a.record", {{"share", 0.5}});
  set_recorder({});
  info("a.later", {{"rank", 3}});
  EXPECT_EQ(recorded, (std::vector<std::string>{"a.info/2", R"(an.error/"x\ny")", "a.record/0.5"}));
  EXPECT_TRUE(lines_.empty());
}

TEST_F(LogTest, WhatTheRecorderLogsIsNotRecorded) {
  int recorded = 0;
  set_recorder([&recorded](const Event&) {
    ++recorded;
    warning("journal.trouble", {});
  });
  info("a.b", {});
  set_recorder({});
  EXPECT_EQ(recorded, 1);
  EXPECT_EQ(lines_.size(), 2U);
}

TEST_F(LogTest, AFieldMayBeAnObject) {
  EXPECT_EQ(json_of(Field::of_json("metrics", R"({"loss": 0.5})")), R"({"loss":0.5})");
}

TEST_F(LogTest, TextLeavesListsOfLinesToTheReport) {
  info("a.b", {{"lines", std::vector<std::string>{"one", "two"}}, {"rank", 0}});
  EXPECT_EQ(lines_.at(0).substr(24), " I a.b rank=0\n");
}

// Whatever a decoder has missed.
TEST_F(LogTest, NoFormatCarriesWhatATerminalObeys) {
  const std::string words = "\x1b[2J\r\u009b\u202e\xff.";
  const std::vector<std::string> lines{words};
  info("a.b", {{"says", words}});
  EXPECT_EQ(lines_.at(0).substr(24), " I a.b says=\"\\x1b[2J\\r\\x9b\\u202e\uFFFD.\"\n");
  set_format(Format::kJson);
  info("a.b", {{"says", words}, {"lines", lines}});
  const auto line = *parse_json(lines_.at(1));  // also what a reader of it gets
  EXPECT_EQ(line.at("says"), "\\x1b[2J\\r\\x9b\\u202e\uFFFD.");
  EXPECT_EQ(line.at("lines").at(0), line.at("says"));
}

}  // namespace
}  // namespace muster::log
