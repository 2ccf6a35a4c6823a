#include "mpi/rsh/rsh_reporter.h"

#include <gtest/gtest.h>

namespace muster::mpi {
namespace {

class RshReporterTest : public ::testing::Test {
 protected:
  // What comes of a message: "noted", "taken", "not mine", or why not.
  std::string take(const RshMessage& message, bool may_begin = true) {
    const auto taken = reporter_.take(message, may_begin);
    if (!taken) return "not mine";
    if (!*taken) return taken->error().text;
    return **taken ? "noted" : "taken";
  }

  std::string heard_;
  RankHooks hooks_{.began = [this](uint64_t, const rsh::Rank&) { return hear("rank"); },
                   .in_mpi = [this](uint64_t) { (void)hear("init"); },
                   .ended =
                       [this](uint64_t, const rsh::RankEnd& end) {
                         (void)hear("rank end");
                         return end.code == 0;
                       },
                   .lost = [this](uint64_t line) { (void)hear("lost " + std::to_string(line)); }};
  Status hear(const std::string& what) {
    heard_ += what + ";";
    return {};
  }
  RshReporter reporter_{hooks_, 7, 0};
};

TEST_F(RshReporterTest, ARankIsAnsweredAtItsEnd) {
  EXPECT_EQ(take(rsh::Rank{}), "taken");
  EXPECT_TRUE(reporter_.is_there());
  EXPECT_EQ(take(rsh::RankInit{}), "taken");
  EXPECT_EQ(take(rsh::RankEnd{}, false), "noted");
  EXPECT_FALSE(reporter_.is_there());
  reporter_.gone();
  EXPECT_EQ(heard_, "rank;init;rank end;");
}

TEST_F(RshReporterTest, AnEndThatIsHeldIsNotAnswered) {
  EXPECT_EQ(take(rsh::Rank{}), "taken");
  EXPECT_EQ(take(rsh::RankEnd{.code = 3}), "taken");
  EXPECT_FALSE(reporter_.is_there());
}

TEST_F(RshReporterTest, WhoIsGoneWithoutAWordIsLostOnce) {
  EXPECT_EQ(take(rsh::Rank{}), "taken");
  reporter_.gone();
  reporter_.gone();
  EXPECT_EQ(heard_, "rank;lost 7;");
}

TEST_F(RshReporterTest, EverythingHasItsPlace) {
  EXPECT_EQ(take(rsh::Exit{}), "not mine");
  EXPECT_EQ(take(rsh::RankInit{}), "MPI in a rank that never began");
  EXPECT_EQ(take(rsh::RankEnd{}), "the end of a rank that never began");
  EXPECT_EQ(take(rsh::Rank{}, false), "a second report on one connection");
  EXPECT_EQ(take(rsh::Rank{}), "taken");
  EXPECT_EQ(take(rsh::Rank{}), "a second report on one connection");
  EXPECT_EQ(heard_, "rank;");
}

TEST_F(RshReporterTest, TheAgentOfAnotherNodeTakesNoReport) {
  EXPECT_EQ(take(rsh::Rank{.agent = 5}), "the report is for the agent of another node");
  EXPECT_FALSE(reporter_.is_there());
}

TEST_F(RshReporterTest, WhereNobodyListensTheyAreRefused) {
  const RankHooks none;
  RshReporter reporter(none, 7, 0);
  const auto taken = reporter.take(rsh::Rank{}, true);
  ASSERT_TRUE(taken && !*taken);
  EXPECT_EQ(taken->error().code, Code::kPeer);
  EXPECT_FALSE(reporter.is_there());
}

// As on a node that was the launcher's in the last round, when a link to a lost node gives up.
TEST_F(RshReporterTest, WhoBeganWhileSomebodyListenedMayEndWhenNobodyDoes) {
  for (const bool tells_its_end : {true, false}) {
    RankHooks hooks = hooks_;
    RshReporter reporter(hooks, 7, 0);
    (void)reporter.take(rsh::Rank{}, true);
    ASSERT_TRUE(reporter.is_there());
    hooks = {};
    if (tells_its_end) {
      EXPECT_TRUE(reporter.take(rsh::RankEnd{}, true));
    } else {
      reporter.gone();
    }
    EXPECT_FALSE(reporter.is_there());
  }
}

}  // namespace
}  // namespace muster::mpi
