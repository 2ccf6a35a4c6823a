// The journal and its files, on a real disk.
#include "launcher/journal/journal.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "tests/support/fake_clock.h"
#include "tests/support/output_fixture.h"

namespace muster::launcher {
namespace {

using muster::testing::CapturedLog;
using muster::testing::content_of;
using muster::testing::FakeClock;
using muster::testing::TempDir;

class JournalTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Journal>> open(size_t max_bytes = kMaxJournalFileBytes) {
    return Journal::create({.folder = folder_,
                            .place = {"job", "run", "node-0"},
                            .mark = "agent" + std::to_string(++agents_),
                            .max_file_bytes = max_bytes},
                           clock_);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write_file(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories(folder_);
    std::ofstream(path(name), std::ios::binary) << text;
  }
  // Every line must be one object.
  [[nodiscard]] std::vector<nlohmann::json> lines(const std::string& name = "events.jsonl") const {
    std::vector<nlohmann::json> found;
    const std::string text = content_of(path(name));
    EXPECT_TRUE(text.empty() || text.ends_with('\n'));
    for (const auto line : split(text, '\n')) {
      if (line.empty()) continue;
      auto parsed = parse_json(line);
      EXPECT_TRUE(parsed) << line;
      if (parsed) found.push_back(*parsed);
    }
    return found;
  }
  [[nodiscard]] std::vector<uint64_t> numbers(const std::string& name = "events.jsonl") const {
    std::vector<uint64_t> found;
    for (const auto& line : lines(name)) found.push_back(line.at("seq").get<uint64_t>());
    return found;
  }

  CapturedLog log_;
  FakeClock clock_;
  TempDir temp_;
  std::string folder_ = temp_.path() + "/new/run";
  int agents_ = 0;
};

TEST_F(JournalTest, RecordsEventsInAFolderThatItMakes) {
  auto journal = *open();
  log::info("job.start", {{"workers", 2}});
  log::debug("a.debug", {});
  log::record(log::Level::kInfo, "progress", {{"step", 7}});
  const auto found = lines();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].at("event"), "job.start");
  EXPECT_EQ(found[0].at("id"), "agent1-1");
  EXPECT_EQ(found[1].at("step"), 7);
  EXPECT_EQ(log_.count("progress"), 0U);
}

TEST_F(JournalTest, RecordsNothingOnceItIsGone) {
  { const auto journal = *open(); }
  log::info("job.start", {});
  EXPECT_TRUE(lines().empty());
}

TEST_F(JournalTest, ALaterAgentCountsOn) {
  for (int i = 0; i < 3; ++i) {
    const auto journal = *open();
    log::info("job.start", {});
    log::info("job.end", {});
  }
  EXPECT_EQ(numbers(), (std::vector<uint64_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(lines()[5].at("id"), "agent3-6");
}

TEST_F(JournalTest, ATornLastLineIsCutOffAndTold) {
  {
    const auto journal = *open();
    log::info("job.start", {});
  }
  std::ofstream(path("events.jsonl"), std::ios::app) << R"({"id":"agent1-2","seq":2,"ti)";
  const auto journal = *open();
  log::info("job.end", {});
  const auto found = lines();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[1].at("event"), "journal.trouble");
  EXPECT_EQ(found[1].at("cut_bytes"), 28);
  EXPECT_EQ(numbers(), (std::vector<uint64_t>{1, 2, 3}));
}

// A machine that lost its power may leave zeros.
TEST_F(JournalTest, LinesBehindTheLastGoodOneAreCutOff) {
  {
    const auto journal = *open();
    log::info("job.start", {});
  }
  std::ofstream(path("events.jsonl"), std::ios::app) << std::string(100, '\0') << "\n{}\n";
  const auto journal = *open();
  EXPECT_EQ(numbers(), (std::vector<uint64_t>{1, 2}));
}

TEST_F(JournalTest, AFirstLineThatIsTornIsCutOffToo) {
  write_file("events.jsonl", R"({"id":"x-1","se)");
  const auto journal = *open();
  log::info("job.start", {});
  EXPECT_EQ(numbers(), (std::vector<uint64_t>{1, 2}));
}

