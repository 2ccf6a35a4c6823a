#include "launcher/program/event_records.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/agent_rig.h"

namespace muster::launcher {
namespace {

class EventRecordsTest : public AgentRig {
 protected:
  ~EventRecordsTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<EventRecords> open() {
    auto opened = EventRecords::create(
        doors(), {options_, environment_, setup_, {"bert", "7", "node-1"}, false, "/tmp"});
    EXPECT_TRUE(opened);
    return opened ? *std::move(opened) : nullptr;
  }
  // All that the journal's folder holds.
  [[nodiscard]] std::string kept() const {
    std::string text;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      std::ifstream file(entry.path());
      text.append(std::istreambuf_iterator<char>(file), {});
    }
    return text;
  }

  const std::string folder_ = ::testing::TempDir() + "event-records";
};

TEST_F(EventRecordsTest, WithoutAWishThereIsNothing) {
  const auto records = open();
  EXPECT_EQ(records->folder(), "");
  EXPECT_EQ(records->sidecar(), 0);
  EXPECT_EQ(records->serve(context(), {}), nullptr);
  EXPECT_TRUE(processes_.spawned.empty());
}

TEST_F(EventRecordsTest, TheJournalIsKeptUntilTheEnd) {
  options_.run_dir = folder_;
  const auto records = open();
  EXPECT_EQ(records->folder(), folder_);
  log::record(log::Level::kInfo, "job.first", {});
  records->set_place({"bert", "7", "node-2"});
  log::record(log::Level::kInfo, "job.second", {});
  records->finish();
  log::record(log::Level::kInfo, "job.third", {});
  const std::string text = kept();
  EXPECT_NE(text.find("job.first"), text.npos);
  EXPECT_LT(text.rfind("node-1"), text.find("job.second"));
  EXPECT_GT(text.find("node-2"), text.find("job.second"));
  EXPECT_EQ(text.find("job.third"), text.npos);
}

TEST_F(EventRecordsTest, TheSidecarReadsTheJournal) {
  options_.run_dir = folder_;
  options_.report.targets = "http://127.0.0.1:9/events";
  const auto records = open();
  ASSERT_EQ(processes_.spawned.size(), 1U);
  EXPECT_EQ(running(), std::vector{records->sidecar()});
  EXPECT_EQ(std::ranges::count(processes_.spawned[0].arguments, "--run-dir=" + folder_), 1);
}

}  // namespace
}  // namespace muster::launcher
