// A reader and the journal itself, on a real disk.
#include "launcher/sidecar/journal_reader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "launcher/journal/journal.h"
#include "tests/support/fake_clock.h"
#include "tests/support/output_fixture.h"

namespace muster::launcher {
namespace {

using muster::testing::CapturedLog;
using muster::testing::FakeClock;
using muster::testing::TempDir;

class JournalReaderTest : public ::testing::Test {
 protected:
  std::unique_ptr<Journal> open(size_t max_bytes = kMaxJournalFileBytes) {
    auto journal = Journal::create({.folder = folder_,
                                    .place = {"job", "run", "node-0"},
                                    .mark = "agent" + std::to_string(++agents_),
                                    .max_file_bytes = max_bytes},
                                   clock_);
    EXPECT_TRUE(journal);
    return *std::move(journal);
  }
  // All that is there now.
  static std::vector<uint64_t> numbers(JournalReader& reader) {
    std::vector<uint64_t> found;
    do {
      for (const JournalEvent& event : reader.read()) found.push_back(event.mark.seq);
    } while (!reader.at_end());
    return found;
  }
  static std::vector<std::string> lines(JournalReader& reader) {
    std::vector<std::string> found;
    do {
      for (JournalEvent& event : reader.read()) found.push_back(event.mark.id + " " + event.name);
    } while (!reader.at_end());
    return found;
  }
  static std::vector<uint64_t> range(uint64_t first, uint64_t last) {
    std::vector<uint64_t> all;
    for (uint64_t i = first; i <= last; ++i) all.push_back(i);
    return all;
  }
  static void say(int times) {
    for (int i = 0; i < times; ++i) log::info("job.stop", {{"signal", "SIGTERM"}});
  }
  void append(std::string_view text) const {
    std::ofstream(folder_ + "/events.jsonl", std::ios::binary | std::ios::app) << text;
  }

