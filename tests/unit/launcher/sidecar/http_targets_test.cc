// Webhooks and states over a network of the test's.
#include <gtest/gtest.h>

#include <algorithm>

#include "launcher/sidecar/state_target.h"
#include "launcher/sidecar/webhook_target.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_etcd.h"
#include "tests/support/fake_files.h"
#include "tests/support/fake_resolver.h"
#include "tests/support/output_fixture.h"

namespace muster::launcher {
namespace {

using namespace std::chrono_literals;
using muster::testing::CapturedLog;
using muster::testing::FakeClock;
using muster::testing::FakeEtcd;
using muster::testing::FakeFiles;
using muster::testing::FakeNetwork;
using muster::testing::FakeResolver;
using muster::testing::TempDir;

class HttpTargetsTest : public ::testing::Test {
 protected:
  HttpTargetsTest() { resolver_.set("controller", {kReceiver.host}); }
  [[nodiscard]] SidecarDoors doors() { return {*loop_, clock_, files_, network_, resolver_}; }
  static JournalEvent event(uint64_t seq) {
    const std::string number = std::to_string(seq);
    return {{seq, "a-" + number}, "e", "job", "node", R"({"seq":)" + number + "}", ""};
  }
  void begin(Target& target) {
    target.begin({}, [this](const JournalMark& mark) { settled_.push_back(mark.seq); });
  }
  void give(Target& target, uint64_t seq) {
    target.take(event(seq));
    target.caught_up();
    turn();
  }
  void turn() { ASSERT_TRUE(loop_->run_until_idle()); }
  void pass(Duration time) {
    clock_.advance(time);
    turn();
  }

