#include "rendezvous/finding/dial_probe.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/support/fake_clock.h"
#include "tests/support/fake_network.h"
#include "tests/support/silent_network.h"

namespace muster::rendezvous {
namespace {

class DialProbeTest : public ::testing::Test {
 protected:
  std::unique_ptr<DialProbe> probe(Network& network, const Address& address) {
    return std::make_unique<DialProbe>(*loop_, network, address,
                                       [this](DialResult result) { result_ = result; });
  }
  void turn() { ASSERT_TRUE(loop_->run_until_idle()); }

  const Address kAddress{"10.0.0.7", 29400};
  testing::FakeClock clock_;
  testing::FakeNetwork network_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  std::optional<DialResult> result_;
};

TEST_F(DialProbeTest, SomebodyListensAndIsLeftAlone) {
  auto listener = network_.listen(kAddress);
  ASSERT_TRUE(listener);
  const auto probing = probe(network_, kAddress);
  turn();
  EXPECT_FALSE(result_);
  clock_.advance(kProbeSettle);
  turn();
  EXPECT_EQ(result_, DialResult::kConnected);
  auto accepted = network_.accept(listener->get());
  ASSERT_TRUE(accepted);
  char byte = 0;
  EXPECT_EQ(read(accepted->get(), &byte, 1), 0);
}

TEST_F(DialProbeTest, AListenerThatIsBeingClosedIsAskedAgain) {
  RealNetwork real;
  auto listener = real.listen({"127.0.0.1", 0});
  ASSERT_TRUE(listener);
  const auto probing = probe(real, *real.local_address(listener->get()));
  turn();
  listener->reset();  // resets what it has not accepted
  turn();
  EXPECT_EQ(result_, DialResult::kRefused);
}

TEST_F(DialProbeTest, AListenerThatWasClosedBeforeWeLookedIsAskedAgain) {
  RealNetwork real;
  auto listener = real.listen({"127.0.0.1", 0});
  ASSERT_TRUE(listener);
  const auto probing = probe(real, *real.local_address(listener->get()));
  listener->reset();  // the connection stood, and is reset by now
  turn();
  turn();
  EXPECT_EQ(result_, DialResult::kRefused);
}

TEST_F(DialProbeTest, WhoDropsEveryConnectionLives) {
  auto listener = network_.listen(kAddress);
  ASSERT_TRUE(listener);
  const auto probing = probe(network_, kAddress);
  for (int attempt = 0; attempt < kProbeAttempts; ++attempt) {
    EXPECT_FALSE(result_);
    turn();
    (void)network_.accept(listener->get());  // and closed at once
    turn();
  }
  EXPECT_EQ(result_, DialResult::kConnected);
}

TEST_F(DialProbeTest, NobodyListens) {
  const auto probing = probe(network_, kAddress);
  EXPECT_FALSE(result_);
  turn();
  EXPECT_EQ(result_, DialResult::kRefused);
}

TEST_F(DialProbeTest, NobodyListensOnARealPort) {
  RealNetwork real;
  auto listener = real.listen({"127.0.0.1", 0});
  ASSERT_TRUE(listener);
  const Address address = *real.local_address(listener->get());
  listener->reset();
  const auto probing = probe(real, address);
  turn();
  EXPECT_EQ(result_, DialResult::kRefused);
}

TEST_F(DialProbeTest, SilenceProvesNothing) {
  testing::SilentNetwork silent;
  const auto probing = probe(silent, kAddress);
  turn();
  EXPECT_FALSE(result_);
  clock_.advance(kProbeDeadline);
  turn();
  EXPECT_EQ(result_, DialResult::kNoAnswer);
}

TEST_F(DialProbeTest, ADestroyedProbeTellsNothing) {
  probe(network_, kAddress).reset();
  turn();
  EXPECT_FALSE(result_);
}

}  // namespace
}  // namespace muster::rendezvous