  CapturedLog log_;
  FakeClock clock_;
  TempDir temp_;
  std::string folder_ = temp_.path() + "/run";
  int agents_ = 0;
};

TEST_F(JournalReaderTest, FollowsAJournalThatComesLater) {
  JournalReader reader(folder_, {});
  EXPECT_TRUE(numbers(reader).empty());
  const auto journal = open();
  EXPECT_TRUE(numbers(reader).empty());
  say(2);
  EXPECT_EQ(numbers(reader), range(1, 2));
  say(1);
  EXPECT_EQ(numbers(reader), range(3, 3));
  EXPECT_TRUE(numbers(reader).empty());
}

TEST_F(JournalReaderTest, BeginsBehindItsMark) {
  const auto journal = open();
  say(5);
  JournalReader reader(folder_, {3, "agent1-3"});
  EXPECT_EQ(numbers(reader), range(4, 5));
  EXPECT_EQ(reader.take_missed(), 0U);
}

TEST_F(JournalReaderTest, LosesNothingWhenFilesTurn) {
  const auto journal = open(1000);  // four lines each
  JournalReader reader(folder_, {});
  std::vector<uint64_t> all;
  for (int i = 0; i < 40; ++i) {
    say(1);
    for (const uint64_t seq : numbers(reader)) all.push_back(seq);
  }
  // The tellings of what was thrown away are lines, too.
  EXPECT_EQ(all, range(1, all.back()));
  EXPECT_GT(all.back(), 40U);
  EXPECT_EQ(reader.take_missed(), 0U);
}

TEST_F(JournalReaderTest, GoesThroughTheOlderFilesFirst) {
  const auto journal = open(1000);
  say(9);
  JournalReader reader(folder_, {});
  EXPECT_EQ(numbers(reader), range(1, 9));
  JournalReader later(folder_, {2, "agent1-2"});
  EXPECT_EQ(numbers(later), range(3, 9));
}

TEST_F(JournalReaderTest, CountsWhatWasThrownAwayBefore) {
  const auto journal = open(1000);
  say(1);
  JournalReader reader(folder_, {});
  EXPECT_EQ(numbers(reader), range(1, 1));
  say(60);
  // The rest of the file that it has open, and what is there now.
  const auto rest = numbers(reader);
  EXPECT_EQ(rest.front(), 2U);
  const uint64_t missed = rest.back() - 1 - rest.size();
  EXPECT_GT(missed, 0U);
  EXPECT_EQ(reader.take_missed(), missed);
  EXPECT_EQ(reader.take_missed(), 0U);
}

TEST_F(JournalReaderTest, WaitsForTheEndOfALineAndPassesOverWhatIsNone) {
  {
    const auto journal = open();
    say(1);
  }
  JournalReader reader(folder_, {});
  append("nonsense\n{\"id\":\"x\",\"seq\":2,\"ev");
  EXPECT_EQ(numbers(reader), range(1, 1));
  append("ent\":\"e\"}\n");
  EXPECT_EQ(numbers(reader), range(2, 2));
  append(std::string(2 * kMaxJournalLineBytes, 'x') +
         "\n{\"id\":\"x\",\"seq\":3,\"event\":\"e\"}\n");
  EXPECT_EQ(numbers(reader), range(3, 3));
}

TEST_F(JournalReaderTest, ATornLineIsCutOffByTheNextAgentAndNotRead) {
  {
    const auto journal = open();
    say(1);
  }
  JournalReader reader(folder_, {});
  append("{\"id\":\"agent1-2\",\"seq\":2,\"event\":\"torn");
  EXPECT_EQ(lines(reader), std::vector<std::string>{"agent1-1 job.stop"});
  const auto journal = open();
  say(1);
  EXPECT_EQ(lines(reader),
            (std::vector<std::string>{"agent2-2 journal.trouble", "agent2-3 job.stop"}));
}

TEST_F(JournalReaderTest, WhatWasToldBeforeIsNotMissed) {
  std::filesystem::create_directories(folder_);
  append("{\"id\":\"x-9\",\"seq\":9,\"event\":\"e\"}\n");
  JournalReader all(folder_, {}, 7);
  EXPECT_EQ(numbers(all), range(9, 9));
  EXPECT_EQ(all.take_missed(), 1U);
}

TEST_F(JournalReaderTest, AFileThatIsMadeShorterGoesOnWithWhatFollows) {
  const auto journal = open();
  JournalReader reader(folder_, {});
  say(3);
  EXPECT_EQ(numbers(reader), range(1, 3));
  std::filesystem::resize_file(folder_ + "/events.jsonl", 0);
  say(1);
  const auto rest = numbers(reader);
  EXPECT_EQ(rest, range(4, rest.back()));
}

TEST_F(JournalReaderTest, AJournalThatBeginsAnewIsReadFromItsBeginning) {
  {
    const auto journal = open();
    say(5);
  }
  JournalReader reader(folder_, {});
  EXPECT_EQ(numbers(reader), range(1, 5));
  std::filesystem::remove(folder_ + "/events.jsonl");
  const auto journal = open();
  say(2);
  EXPECT_EQ(numbers(reader), range(1, 2));
}

TEST_F(JournalReaderTest, AnIdOfAnotherJournalIsNoticedWhereTheNumbersFit) {
  const auto journal = open();
  say(5);
  JournalReader reader(folder_, {3, "somebody-3"});
  EXPECT_EQ(numbers(reader), range(1, 5));
}

TEST_F(JournalReaderTest, AFileThatHasTurnedAndHasNoLineYetIsWaitedFor) {
  const auto journal = open();
  say(2);
  JournalReader reader(folder_, {});
  EXPECT_EQ(numbers(reader), range(1, 2));
  std::filesystem::rename(folder_ + "/events.jsonl", folder_ + "/events.jsonl.1");
  append("");
  EXPECT_TRUE(numbers(reader).empty());
  append("{\"id\":\"x-3\",\"seq\":3,\"event\":\"e\"}\n");
  EXPECT_EQ(numbers(reader), range(3, 3));
}

}  // namespace
}  // namespace muster::launcher
