#include "launcher/agent/finding/port_choice.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/support/fake_clock.h"
#include "tests/support/fake_network.h"

namespace muster::launcher {
namespace {

using rendezvous::Candidate;

constexpr uint16_t kPort = 29400;
constexpr uint16_t kFirstFreePort = 40000;  // FakeNetwork's

class PortChoiceTest : public ::testing::Test {
 protected:
  PortChoiceTest() {
    question_.candidates = {{"worker-0", kPort}, {"worker-1", kPort}};
    question_.find_self = [this](uint16_t) { return self_; };
    question_.is_beside_us = [this] { return beside_; };
  }
  ChosenPort choose() {
    auto chosen = choose_port(*loop_, network_, question_);
    EXPECT_TRUE(chosen) << (chosen ? "" : chosen.error().text);
    return chosen ? std::move(*chosen) : ChosenPort();
  }
  void take(const Address& address) {
    auto listener = network_.listen(address);
    ASSERT_TRUE(listener);
    taken_.push_back(std::move(*listener));
  }
  static std::string address(const ChosenPort& chosen) {
    return chosen.store ? chosen.store->address().to_string() : "";
  }

  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  testing::FakeNetwork network_;
  std::vector<UniqueFd> taken_;
  PortQuestion question_;
  std::optional<int> self_;
  bool beside_ = false;
};

TEST_F(PortChoiceTest, ACandidateHasItsOwnPortOnEveryInterface) {
  self_ = 1;
  question_.candidates[1].port = 5000;
  const ChosenPort chosen = choose();
  EXPECT_EQ(address(chosen), "[::]:5000");
  EXPECT_EQ(chosen.candidate, 1);
  EXPECT_FALSE(chosen.shares_machine);
}

TEST_F(PortChoiceTest, WithALocalAddressNoOtherIsListenedOn) {
  self_ = 0;
  question_.own_address = "10.0.0.7";
  const ChosenPort chosen = choose();
  EXPECT_EQ(address(chosen), "10.0.0.7:29400");
  EXPECT_EQ(chosen.listen_host, "10.0.0.7");
}

TEST_F(PortChoiceTest, OfAgentsOnOneMachineEachIsTheFirstCandidateThatIsFree) {
  question_.candidates = {{"127.0.0.1", 5000}, {"127.0.0.1", 5001}};
  question_.find_self = [](uint16_t port) { return std::optional<int>(port - 5000); };
  const ChosenPort first = choose();
  EXPECT_EQ(address(first), "127.0.0.1:5000");
  EXPECT_EQ(first.candidate, 0);
  EXPECT_TRUE(first.shares_machine);
  const ChosenPort second = choose();
  EXPECT_EQ(address(second), "127.0.0.1:5001");
  EXPECT_EQ(second.candidate, 1);
  const ChosenPort third = choose();
  EXPECT_EQ(third.candidate, std::nullopt);
  EXPECT_EQ(address(third), "127.0.0.1:40000");
  EXPECT_TRUE(third.shares_machine);
}

TEST_F(PortChoiceTest, WhoIsNoCandidateTakesTheUsualPortOrAnyOther) {
  const ChosenPort usual = choose();
  EXPECT_EQ(address(usual), "[::]:29400");
  EXPECT_EQ(usual.candidate, std::nullopt);
  EXPECT_FALSE(usual.shares_machine);
  const ChosenPort other = choose();
  EXPECT_EQ(address(other), "[::]:40000");
  EXPECT_TRUE(other.shares_machine);
}

TEST_F(PortChoiceTest, WhereNodesAreKnownTheirPortMustBeFree) {
  question_.known_nodes = true;
  question_.rank_note = "; without --node-rank this node is node rank 0";
  self_ = 0;
  take({"::", kPort});
  const auto refused = choose_port(*loop_, network_, question_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().os_errno, EADDRINUSE);
  EXPECT_EQ(refused.error().text,
            "port 29400 of this node is taken by another process, and nodes look for node rank 0 "
            "there; without --node-rank this node is node rank 0");
}

TEST_F(PortChoiceTest, WhereNodesAreKnownNobodyTakesThePortOfAnother) {
  question_.known_nodes = true;
  question_.candidates = {{"worker-0", kFirstFreePort}};
  const ChosenPort apart = choose();
  EXPECT_EQ(address(apart), "[::]:40001");
  EXPECT_EQ(apart.candidate, std::nullopt);
  EXPECT_FALSE(apart.shares_machine);
  beside_ = true;
  EXPECT_TRUE(choose().shares_machine);
}

}  // namespace
}  // namespace muster::launcher