  const Address kReceiver{"10.0.0.1", 80};
  CapturedLog log_;
  FakeClock clock_;
  FakeNetwork network_;
  FakeFiles files_;
  TempDir temp_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  FakeResolver resolver_{*loop_};
  std::vector<uint64_t> settled_;
};

class WebhookTargetTest : public HttpTargetsTest {
 protected:
  WebhookTargetTest() { begin(target_); }
  // Of each request.
  static std::vector<size_t> events_in(const FakeEtcd& receiver) {
    std::vector<size_t> counts;
    for (const std::string& request : receiver.requests())
      counts.push_back(static_cast<size_t>(std::ranges::count(request, '{')) - 1);
    return counts;
  }
  WebhookTarget target_{doors(),
                        "webhook",
                        *parse_url("http://controller/x"),
                        {},
                        DeadLetters(temp_.path(), "webhook"),
                        kMaxRetryWait};
};

TEST_F(WebhookTargetTest, EventsThatComeWhileOneIsUnderWayGoTogether) {
  FakeEtcd receiver(*loop_, network_, kReceiver);
  give(target_, 1);
  give(target_, 2);
  give(target_, 3);
  EXPECT_EQ(receiver.requests().size(), 1U);
  EXPECT_FALSE(target_.is_idle());
  EXPECT_EQ(target_.waiting(), 3U);
}

TEST_F(WebhookTargetTest, WhatIsTakenIsSettledInOrder) {
  FakeEtcd receiver(*loop_, network_, kReceiver);
  receiver.answer("");
  receiver.answer("");
  give(target_, 1);
  give(target_, 2);
  EXPECT_EQ(settled_, (std::vector<uint64_t>{1, 2}));
  EXPECT_TRUE(target_.is_idle());
  EXPECT_EQ(receiver.connections(), 1);
}

TEST_F(WebhookTargetTest, AReceiverThatIsAwayIsTriedAgain) {
  give(target_, 1);
  EXPECT_EQ(log_.count("sidecar.waiting"), 1U);
  for (int i = 0; i < 10; ++i) pass(10s);
  EXPECT_EQ(log_.count("sidecar.waiting"), 1U);  // once for one reason
  FakeEtcd receiver(*loop_, network_, kReceiver);
  receiver.answer("");
  for (int i = 0; i < 3; ++i) pass(12s);
  EXPECT_EQ(settled_, std::vector<uint64_t>{1});
  EXPECT_EQ(log_.count("sidecar.resumed"), 1U);
}

TEST_F(WebhookTargetTest, OneThatAnswersNothingIsGivenUpAfterItsTime) {
  FakeEtcd receiver(*loop_, network_, kReceiver);
  give(target_, 1);
  pass(kWebhookDeadline - 1ms);
  EXPECT_EQ(log_.count("sidecar.waiting"), 0U);
  pass(1ms);
  EXPECT_EQ(log_.count("sidecar.waiting"), 1U);
  receiver.answer("");
  pass(1s);
  EXPECT_EQ(settled_, std::vector<uint64_t>{1});
}

TEST_F(WebhookTargetTest, AConnectionThatWasClosedWhileIdleIsMadeAnewAtOnce) {
  FakeEtcd receiver(*loop_, network_, kReceiver);
  receiver.answer("");
  receiver.answer("");
  give(target_, 1);
  receiver.hang_up();
  give(target_, 2);
  EXPECT_EQ(settled_, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(log_.count("sidecar.waiting"), 0U);
}

TEST_F(WebhookTargetTest, ADeadLetterIsToldOnceAndHoldsNothingUp) {
  FakeEtcd receiver(*loop_, network_, kReceiver);
  for (int i = 0; i < 2; ++i) receiver.answer_with(422, "no");
  receiver.answer("");
  for (uint64_t seq = 1; seq <= 3; ++seq) give(target_, seq);
  EXPECT_EQ(settled_, (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(log_.count("sidecar.dead_letter"), 1U);
}

TEST_F(WebhookTargetTest, BodiesGetSmallerUntilTheyAreTaken) {
  FakeEtcd receiver(*loop_, network_, kReceiver);
  give(target_, 1);  // it waits for an answer
  for (uint64_t seq = 2; seq <= 8; ++seq) {
    JournalEvent large = event(seq);
    large.line = R"({"pad":")" + std::string(200, 'x') + "\"}";
    target_.take(std::move(large));
  }
  receiver.hang_up();
  turn();
  receiver.answer_with(413, "");
  receiver.answer_with(413, "");
  for (int i = 0; i < 8; ++i) receiver.answer("");
  pass(1s);
  EXPECT_EQ(settled_.back(), 8U);
  EXPECT_EQ(log_.count("sidecar.dead_letter"), 0U);
  EXPECT_EQ(log_.count("sidecar.resumed"), 1U);
  const auto sizes = events_in(receiver);
  ASSERT_GE(sizes.size(), 5U);
  EXPECT_EQ(std::vector<size_t>(sizes.begin(), sizes.begin() + 2), (std::vector<size_t>{1, 8}));
  EXPECT_LE(sizes[2], 4U);
  EXPECT_LE(sizes[3], sizes[2] / 2);
  EXPECT_GT(sizes[4], sizes[3]);  // and larger again when one was taken
}

TEST_F(WebhookTargetTest, OnlyWhatIsRefusedIsBuried) {
  FakeEtcd receiver(*loop_, network_, kReceiver);
  give(target_, 1);
  target_.take(event(2));
  receiver.hang_up();
  turn();
  receiver.answer_with(422, "");  // both
  receiver.answer_with(422, "");  // the first one
  receiver.answer("");
  pass(1s);
  EXPECT_EQ(settled_, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(log_.count("sidecar.dead_letter"), 1U);
  EXPECT_NE(log_.text().find("events=1 first_seq=1 "), std::string::npos);
}

// Says the number of the last event.
class FakeReport final : public StateReport {
 public:
  bool take(const JournalEvent& event) override {
    last_ = event.mark.seq;
    return true;
  }
  [[nodiscard]] std::optional<HttpRequest> request() const override {
    HttpRequest request;
    request.body = std::to_string(last_);
    return request;
  }
  StateVerdict judge(int status) override {
    return status == 200   ? StateVerdict::kTaken
           : status == 404 ? StateVerdict::kStop
           : status == 422 ? StateVerdict::kDropped
                           : StateVerdict::kAgain;
  }
  [[nodiscard]] Duration deadline() const override { return 5s; }
  [[nodiscard]] Duration spacing() const override { return 5s; }

 private:
  uint64_t last_ = 0;
};

class StateTargetTest : public HttpTargetsTest {
 protected:
  StateTargetTest() { begin(target_); }
  FakeEtcd receiver_{*loop_, network_, kReceiver};
  StateTarget target_{
      doors(), "state",      std::make_unique<FakeReport>(), *parse_url("http://controller/s"),
      {},      kMaxRetryWait};
};

TEST_F(StateTargetTest, OnlyTheNewestIsToldAndNotTooOften) {
  for (int i = 0; i < 2; ++i) receiver_.answer("");
  for (uint64_t seq = 1; seq <= 4; ++seq) give(target_, seq);
  EXPECT_EQ(receiver_.requests(), std::vector<std::string>{"/s 1"});
  pass(4999ms);
  EXPECT_EQ(receiver_.requests().size(), 1U);
  pass(1ms);
  EXPECT_EQ(receiver_.requests(), (std::vector<std::string>{"/s 1", "/s 4"}));
  EXPECT_EQ(settled_, (std::vector<uint64_t>{1, 4}));
  EXPECT_TRUE(target_.is_idle());
}

TEST_F(StateTargetTest, WhatFailedIsToldAsItIsThen) {
  receiver_.answer_with(500, "");
  give(target_, 1);
  target_.take(event(2));
  receiver_.answer("");
  pass(10s);
  EXPECT_EQ(receiver_.requests().back(), "/s 2");
  EXPECT_EQ(settled_, std::vector<uint64_t>{2});
}

TEST_F(StateTargetTest, WhatIsRefusedIsNotToldAgain) {
  receiver_.answer_with(422, "");
  give(target_, 1);
  pass(1min);
  EXPECT_EQ(receiver_.requests().size(), 1U);
  EXPECT_TRUE(target_.is_idle());
}

TEST_F(StateTargetTest, WhatWasToldBeforeIsNotToldAgain) {
  target_.begin({2, "a-2"}, [this](const JournalMark& mark) { settled_.push_back(mark.seq); });
  target_.take(event(1));
  target_.take(event(2));
  target_.caught_up();
  turn();
  EXPECT_TRUE(receiver_.requests().empty());
  receiver_.answer("");
  give(target_, 3);
  EXPECT_EQ(receiver_.requests(), std::vector<std::string>{"/s 3"});
}

TEST_F(StateTargetTest, AnotherJournalIsToldWhateverItsNumbers) {
  target_.begin({500, "b-500"}, [this](const JournalMark& mark) { settled_.push_back(mark.seq); });
  target_.take(event(1));
  target_.take(event(2));
  receiver_.answer("");
  target_.caught_up();
  turn();
  EXPECT_EQ(receiver_.requests(), std::vector<std::string>{"/s 2"});
  EXPECT_EQ(settled_, std::vector<uint64_t>{2});
}

TEST_F(StateTargetTest, AReceiverThatIsGoneIsToldNothingMore) {
  receiver_.answer_with(404, "");
  give(target_, 1);
  pass(1min);
  give(target_, 2);
  EXPECT_EQ(receiver_.requests().size(), 1U);
  EXPECT_TRUE(target_.is_idle());
  EXPECT_EQ(log_.count("sidecar.stopped"), 1U);
}

}  // namespace
}  // namespace muster::launcher
