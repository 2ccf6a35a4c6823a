#include "launcher/dashboard/database.h"

#include <gtest/gtest.h>

#include "tests/support/output_fixture.h"

namespace muster::launcher {
namespace {

class DatabaseTest : public ::testing::Test {
 protected:
  DatabaseTest() : database_(std::move(*Database::open_file(folder_.path() + "/a.db", 1 << 20))) {
    EXPECT_TRUE(database_->run("CREATE TABLE t(a, b)"));
  }
  muster::testing::TempDir folder_;
  std::unique_ptr<Database> database_;
};

TEST_F(DatabaseTest, ValuesComeBackAsTheyWere) {
  const std::string_view hostile = "'); DROP TABLE t; --";
  ASSERT_TRUE(database_->run("INSERT INTO t VALUES(?, ?)", {int64_t{1} << 60, hostile}));
  ASSERT_TRUE(database_->run("INSERT INTO t VALUES(?, ?)", {std::monostate(), std::string_view()}));
  std::vector<std::pair<int64_t, std::string>> rows;
  ASSERT_TRUE(database_->run("SELECT a, b FROM t", {}, [&rows](const SqlRow& row) {
    rows.emplace_back(row.integer(0), row.text(1));
    return true;
  }));
  EXPECT_EQ(rows, (std::vector<std::pair<int64_t, std::string>>{
                      {int64_t{1} << 60, std::string(hostile)}, {0, ""}}));
}

TEST_F(DatabaseTest, AnAnswerMayBeLeftBeforeItsEnd) {
  for (int64_t i = 0; i < 5; ++i) ASSERT_TRUE(database_->run("INSERT INTO t VALUES(?, NULL)", {i}));
  for (int time = 0; time < 2; ++time) {
    int seen = 0;
    ASSERT_TRUE(database_->run("SELECT a FROM t", {},
                               [&seen](const SqlRow& /*row*/) { return ++seen < 2; }));
    EXPECT_EQ(seen, 2);
  }
}

TEST_F(DatabaseTest, WhatAStatementChangedIsCounted) {
  ASSERT_TRUE(database_->run("INSERT INTO t VALUES(1, 2), (3, 4)"));
  EXPECT_EQ(database_->changed(), 2);
}

TEST_F(DatabaseTest, AWrongStatementIsOurBug) {
  const auto wrong = database_->run("SELECT nothing FROM nowhere");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::kInternal);
}

}  // namespace
}  // namespace muster::launcher
