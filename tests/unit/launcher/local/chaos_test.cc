#include "launcher/local/chaos.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string complaint(std::string_view text) {
  const auto faults = parse_chaos(text, 3);
  return faults ? "accepted" : faults.error().text;
}

Fault fault(FaultKind kind, int target, Duration after) {
  return {kind, target, {}, {after, "", 0}};
}

TEST(ChaosTest, EveryFaultHasATargetAndATime) {
  const auto faults = parse_chaos(
      "kill-node:2@5s, "
      "stop-node:1@500ms,continue-node:1@2,preempt-node:3@1m,kill-rank:7@3s,heal@9s",
      3);
  ASSERT_TRUE(faults) << faults.error().text;
  EXPECT_EQ(*faults, (std::vector<Fault>{fault(FaultKind::kKillNode, 2, seconds(5)),
                                         fault(FaultKind::kStopNode, 1, milliseconds(500)),
                                         fault(FaultKind::kContinueNode, 1, seconds(2)),
                                         fault(FaultKind::kPreemptNode, 3, seconds(60)),
                                         fault(FaultKind::kKillRank, 7, seconds(3)),
                                         fault(FaultKind::kHeal, 0, seconds(9))}));
  EXPECT_TRUE(parse_chaos("", 3)->empty());
}

TEST(ChaosTest, ATimeMayBeARoundOrAnythingThatIsPrinted) {
  const auto faults = parse_chaos("kill-node:2@round=3,partition:1+3@epoch=4", 3);
  ASSERT_TRUE(faults) << faults.error().text;
  EXPECT_EQ((*faults)[0].when, (FaultTime{Duration::zero(), "round", 3}));
  EXPECT_EQ((*faults)[1].when, (FaultTime{Duration::zero(), "epoch", 4}));
  EXPECT_EQ((*faults)[1].side, (std::vector<int>{1, 3}));
}

TEST(ChaosTest, NodesThatAreAddedCanBeHit) {
  const auto faults = parse_chaos("add-node@1s,kill-node:4@2s,add-node:4@3s", 3);
  ASSERT_TRUE(faults) << faults.error().text;
  EXPECT_EQ((*faults)[0].target, 0);
  EXPECT_EQ((*faults)[2].target, 4);
  EXPECT_EQ(complaint("kill-node:4@2s"),
            "--chaos 'kill-node:4@2s': '4' is no node; they are 1 to 3");
}

TEST(ChaosTest, WhatIsWrongIsNamed) {
  EXPECT_EQ(complaint("kill-node:0@5s"),
            "--chaos 'kill-node:0@5s': '0' is no node; they are 1 to 3");
  EXPECT_EQ(complaint("kill-node@5s"), "--chaos 'kill-node@5s': which node? they are 1 to 3");
  EXPECT_EQ(complaint("kill-rank@5s"), "--chaos 'kill-rank@5s': which rank? as in kill-rank:0@5s");
  EXPECT_EQ(complaint("partition:1+1@1s"), "--chaos 'partition:1+1@1s': node 1 comes twice");
  EXPECT_EQ(complaint("kill-node:1@soon"),
            "--chaos 'kill-node:1@soon': 'soon' is no time such as 5s or 500ms");
  EXPECT_EQ(complaint("kill-node:1@epoch=x"),
            "--chaos 'kill-node:1@epoch=x': 'epoch=x' is nothing such as round=2 or epoch=3");
  EXPECT_EQ(complaint("burn-node:1@5s"),
            "--chaos 'burn-node:1@5s': 'burn-node' is none of kill-node, stop-node, continue-node, "
            "preempt-node, add-node, kill-rank, partition, heal, random");
  EXPECT_EQ(complaint("kill-node:1@5s,"),
            "--chaos: there is nothing before, behind or between commas");
  EXPECT_EQ(complaint("kill-node:1"),
            "--chaos 'kill-node:1': no '@': it must say when, as in kill-node:2@5s");
  EXPECT_EQ(complaint("partition:1+9@5s"),
            "--chaos 'partition:1+9@5s': '9' is no node; they are 1 to 3");
  EXPECT_EQ(complaint("kill-rank:x@5s"), "--chaos 'kill-rank:x@5s': 'x' is no rank");
  EXPECT_EQ(complaint("heal:2@5s"), "--chaos 'heal:2@5s': '2' is too much");
  EXPECT_EQ(complaint("add-node:999@5s"),
            "--chaos 'add-node:999@5s': '999' is no node; they are 1 to 250");
}

TEST(ChaosTest, TheNumberOfFaultsIsBounded) {
  std::string text = "heal@1s";
  for (size_t i = 0; i < kMaxFaults; ++i) text += ",heal@1s";
  EXPECT_EQ(complaint(text), "--chaos: more than 1000 faults");
}

TEST(ChaosTest, AFaultIsWrittenAsItIsRead) {
  for (const char* text : {"kill-node:2@5s", "add-node@1s", "add-node:3@0.5s",
                           "kill-rank:0@round=2", "partition:1+3@epoch=4", "heal@2s"}) {
    const auto faults = parse_chaos(text, 3);
    ASSERT_TRUE(faults) << faults.error().text;
    EXPECT_EQ(to_string(faults->front()), text);
  }
}

TEST(ChaosTest, APartitionIsFoundAmongOtherFaults) {
  const auto faults = *parse_chaos("kill-node:2@5s,partition:1+3@epoch=4,heal@9s", 3);
  EXPECT_EQ(find_partition(faults), &faults[1]);
  EXPECT_EQ(find_partition(*parse_chaos("kill-node:2@5s,heal@9s", 3)), nullptr);
}

TEST(ChaosTest, ALineWithTheWordAndItsNumberMakesItDue) {
  const FaultTime when{Duration::zero(), "epoch", 3};
  for (const char* line : {"[node-1:0] epoch 3 accuracy 0.9", "epoch=3", "epoch: 12/20",
                           "\"epoch\":3", "epoch 1, then epoch 4"})
    EXPECT_TRUE(is_due(when, line)) << line;
  for (const char* line : {"epoch 2 accuracy 0.9", "myepoch 3", "epoch three", "epoch", "epochs 3",
                           "resumed after epoch 2"})
    EXPECT_FALSE(is_due(when, line)) << line;
  EXPECT_FALSE(is_due({seconds(5), "", 0}, "epoch 3"));
  EXPECT_TRUE(is_due({seconds(0), "spare of round", 1}, "reason=\"spare of round 1\""));
}

TEST(ChaosTest, ARoundIsOneWhoseWorkersRun) {
  const FaultTime when{Duration::zero(), "round", 2};
  EXPECT_TRUE(is_due(when, "[node-1] I round.running reason=\"round 2 on 2 nodes\""));
  EXPECT_FALSE(is_due(when, "[node-1] I round.running reason=\"round 1 on 2 nodes\""));
  EXPECT_FALSE(is_due(when, "[node-1] I round.formed reason=\"round 2: 2 of 2 nodes\""));
  EXPECT_FALSE(is_due(when, "my round 2"));
}

}  // namespace
}  // namespace muster::launcher
