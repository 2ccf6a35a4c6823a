// A pump between a journal on a real disk and a target that does what the test says.
#include "launcher/sidecar/pump.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/fake_clock.h"
#include "tests/support/output_fixture.h"

namespace muster::launcher {
namespace {

using muster::testing::CapturedLog;
using muster::testing::FakeClock;
using muster::testing::TempDir;

class FakeTarget final : public Target {
 public:
  void begin(const JournalMark& told, Settled settled) override {
    told_ = told;
    settled_ = std::move(settled);
  }
  [[nodiscard]] bool needs_all() const override { return needs_all_; }
  [[nodiscard]] bool has_room() const override { return waiting_.size() < room_; }
  void take(JournalEvent event) override {
    taken_.push_back(event.mark.seq);
    waiting_.push_back(std::move(event));
  }
  void caught_up() override { ++caught_up_; }
  [[nodiscard]] bool is_idle() const override { return waiting_.empty(); }
  [[nodiscard]] size_t waiting() const override { return waiting_.size(); }
  void settle_all() {
    const JournalMark last = waiting_.back().mark;
    waiting_.clear();
    settled_(last);
  }

  bool needs_all_ = false;
  size_t room_ = 1000;
  JournalMark told_;
  std::vector<uint64_t> taken_;
  int caught_up_ = 0;

 private:
  Settled settled_;
  std::vector<JournalEvent> waiting_;
};

class PumpTest : public ::testing::Test {
 protected:
  void say(uint64_t seq, const std::string& event = "worker.exit") {
    std::ofstream(temp_.path() + "/events.jsonl", std::ios::app)
        << R"({"id":"a-)" << seq << R"(","seq":)" << seq << R"(,"event":")" << event << "\"}\n";
  }
  void open(bool needs_all = false) {
    auto target = std::make_unique<FakeTarget>();
    target->needs_all_ = needs_all;
    target_ = target.get();
    pump_ = std::make_unique<Pump>(*loop_, temp_.path(), "fake", "fake", std::move(target),
                                   [this] { ++changes_; });
  }
  void turn() {
    pump_->poke();
    ASSERT_TRUE(loop_->run_until_idle());
  }

  CapturedLog log_;
  FakeClock clock_;
  TempDir temp_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  FakeTarget* target_ = nullptr;
  std::unique_ptr<Pump> pump_;
  int changes_ = 0;
};

TEST_F(PumpTest, WhatIsSettledIsNotToldAgain) {
  open();
  turn();
  EXPECT_TRUE(pump_->is_done());
  EXPECT_FALSE(pump_->has_lines());
  say(1, "job.start");
  say(2);
  turn();
  EXPECT_EQ(target_->taken_, (std::vector<uint64_t>{1, 2}));
  EXPECT_FALSE(pump_->is_done());
  target_->settle_all();
  turn();
  EXPECT_TRUE(pump_->is_done());
  EXPECT_EQ(changes_, 1);
  say(3, "job.end");
  open();  // another sidecar
  EXPECT_EQ(target_->told_.seq, 2U);
  turn();
  EXPECT_EQ(target_->taken_, std::vector<uint64_t>{3});
  EXPECT_TRUE(pump_->has_end());
}

TEST_F(PumpTest, WhatIsNotSettledIsToldAgain) {
  say(1);
  open();
  turn();
  open();
  turn();
  EXPECT_EQ(target_->taken_, std::vector<uint64_t>{1});
}

TEST_F(PumpTest, TheEndIsKnownToTheNextSidecarUntilAnotherJobBegins) {
  say(1, "job.start");
  say(2, "job.end");
  open();
  turn();
  target_->settle_all();
  turn();
  open();
  turn();
  EXPECT_TRUE(pump_->has_end());
  EXPECT_FALSE(pump_->had_news());
  EXPECT_TRUE(pump_->has_lines());
  say(3, "job.start");
  turn();
  EXPECT_FALSE(pump_->has_end());
  EXPECT_TRUE(pump_->had_news());
}

TEST_F(PumpTest, ATargetWithoutRoomIsNotGivenMoreUntilItHasSome) {
  for (uint64_t seq = 1; seq <= 6000; ++seq) say(seq);
  open();
  target_->room_ = 1;
  turn();
  const size_t first = target_->taken_.size();
  EXPECT_LT(first, 6000U);  // one piece of the file
  EXPECT_FALSE(pump_->is_done());
  while (!pump_->is_done()) {
    target_->settle_all();
    turn();
  }
  EXPECT_EQ(target_->taken_.size(), 6000U);
}

TEST_F(PumpTest, AStateIsMadeOfTheWholeJournal) {
  say(1);
  open(true);
  turn();
  target_->settle_all();
  turn();
  say(2);
  open(true);
  turn();
  EXPECT_EQ(target_->taken_, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(target_->told_.seq, 1U);
}

TEST_F(PumpTest, WhatWasThrownAwayIsToldOnce) {
  say(1);
  open();
  turn();
  say(5);
  turn();
  EXPECT_EQ(log_.count("sidecar.gap"), 1U);
  EXPECT_NE(log_.text().find("events=3"), std::string::npos);
}

TEST_F(PumpTest, APlaceThatCannotBeKeptIsToldOnceAndHoldsNothingUp) {
  std::filesystem::create_directory(temp_.path() + "/sidecar.fake.cursor.new");
  open();
  for (uint64_t seq = 1; seq <= 3; ++seq) {
    say(seq);
    turn();
    target_->settle_all();
    turn();
  }
  EXPECT_EQ(target_->taken_.size(), 3U);
  EXPECT_EQ(log_.count("sidecar.trouble"), 1U);
}

}  // namespace
}  // namespace muster::launcher