TEST_F(JournalTest, SomebodyElsesFileIsLeftAlone) {
  for (const std::string& text : {std::string("{\"mine\": 1}\n"), std::string(300'000, 'x')}) {
    write_file("events.jsonl", text);
    const auto journal = open();
    ASSERT_FALSE(journal);
    EXPECT_EQ(journal.error().code, Code::kConfig);
    EXPECT_EQ(content_of(path("events.jsonl")), text);
  }
}

TEST_F(JournalTest, AFolderThatCannotBeOneIsRefused) {
  std::ofstream(temp_.path() + "/new") << "a file";
  const auto journal = open();
  ASSERT_FALSE(journal);
  EXPECT_EQ(journal.error().code, Code::kConfig);
}

TEST_F(JournalTest, APipeInItsPlaceKeepsNobodyWaiting) {
  std::filesystem::create_directories(folder_);
  ASSERT_EQ(mkfifo(path("events.jsonl").c_str(), 0600), 0);
  EXPECT_FALSE(open());
}

TEST_F(JournalTest, OneFolderIsForOneAgentAtATime) {
  auto first = *open();
  const auto second = open();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kConfig);
  EXPECT_NE(second.error().text.find("another agent"), std::string::npos);
  log::info("job.start", {});  // the second has not taken the recorder
  EXPECT_EQ(lines().size(), 1U);
  first.reset();
  EXPECT_TRUE(open());
}

// ---- rotation

TEST_F(JournalTest, RotationKeepsThreeFilesAndTellsWhatIsGone) {
  const auto journal = *open(1000);
  for (int i = 0; i < 30; ++i) log::info("progress", {{"step", i}});
  std::vector<uint64_t> all;
  for (const char* name : {"events.jsonl.2", "events.jsonl.1", "events.jsonl"}) {
    for (const uint64_t seq : numbers(name)) all.push_back(seq);
    EXPECT_LE(std::filesystem::file_size(path(name)), 1000U);
  }
  const auto dropped = lines()[0];
  EXPECT_EQ(dropped.at("event"), "journal.dropped");
  EXPECT_EQ(dropped.at("first_seq"), 1);
  EXPECT_EQ(dropped.at("last_seq"), all.front() - 1);
  for (size_t i = 1; i < all.size(); ++i) EXPECT_EQ(all[i], all[i - 1] + 1);
  uint64_t told = 0;
  for (const auto& [name, count] : dropped.at("events").items()) told += count.get<uint64_t>();
  EXPECT_EQ(told, all.front() - 1);  // also of those that were gone before the last rotation
}

TEST_F(JournalTest, ALaterAgentCountsOnBehindAnEmptyFile) {
  {
    const auto journal = *open();
    log::info("job.start", {});
    log::info("job.end", {});
  }
  for (const char* older : {"events.jsonl.1", "events.jsonl.2"}) {
    std::filesystem::remove(path(older));
    std::filesystem::rename(path("events.jsonl"), path(older));
    {
      const auto journal = *open();
      log::info("job.start", {});
    }
    EXPECT_EQ(numbers().front(), 3U) << older;
    std::filesystem::remove(path("events.jsonl"));
    std::filesystem::rename(path(older), path("events.jsonl"));
  }
}

// Between any two of its steps the agent may be killed.
TEST_F(JournalTest, ARotationThatWasBrokenOffIsCompleted) {
  const auto line = [](int seq) {
    return R"({"id":"x-)" + std::to_string(seq) + R"(","seq":)" + std::to_string(seq) +
           R"(,"event":"a.b"})" + "\n";
  };
  struct Case {
    std::vector<std::pair<std::string, int>> before;
    std::vector<std::pair<std::string, int>> after;
  };
  const Case cases[] = {
      // Nothing has moved: it was not begun.
      {{{"", 2}, {".1", 1}, {".new", 3}}, {{"", 2}, {".1", 1}}},
      // .1 became .2.
      {{{"", 2}, {".2", 1}, {".new", 3}}, {{"", 3}, {".1", 2}, {".2", 1}}},
      // The current file became .1.
      {{{".1", 2}, {".2", 1}, {".new", 3}}, {{"", 3}, {".1", 2}, {".2", 1}}},
  };
  for (const Case& each : cases) {
    std::filesystem::remove_all(folder_);
    for (const auto& [suffix, seq] : each.before) write_file("events.jsonl" + suffix, line(seq));
    ASSERT_TRUE(JournalFile::create(folder_));
    size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      files += entry.is_regular_file() ? 1 : 0;
    EXPECT_EQ(files, each.after.size());
    for (const auto& [suffix, seq] : each.after)
      EXPECT_EQ(content_of(path("events.jsonl" + suffix)), line(seq)) << suffix;
  }
}

// ---- disks that take nothing

// Files of this process may become so large and no larger, as on a disk that is full.
class FullDisk {
 public:
  explicit FullDisk(size_t bytes) : handler_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  sighandler_t handler_;
};

TEST_F(JournalTest, OnAFullDiskTheJobGoesOnAndWhatIsMissingIsCounted) {
  auto journal = *open();
  log::info("job.start", {});
  {
    const FullDisk full(lines()[0].dump().size() + 60);  // a line fits in part
    for (int i = 0; i < 5; ++i) log::info("progress", {{"step", i}});
    clock_.advance(std::chrono::minutes(1));
    log::info("progress", {{"step", 5}});
  }
  EXPECT_EQ(log_.count("journal.trouble"), 1U) << log_.text();
  clock_.advance(std::chrono::minutes(1));
  log::info("job.end", {});
  const auto found = lines();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[1].at("event"), "journal.trouble");
  EXPECT_EQ(found[1].at("lost"), 6);
  EXPECT_EQ(found[2].at("event"), "job.end");
  EXPECT_EQ(numbers(), (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(log_.count("lost=6"), 1U) << log_.text();
}

TEST_F(JournalTest, AJobThatEndsOnAFullDiskSaysWhatIsMissing) {
  const FullDisk full(1);
  {
    const auto journal = *open();
    log::info("job.start", {});
    log::info("job.end", {});
  }
  EXPECT_EQ(log_.count("lost=2"), 1U) << log_.text();
}

TEST_F(JournalTest, AJobThatEndsWhenThereIsRoomAgainTellsItInTheJournal) {
  auto journal = *open();
  {
    const FullDisk full(1);
    log::info("job.end", {});
  }
  journal.reset();
  ASSERT_EQ(lines().size(), 1U);
  EXPECT_EQ(lines()[0].at("lost"), 1);
}

}  // namespace
}  // namespace muster::launcher
