#include "rendezvous/xgboost/tracker_server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/log.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_network.h"
#include "tests/support/tracker_wire.h"

namespace muster::rendezvous {
namespace {

namespace wire = muster::testing::tracker_wire;

class TrackerServerTest : public ::testing::Test {
 protected:
  TrackerServerTest() {
    log::set_sink([this](std::string_view line) { log_ += line; });
    server_.begin(2);
  }
  ~TrackerServerTest() override { log::set_sink({}); }

  // A socket pair: one end is the server's, the other is returned.
  UniqueFd connect(std::string_view first_bytes = "") {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    server_.adopt({UniqueFd(ends[1]), std::string(first_bytes)});
    turn();
    return UniqueFd(ends[0]);
  }
  void turn() { ASSERT_TRUE(loop_->run_until_idle()); }
  void write(const UniqueFd& client, std::string_view bytes) {
    ASSERT_EQ(send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    turn();
  }
  static std::string read(const UniqueFd& client) {
    std::string buffer(1 << 16, '\0');
    const ssize_t got = recv(client.get(), buffer.data(), buffer.size(), 0);
    buffer.resize(got < 0 ? 0 : static_cast<size_t>(got));
    return buffer;
  }
  static bool is_closed(const UniqueFd& client) {
    char byte = 0;
    const ssize_t got = recv(client.get(), &byte, 1, 0);
    return got == 0 || (got < 0 && errno == ECONNRESET);
  }
  // What a worker at error port `port` is told; "" = nothing.
  std::string told_at(const UniqueFd& listener) {
    turn();
    auto connection = network_.accept(listener.get());
    return connection ? read(*connection) : "";
  }
  void form_new_group(int error_port0 = 9, int error_port1 = 9) {
    const auto first = connect(wire::json_start("0", 5000, error_port0));
    const auto second = connect(wire::json_start("1", 5001, error_port1));
    ASSERT_TRUE(read(first).ends_with(R"({"host":"host-1","port":5001,"rank":1})"));
  }

  std::string log_;
  std::vector<std::string> printed_;
  std::vector<TrackerFailure> failures_;
  testing::FakeClock clock_;
  testing::FakeNetwork network_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  TrackerServer server_{
      *loop_,
      network_,
      {.print = [this](const std::string& text) { printed_.push_back(text); },
       .failed = [this](const TrackerFailure& failure) { failures_.push_back(failure); },
       .host = [](const std::string& task_id, const std::string&) { return "host-" + task_id; }}};
};

TEST_F(TrackerServerTest, NewWorkersAreToldTheirSuccessors) {
  const auto second = connect(wire::json_start("1", 5001, 6001));
  EXPECT_EQ(read(second), wire::kMagic + wire::text(R"({"world_size":2})"));
  const auto first = connect(wire::json_start("0", 5000, 6000));
  EXPECT_EQ(read(first), wire::kMagic + wire::text(R"({"world_size":2})") +
                             wire::text(R"({"host":"host-1","port":5001,"rank":1})"));
  EXPECT_EQ(read(second), wire::text(R"({"host":"host-0","port":5000,"rank":0})"));
  EXPECT_TRUE(is_closed(first));
  EXPECT_TRUE(is_closed(second));
  EXPECT_EQ(server_.clients(), 0U);
}

TEST_F(TrackerServerTest, OneByteAfterAnotherIsTheSame) {
  const auto second = connect(wire::json_start("1", 5001, 6001));
  const auto first = connect();
  for (const char byte : wire::json_start("0", 5000, 6000)) write(first, {&byte, 1});
  EXPECT_TRUE(read(first).ends_with(R"({"host":"host-1","port":5001,"rank":1})"));
}

TEST_F(TrackerServerTest, AWorkerAloneIsItsOwnSuccessor) {
  server_.begin(1);
  const auto only = connect(wire::json_start("0", 5000, 6000));
  EXPECT_TRUE(read(only).ends_with(R"({"host":"host-0","port":5000,"rank":0})"));
}

TEST_F(TrackerServerTest, ClassicWorkersAreLinked) {
  const auto second = connect(wire::classic_start("1"));
  const auto first = connect(wire::classic_start("0"));
  // rank, parent, size, one neighbour, previous and next
  const auto place = [](int rank, int parent, int other) {
    std::string bytes = wire::kMagic;
    for (const int number : {rank, parent, 2, 1, other, other, other})
      bytes += wire::number(number);
    return bytes;
  };
  EXPECT_EQ(read(first), place(0, -1, 1));
  EXPECT_EQ(read(second), place(1, 0, 0));
  // Rank 1 asks before the one that it dials listens.
  write(second, wire::number(0));
  EXPECT_EQ(read(second), "");
  write(first, wire::number(0));
  EXPECT_EQ(read(first), wire::number(0) + wire::number(1));
  write(first, wire::number(0) + wire::number(7000));
  EXPECT_TRUE(is_closed(first));
  EXPECT_EQ(read(second), wire::number(1) + wire::number(0) + wire::text("host-0") +
                              wire::number(7000) + wire::number(0));
  // It could not, and asks again.
  write(second, wire::number(1) + wire::number(0));
  EXPECT_TRUE(read(second).ends_with(wire::number(7000) + wire::number(0)));
  write(second, wire::number(0) + wire::number(7001));
  EXPECT_TRUE(is_closed(second));
  EXPECT_EQ(failures_.size(), 0U);
}

TEST_F(TrackerServerTest, AWorkerThatNeverReachesItsPeersIsGivenUp) {
  const auto second = connect(wire::classic_start("1"));
  const auto first = connect(wire::classic_start("0"));
  write(first, wire::number(0));
  write(first, wire::number(0) + wire::number(7000));
  write(second, wire::number(0));
  for (int round = 1; round < kMaxLinkRounds; ++round)
    write(second, wire::number(1) + wire::number(0));
  EXPECT_EQ(server_.clients(), 1U);
  write(second, wire::number(1) + wire::number(0));
  EXPECT_EQ(server_.clients(), 0U);
  EXPECT_NE(log_.find("cannot reach its peers"), std::string::npos) << log_;
}

TEST_F(TrackerServerTest, AClassicWorkerLostInItsJoinTakesTheOthersAlong) {
  auto second = connect(wire::classic_start("1"));
  const auto first = connect(wire::classic_start("0"));
  EXPECT_FALSE(read(first).empty());
  second.reset();
  turn();
  EXPECT_TRUE(is_closed(first));
}

TEST_F(TrackerServerTest, OthersDisturbNobody) {
  const auto waiting = connect(wire::json_start("1", 5001, 6001));
  const auto silent = connect(wire::kMagic);
  const auto garbage = connect(wire::kMagic + std::string(200, '{'));
  const auto bad_json = connect(wire::kMagic + wire::text("{\"x\":"));
  const auto twice = connect(wire::json_start("1", 5002, 6002));
  const auto stray = connect(wire::json_start("someone", 5003, 6003));
  const auto early_links = connect(wire::classic_start("x") + wire::number(0));
  EXPECT_TRUE(read(garbage).starts_with(wire::kMagic));
  EXPECT_TRUE(is_closed(garbage));
  EXPECT_EQ(read(twice), wire::kMagic);
  EXPECT_TRUE(is_closed(twice));
  EXPECT_NE(log_.find("task 1 waits to join already"), std::string::npos) << log_;
  EXPECT_NE(log_.find("task someone joins no workers"), std::string::npos) << log_;
  const auto first = connect(wire::json_start("0", 5000, 6000));
  EXPECT_TRUE(read(first).ends_with(R"({"host":"host-1","port":5001,"rank":1})"));
  EXPECT_EQ(failures_.size(), 0U);
}

TEST_F(TrackerServerTest, WhoSaysNothingHasTenSecondsAndOneThatWaitsAllTime) {
  const auto silent = connect(wire::kMagic);
  const auto slow = connect(wire::json_header(0, 2, "0"));
  const auto waiting = connect(wire::json_start("1", 5001, 6001));
  clock_.advance(std::chrono::seconds(9));
  turn();
  EXPECT_EQ(server_.clients(), 3U);
  clock_.advance(std::chrono::seconds(1));
  turn();
  EXPECT_EQ(server_.clients(), 2U);
  EXPECT_EQ(read(silent), wire::kMagic);
  EXPECT_TRUE(is_closed(silent));
  clock_.advance(std::chrono::hours(5));
  turn();
  EXPECT_EQ(server_.clients(), 2U);
}

TEST_F(TrackerServerTest, WhatAMemberPrintsIsPrintedOnce) {
  form_new_group();
  const auto client = connect(wire::json(0, 2, "0", R"({"cmd":4,"msg":"[0]\ttrain-rmse:1.5"})"));
  EXPECT_EQ(printed_, std::vector<std::string>{"[0]\ttrain-rmse:1.5"});
  EXPECT_EQ(read(client), wire::kMagic);
  EXPECT_TRUE(is_closed(client));
  (void)connect(wire::json(0, 2, "9", R"({"cmd":4,"msg":"of a stranger"})"));
  (void)connect(wire::json(0, 3, "0", R"({"cmd":4,"msg":"of an attempt before"})"));
  EXPECT_EQ(printed_.size(), 1U);
}

TEST_F(TrackerServerTest, SignalErrorFailsNobody) {
  const auto listener = network_.listen({"host-1", 6001});
  form_new_group(0, 6001);
  (void)connect(wire::json(0, 2, "0", R"({"cmd":3,"code":0,"msg":"oh"})"));
  EXPECT_EQ(told_at(*listener), "");
  EXPECT_NE(log_.find("tracker.error_signalled"), std::string::npos);
  EXPECT_EQ(failures_.size(), 0U);
}

TEST_F(TrackerServerTest, ALostWorkerIsToldToTheOthersOnce) {
  const auto failed = network_.listen({"host-0", 6000});
  const auto listener = network_.listen({"host-1", 6001});
  form_new_group(6000, 6001);
  EXPECT_FALSE(server_.worker_ended(0, false));
  EXPECT_EQ(told_at(*listener), wire::number(1));
  EXPECT_FALSE(server_.worker_ended(1, false));
  EXPECT_EQ(told_at(*listener), "");
  EXPECT_EQ(told_at(*failed), "");
}

TEST_F(TrackerServerTest, WhoHasLeftIsToldNothing) {
  const auto listener = network_.listen({"host-1", 6001});
  form_new_group(6000, 6001);
  (void)connect(wire::json(1, 2, "1", R"({"cmd":2})"));
  server_.worker_ended(0, false);
  EXPECT_EQ(told_at(*listener), "");
}

TEST_F(TrackerServerTest, AnAgentTellsOfItsWorkers) {
  const auto listener = network_.listen({"host-1", 6001});
  form_new_group(6000, 6001);
  (void)connect(encode_ended(0, 3, false));  // of a round before
  EXPECT_EQ(told_at(*listener), "");
  (void)connect(encode_ended(0, 2, false));
  EXPECT_EQ(told_at(*listener), wire::number(1));
}

TEST_F(TrackerServerTest, AFailureEndsTheWaitOfThoseThatJoin) {
  const auto waiting = connect(wire::json_start("1", 5001, 6001));
  EXPECT_FALSE(read(waiting).empty());
  server_.worker_ended(0, false);
  EXPECT_TRUE(is_closed(waiting));
}

TEST_F(TrackerServerTest, NobodyWaitsForAWorkerThatHasEnded) {
  const auto waiting = connect(wire::json_start("1", 5001, 6001));
  EXPECT_FALSE(read(waiting).empty());
  const auto failure = server_.worker_ended(0, true);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->rank, 0);
  EXPECT_TRUE(is_closed(waiting));
  EXPECT_EQ(failures_.size(), 0U);  // the caller knows
  const auto late = connect(wire::json_start("1", 5001, 6001));
  ASSERT_EQ(failures_.size(), 1U);
  EXPECT_EQ(failures_[0].rank, 0);
  (void)connect(wire::json_start("1", 5001, 6001));
  EXPECT_EQ(failures_.size(), 1U);  // once
}

TEST_F(TrackerServerTest, OneThatEndsInTheMiddleIsNamed) {
  form_new_group();
  (void)connect(wire::json(1, 2, "1", R"({"cmd":2})"));
  server_.worker_ended(1, true);
  server_.worker_ended(0, true);
  EXPECT_EQ(log_.find("tracker.worker_absent"), std::string::npos);
  clock_.advance(kTrackerLastWords);
  turn();
  EXPECT_NE(log_.find("tracker.worker_absent rank=0"), std::string::npos) << log_;
  EXPECT_EQ(log_.find("tracker.worker_absent rank=1"), std::string::npos) << log_;
}

TEST_F(TrackerServerTest, MixedWiresFailAllAndAreNamed) {
  const auto first = connect(wire::json_start("0", 5000, 6000));
  const auto second = connect(wire::classic_start("1"));
  EXPECT_FALSE(read(first).empty());
  EXPECT_TRUE(is_closed(first));
  EXPECT_EQ(read(second), wire::kMagic);
  EXPECT_TRUE(is_closed(second));
  ASSERT_EQ(failures_.size(), 1U);
  EXPECT_NE(failures_[0].reason.find("task 0 has XGBoost 2.1"), std::string::npos);
  EXPECT_NE(failures_[0].reason.find("task 1 has XGBoost 2.0"), std::string::npos);
}

TEST_F(TrackerServerTest, BetweenRoundsNobodyIsServed) {
  const auto old = connect(wire::json_start("1", 5001, 6001));
  EXPECT_FALSE(read(old).empty());
  server_.end();
  EXPECT_TRUE(is_closed(old));
  const auto early = connect(wire::json_start("0", 5000, 6000));
  EXPECT_EQ(read(early), wire::kMagic);
  EXPECT_TRUE(is_closed(early));
  EXPECT_NE(log_.find("no workers of this job run now"), std::string::npos) << log_;
}

TEST_F(TrackerServerTest, UnfinishedWordsAreBoundedTogether) {
  const std::string part = wire::json_header(0, 2, "0") + wire::number(65'000);
  std::vector<UniqueFd> clients;
  const size_t fit = kMaxTrackerBytes / 64'000;
  for (size_t i = 0; i < fit + 20; ++i) {
    clients.push_back(connect(part));
    ASSERT_LE(server_.clients(), fit + 1);
    for (int piece = 0; piece < 4; ++piece) {
      // The last one is closed when its bytes would be too many.
      (void)send(clients.back().get(), std::string(16'000, 'x').data(), 16'000, MSG_NOSIGNAL);
      turn();
    }
  }
  EXPECT_NE(log_.find("unfinished words"), std::string::npos);
}

}  // namespace
}  // namespace muster::rendezvous
