#include "launcher/dashboard/event_store.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/files.h"
#include "launcher/dashboard/database.h"
#include "tests/support/output_fixture.h"

namespace muster::launcher {
namespace {

class EventStoreTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<EventStore> opened(const EventLimits& limits = {}) const {
    auto store = EventStore::open_file(path_, limits);
    EXPECT_TRUE(store) << store.error().text;
    return *std::move(store);
  }
  [[nodiscard]] Error refused() const {
    const auto store = EventStore::open_file(path_, {});
    EXPECT_FALSE(store);
    return store ? Error{} : store.error();
  }

  RealFiles files_;
  muster::testing::TempDir folder_;
  std::string path_ = folder_.path() + "/events.db";
};

WebhookBatch batch(const std::string& job, int first, int count,
                   const std::string& name = "job.start", size_t bytes = 0) {
  WebhookBatch made{job, "node-1", {}};
  for (int i = first; i < first + count; ++i)
    made.events.push_back({.id = fmt::format("{}-{}", job, i),
                           .name = name,
                           .time_ms = i * 1000,
                           .body = "{" + std::string(bytes, ' ') + "}"});
  return made;
}

size_t added(EventStore& store, const WebhookBatch& what, int64_t now_ms = 1) {
  const auto count = store.add(what, now_ms);
  EXPECT_TRUE(count) << count.error().text;
  return count.value_or(999);
}

// Another job's nodes that have no name yet stay where they are.
TEST_F(EventStoreTest, WhatANodeSaidBeforeItsJobHadANameIsOfThatJob) {
  const auto store = opened();
  WebhookBatch other = batch("none", 3, 1);
  other.node = "node-2";
  ASSERT_EQ(added(*store, batch("none", 1, 2)) + added(*store, other), 3U);
  WebhookBatch named = batch("job-1", 5, 1, std::string(kNamedEvent));
  named.events[0].was = "none";
  EXPECT_EQ(added(*store, named), 1U);
  EXPECT_EQ(store->events("job-1")->size(), 3U);
  EXPECT_EQ(store->events("none")->size(), 1U);
  const auto jobs = store->jobs();
  ASSERT_EQ(jobs->size(), 2U);
  for (const StoredJob& job : *jobs) EXPECT_EQ(job.began_ms, 1000) << job.name;
  named.node = "node-2";
  named.events[0].id = "another";
  EXPECT_EQ(added(*store, named), 1U);
  EXPECT_EQ(store->events("job-1")->size(), 5U);
  EXPECT_EQ(store->jobs()->size(), 1U) << "nobody of the job 'none' is left";
}

TEST_F(EventStoreTest, EachEventIsTakenOnce) {
  const auto store = opened();
  EXPECT_EQ(added(*store, batch("bert", 0, 3)), 3U);
  EXPECT_EQ(added(*store, batch("bert", 1, 3)), 1U);
  EXPECT_EQ(store->events("bert")->size(), 4U);
  EXPECT_EQ(store->events("other")->size(), 0U);
}

TEST_F(EventStoreTest, EventsComeByTimeWhateverTheOrderInWhichTheyArrived) {
  const auto store = opened();
  added(*store, batch("bert", 5, 1));
  added(*store, batch("bert", 2, 1));
  const auto events = store->events("bert");
  ASSERT_EQ(events->size(), 2U);
  EXPECT_EQ((*events)[0].time_ms, 2000);
  EXPECT_EQ((*events)[1].time_ms, 5000);
}

TEST_F(EventStoreTest, ProgressIsKeptApart) {
  const auto store = opened();
  added(*store, batch("bert", 0, 3, "progress"));
  EXPECT_EQ(store->events("bert")->size(), 0U);
  EXPECT_EQ(store->progress("bert")->size(), 3U);
  ASSERT_EQ(store->last_progress("bert")->size(), 1U);
  EXPECT_EQ((*store->last_progress("bert"))[0].time_ms, 2000);
}

TEST_F(EventStoreTest, ASecondOpeningFindsWhatIsThere) {
  added(*opened(), batch("bert", 0, 3), 42);
  const auto store = opened();
  EXPECT_EQ(store->events("bert")->size(), 3U);
  ASSERT_EQ(store->jobs()->size(), 1U);
  EXPECT_EQ((*store->jobs())[0].heard_ms, 42);
}

TEST_F(EventStoreTest, TheJobHeardOfLastComesFirst) {
  const auto store = opened();
  added(*store, batch("a", 0, 1), 10);
  added(*store, batch("b", 0, 1), 20);
  added(*store, batch("a", 1, 1), 30);
  EXPECT_EQ((*store->jobs())[0].name, "a");
}

TEST_F(EventStoreTest, OfTooManyEventsTheOldestGo) {
  const auto store = opened({.events = 100});
  for (int i = 0; i < 30; ++i) added(*store, batch("bert", i * 10, 10));
  const auto events = store->events("bert");
  EXPECT_GE(events->size(), 100U);
  EXPECT_LE(events->size(), 110U);
  EXPECT_EQ(events->back().time_ms, 299'000);
}

TEST_F(EventStoreTest, ThoseGoFirstThatAreWorthLeast) {
  const auto store = opened({.events = 20});
  for (int i = 0; i < 60; ++i) {
    WebhookBatch one = batch("bert", i, 1, fmt::format("e{}", i));
    one.events[0].worth = i == 0 ? 2 : i % 10 == 5 ? 1 : 0;
    added(*store, one);
  }
  const auto events = store->events("bert");
  EXPECT_LE(events->size(), 22U);
  EXPECT_EQ((*events)[0].name, "e0");
  EXPECT_EQ((*events)[1].name, "e5");
  EXPECT_EQ(events->back().name, "e59");
}

TEST_F(EventStoreTest, OfTooMuchProgressOnePointOfEachPieceOfTheTimeStays) {
  const auto store = opened({.events = 100});
  for (int i = 0; i < 300; ++i) added(*store, batch("bert", i * 10, 10, "progress"));
  const auto points = store->progress("bert");
  ASSERT_LE(points->size(), 100U);
  EXPECT_GE(points->size(), 50U);
  EXPECT_EQ(points->front().time_ms, 0);
  EXPECT_EQ(points->back().time_ms, 2'999'000);
  // The first half of the time has its share.
  EXPECT_GE(std::ranges::count_if(*points, [](const auto& p) { return p.time_ms < 1'500'000; }),
            20);
}

TEST_F(EventStoreTest, OfTooMuchProgressThatOfTheLowestRankStays) {
  const auto store = opened({.events = 100});
  for (int i = 0; i < 40; ++i) {
    for (int64_t node = 0; node < 4; ++node) {
      WebhookBatch one = batch("bert", i, 1, "progress");
      one.node = fmt::format("node-{}", node);
      one.events[0].id += one.node;
      one.events[0].rank = (node + 1) % 4;
      added(*store, one);
    }
  }
  const auto points = store->progress("bert");
  EXPECT_LE(points->size(), 100U);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ((*points)[i].node, "node-3") << i;
}

TEST_F(EventStoreTest, OfTooManyJobsTheOneSilentForLongestGoes) {
  const auto store = opened({.jobs = 2});
  added(*store, batch("a", 0, 1), 30);
  added(*store, batch("b", 0, 1), 20);
  added(*store, batch("c", 0, 1), 10);
  ASSERT_EQ(store->jobs()->size(), 2U);
  EXPECT_EQ(store->events("b")->size(), 0U);
  EXPECT_EQ(store->events("a")->size(), 1U);
  EXPECT_EQ(store->events("c")->size(), 1U);
}

TEST_F(EventStoreTest, AFullFileDropsAnOldJob) {
  const auto store = opened({.bytes = 1 << 20});
  added(*store, batch("old", 0, 8, "x", 50'000), 1);
  added(*store, batch("new", 0, 8, "x", 50'000), 2);
  added(*store, batch("new", 8, 8, "x", 50'000), 2);
  EXPECT_EQ(store->jobs()->size(), 1U);
  EXPECT_EQ(store->events("new")->size(), 16U);
}

TEST_F(EventStoreTest, AFullFileOfOneJobLosesItsOldestQuarter) {
  const auto store = opened({.bytes = 1 << 20});
  for (int i = 0; i < 60; i += 4) added(*store, batch("one", i, 4, "x", 50'000), i);
  const auto events = store->events("one");
  EXPECT_GE(events->size(), 8U);
  EXPECT_EQ(events->back().time_ms, 59'000);
}

TEST_F(EventStoreTest, ABatchThatNeverFitsThrowsNothingAway) {
  const auto store = opened({.bytes = 1 << 20});
  added(*store, batch("old", 0, 4, "x", 50'000), 1);
  const auto full = store->add(batch("new", 100, 40, "x", 50'000), 3);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().os_errno, ENOSPC);
  EXPECT_NE(full.error().text.find(path_), std::string::npos);
  EXPECT_EQ(store->events("old")->size(), 4U);
  EXPECT_EQ(store->jobs()->size(), 1U);
}

TEST_F(EventStoreTest, APostWithoutNewEventsMakesNoJob) {
  const auto store = opened();
  EXPECT_EQ(added(*store, {"empty", "node-1", {}}), 0U);
  EXPECT_TRUE(store->jobs()->empty());
}

TEST_F(EventStoreTest, TheUsualGapIsTheLongestOfLate) {
  const auto store = opened();
  for (const int64_t now_ms : {10, 20, 120, 130}) added(*store, batch("a", 0, 1), now_ms);
  added(*store, batch("a", 1, 1), 130);
  EXPECT_EQ((*store->jobs())[0].usual_gap_ms, 89);
  EXPECT_EQ((*store->jobs())[0].began_ms, 0);
}

TEST_F(EventStoreTest, NamesThatSQLiteWouldReadAreFiles) {
  ASSERT_EQ(chdir(folder_.path().c_str()), 0);
  for (const char* name : {":memory:", "file:x?mode=memory"}) {
    path_ = name;
    added(*opened(), batch("a", 0, 1));
    EXPECT_EQ(opened()->jobs()->size(), 1U) << name;
  }
  ASSERT_EQ(chdir("/"), 0);
}

TEST_F(EventStoreTest, OnlyTheOwnerReadsTheFile) {
  (void)opened();
  struct stat status {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(EventStoreTest, AFileThatIsNoDatabaseIsLeftAsItIs) {
  const std::string text(5000, 'x');
  ASSERT_TRUE(files_.write(path_, text));
  const Error error = refused();
  EXPECT_EQ(error.code, Code::kConfig);
  EXPECT_EQ(error.text, path_ + ": file is not a database");
  EXPECT_EQ(*files_.read(path_), text);
}

TEST_F(EventStoreTest, TheDatabaseOfAnotherProgramIsRefused) {
  {
    const auto other = Database::open_file(path_, 1 << 20);
    ASSERT_TRUE((*other)->run("CREATE TABLE recipe(name TEXT)"));
  }
  const Error error = refused();
  EXPECT_EQ(error.code, Code::kConfig);
  EXPECT_EQ(error.text, path_ + " is the database of another program");
}

TEST_F(EventStoreTest, AnotherVersionIsRefusedAndNamed) {
  (void)opened();
  {
    const auto other = Database::open_file(path_, 1 << 20);
    ASSERT_TRUE((*other)->run("PRAGMA user_version = 9"));
  }
  const Error error = refused();
  EXPECT_EQ(error.code, Code::kConfig);
  EXPECT_EQ(error.text, path_ + " is a dashboard's file of version 9; this Muster knows version 2");
}

TEST_F(EventStoreTest, TwoDashboardsCannotHaveOneFile) {
  const auto first = opened();
  const Error error = refused();
  EXPECT_EQ(error.os_errno, EAGAIN);
  EXPECT_EQ(error.text, path_ + ": another dashboard has it open");
}

TEST_F(EventStoreTest, AFolderThatIsNotThereIsNamed) {
  const auto store = EventStore::open_file(folder_.path() + "/none/events.db", {});
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Code::kOs);
  EXPECT_NE(store.error().text.find("/none/events.db"), std::string::npos);
}

}  // namespace
}  // namespace muster::launcher
