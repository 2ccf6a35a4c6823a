#include "mpi/pmi/pmi_ranks.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

#include "tests/support/fake_clock.h"

namespace muster::mpi {
namespace {

class PmiRanksTest : public ::testing::Test {
 protected:
  void begin(int nodes = 1) {
    EXPECT_TRUE(ranks_.begin({"kvs", 4, 2, 2 * nodes + 4, nodes}));
    for (int rank = 0; rank < 2; ++rank) {
      auto end = ranks_.connect(rank);
      ASSERT_TRUE(end);
      ends_[static_cast<size_t>(rank)] = std::move(*end);
    }
  }
  void say(size_t rank, std::string_view text) {
    ASSERT_EQ(write(ends_[rank].get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
    ASSERT_TRUE(loop_->run_until_idle());
  }
  std::string hear(size_t rank) {
    std::array<char, 4096> bytes;
    const ssize_t count = recv(ends_[rank].get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    return count > 0 ? std::string(bytes.data(), static_cast<size_t>(count)) : "";
  }

  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  std::vector<std::string> given_;
  std::vector<int> killed_;
  PmiRanks ranks_{
      *loop_,
      {.exchange = [this](uint64_t, std::string bytes) { given_.push_back(std::move(bytes)); },
       .kill = [this](int local_rank) { killed_.push_back(local_rank); }}};
  std::array<UniqueFd, 2> ends_;
};

constexpr std::string_view kInit = "cmd=init pmi_version=1 pmi_subversion=1\n";

TEST_F(PmiRanksTest, ARankIsToldHowToAsk) {
  begin();
  EnvironmentPlan plan;
  plan.add(EnvironmentLayer::kMpi, ranks_.variables(1, 3));
  EXPECT_EQ(plan.merge({}).environment.to_exec_strings(),
            (std::vector<std::string>{"MPI_LOCALNRANKS=2", "MPI_LOCALRANKID=1", "PMI_FD=3",
                                      "PMI_RANK=5", "PMI_SIZE=6"}));
}

TEST_F(PmiRanksTest, ARankInheritsItsEndAndReadsNothing) {
  begin();
  SpawnRequest request;
  const auto attached = ranks_.attach(1, request);
  ASSERT_TRUE(attached);
  ASSERT_EQ(attached->inherited.size(), 2U);
  EXPECT_EQ(request.kept_fd, attached->inherited[0].get());
  EXPECT_EQ(request.stdin_fd, attached->inherited[1].get());
  EnvironmentPlan plan;
  plan.add(EnvironmentLayer::kMpi, attached->variables);
  Environment outer;
  outer.set("PMI_FD", "9");
  EXPECT_EQ(plan.merge(outer).environment.get("PMI_FD"), std::to_string(request.kept_fd));
}

TEST_F(PmiRanksTest, RequestsAreAnsweredAlsoInPartsAndTogether) {
  begin();
  say(0, kInit.substr(0, 10));
  EXPECT_EQ(hear(0), "");
  say(0, std::string(kInit.substr(10)) + "cmd=get_appnum\n");
  EXPECT_EQ(hear(0),
            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\ncmd=appnum appnum=0 rc=0\n");
  say(1, kInit);
  say(0, "cmd=barrier_in\n");
  EXPECT_EQ(hear(0), "");
  say(1, "cmd=barrier_in\n");
  EXPECT_EQ(hear(0), "cmd=barrier_out rc=0\n");
}

TEST_F(PmiRanksTest, BetweenNodesTheExchangeIsAsked) {
  begin(2);
  EXPECT_EQ(given_, std::vector<std::string>{"size 2 kvs\n"});
  say(0, kInit);
  say(1, kInit);
  ranks_.exchanged(0, std::vector<std::string>{"size 2 kvs\n", "size 2 kvs\n"});
  say(0, "cmd=barrier_in\n");
  say(1, "cmd=barrier_in\n");
  ASSERT_EQ(given_.size(), 2u);
  (void)hear(0);
  ranks_.exchanged(1, std::vector<std::string>{"", ""});
  EXPECT_EQ(hear(0), "cmd=barrier_out rc=0\n");
}

TEST_F(PmiRanksTest, AnAbortUnreadAtTheExitCounts) {
  begin();
  const std::string_view abort = "cmd=abort exitcode=7\n";
  ASSERT_EQ(write(ends_[0].get(), abort.data(), abort.size()), 21);
  ends_[0].reset();
  const auto verdict = ranks_.exited(0, false);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->exit_code, 7);
  clock_.advance(kRankEndGrace);
  ASSERT_TRUE(loop_->run_until_idle());
  EXPECT_TRUE(killed_.empty());
}

TEST_F(PmiRanksTest, WhoDoesNotEndAfterItsAbortIsKilled) {
  begin();
  say(1, "cmd=abort exitcode=7\n");
  EXPECT_TRUE(killed_.empty());
  clock_.advance(kRankEndGrace);
  ASSERT_TRUE(loop_->run_until_idle());
  EXPECT_EQ(killed_, std::vector<int>{1});
}

// A rank whose server vanishes crashes, and would be blamed for that.
TEST_F(PmiRanksTest, NonsenseEndsTheRankAndNotItsConnection) {
  begin();
  say(0, "GET / HTTP/1.1\n\n\n");
  EXPECT_EQ(hear(0), "");
  EXPECT_EQ(recv(ends_[0].get(), nullptr, 0, MSG_DONTWAIT), -1);  // neither bytes nor an end
  clock_.advance(kRankEndGrace);
  ASSERT_TRUE(loop_->run_until_idle());
  EXPECT_EQ(killed_, std::vector<int>{0});
  EXPECT_EQ(ranks_.exited(0, false)->exit_code, 1);
}

TEST_F(PmiRanksTest, WhatARankDoesNotReadWaits) {
  begin();
  say(0, kInit);
  const int asked = 4000;
  std::string many;
  for (int i = 0; i < asked; ++i) many += "cmd=get_universe_size\n";
  size_t sent = 0;
  std::string heard;
  for (int turns = 0; turns < 10000 && heard.size() < 31u * asked; ++turns) {
    const ssize_t count =
        send(ends_[0].get(), many.data() + sent, many.size() - sent, MSG_DONTWAIT);
    if (count > 0) sent += static_cast<size_t>(count);
    ASSERT_TRUE(loop_->run_until_idle());
    if (turns % 3 == 2) heard += hear(0);
  }
  EXPECT_EQ(sent, many.size());
  const auto lines = std::count(heard.begin(), heard.end(), '\n');
  EXPECT_EQ(lines, asked + 1);
}

TEST_F(PmiRanksTest, AnotherAttemptBeginsAnew) {
  begin();
  say(0, kInit);
  EXPECT_TRUE(ranks_.exited(0, true));
  (void)ranks_.exited(1, false);
  (void)hear(0);
  begin();
  say(0, kInit);
  EXPECT_EQ(hear(0), "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
  EXPECT_FALSE(ranks_.exited(1, true));
}

}  // namespace
}  // namespace muster::mpi
