#include "mpi/pmi/pmix_session.h"

#include <gtest/gtest.h>

#include <optional>

namespace muster::mpi {
namespace {

namespace out = pmix_output;

// One node of two ranks, and what it asked for since the last look.
class Node {
 public:
  explicit Node(int nodes = 1)
      : session_({.space = "job_0_" + std::to_string(nodes),
                  .first_rank = 2,
                  .local_size = 2,
                  .world_size = 2 * nodes,
                  .nodes = nodes,
                  .node = nodes - 1,
                  .node_name = "node-" + std::to_string(nodes)},
                 "/tmp/folder") {
    look();
  }

  void hear(const PmixMessage& message) {
    session_.on_server(message);
    look();
  }
  void ready() { hear(pmix::Ready{{{"PMIX_RANK=2"}, {"PMIX_RANK=3"}}}); }
  void exchanged(const std::vector<std::string>& contributions) {
    const uint64_t sequence = exchanges_.back().sequence;
    session_.on_exchanged(sequence, contributions);
    look();
  }
  std::optional<RankVerdict> succeed(int local_rank) {
    auto verdict = session_.on_success(local_rank);
    look();
    return verdict;
  }
  [[nodiscard]] const std::string& reason(int local_rank) const {
    static const std::string none;
    reason_ = session_.verdict(local_rank);
    return reason_ ? reason_->reason : none;
  }
  void look() {
    for (const PmixOutput& output : session_.take_outputs()) {
      if (const auto* told = std::get_if<out::ToServer>(&output)) told_.push_back(told->message);
      if (const auto* one = std::get_if<out::Release>(&output)) released_.push_back(*one);
      if (const auto* one = std::get_if<out::Exchange>(&output)) exchanges_.push_back(*one);
      if (const auto* one = std::get_if<out::End>(&output)) ended_.push_back(one->local_rank);
    }
  }

  PmixSession session_;
  std::vector<PmixMessage> told_;
  std::vector<out::Release> released_;
  std::vector<out::Exchange> exchanges_;
  std::vector<int> ended_;

 private:
  mutable std::optional<RankVerdict> reason_;
};

TEST(PmixSession, ANodeWithoutRanksIsNone) {
  Node node(3);
  node.exchanged({"", "2 second node-2", "2 third node-3"});
  ASSERT_EQ(node.told_.size(), 1U);
  const auto& begin = std::get<pmix::Begin>(node.told_[0]);
  EXPECT_EQ(begin.node, 1);
  EXPECT_EQ(begin.nodes, (std::vector<pmix::Node>{{"node-2", 2}, {"node-3", 2}}));
  EXPECT_EQ(begin.space, "second");
  node.ready();
  node.hear(pmix::Fence{.data = "b"});
  node.exchanged({"", "Da", "Db"});
  EXPECT_EQ(node.told_.back(), PmixMessage(pmix::Fenced{.ok = true, .data = "ab"}));
}

TEST(PmixSession, OneNodeBeginsAtOnceAndReleasesItsRanksWhenTheServerIsReady) {
  Node node;
  ASSERT_EQ(node.told_.size(), 1U);
  const auto& begin = std::get<pmix::Begin>(node.told_[0]);
  EXPECT_EQ(begin.nodes, (std::vector<pmix::Node>{{"node-1", 2}}));
  EXPECT_EQ(begin.folder, "/tmp/folder");
  EXPECT_TRUE(node.released_.empty());
  node.ready();
  ASSERT_EQ(node.released_.size(), 2U);
  EXPECT_EQ(node.released_[1].environment, std::vector<std::string>{"PMIX_RANK=3"});
}

TEST(PmixSession, OneNodeAnswersItsOwnBarriers) {
  Node node;
  node.ready();
  node.hear(pmix::Fence{"addresses"});
  EXPECT_EQ(node.told_.back(), PmixMessage(pmix::Fenced{.ok = true, .data = "addresses"}));
  EXPECT_TRUE(node.exchanges_.empty());
}

TEST(PmixSession, NodesTellTheirRanksBeforeTheServerBegins) {
  Node node(2);
  EXPECT_TRUE(node.told_.empty());
  ASSERT_EQ(node.exchanges_.size(), 1U);
  EXPECT_EQ(node.exchanges_[0].bytes, "2 job_0_2 node-2");
  node.exchanged({"1 first node,1", "2 second node-2"});
  const auto& begin = std::get<pmix::Begin>(node.told_.at(0));
  EXPECT_EQ(begin.nodes, (std::vector<pmix::Node>{{"node,1", 1}, {"node-2", 2}}));
  EXPECT_EQ(begin.space, "first");
  EXPECT_EQ(begin.node, 1);
}

TEST(PmixSession, ABarrierIsAnExchangeAndItsAnswerIsWhatAllGave) {
  Node node(2);
  node.exchanged({"2 first node-1", "2 second node-2"});
  node.ready();
  node.hear(pmix::Fence{"b"});
  node.hear(pmix::Fence{"second"});  // waits for the first one's answer
  ASSERT_EQ(node.exchanges_.size(), 2U);
  EXPECT_EQ(node.exchanges_[1].sequence, 1U);
  EXPECT_EQ(node.exchanges_[1].bytes, "Db");
  node.exchanged({"Da", "Db"});
  EXPECT_EQ(node.told_.back(), PmixMessage(pmix::Fenced{.ok = true, .data = "ab"}));
  ASSERT_EQ(node.exchanges_.size(), 3U);
  EXPECT_EQ(node.exchanges_[2].bytes, "Dsecond");
}

TEST(PmixSession, ARankThatConnectedMustFinalize) {
  Node node;
  node.ready();
  EXPECT_FALSE(node.session_.is_used());
  node.hear(pmix::Connected{0});
  node.hear(pmix::Connected{1});
  EXPECT_TRUE(node.session_.is_used());
  node.hear(pmix::Finalized{0});
  EXPECT_FALSE(node.succeed(0));
  const auto verdict = node.succeed(1);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->reason, "exit code 0 without MPI_Finalize");
}

TEST(PmixSession, AnAbortEndsItsRankWithItsCode) {
  for (const auto& [status, code] : {std::pair{7, 7}, {256, 1}, {-1, 255}}) {
    Node node;
    node.ready();
    node.hear(pmix::Aborted{1, status});
    EXPECT_EQ(node.ended_, std::vector<int>{1});
    const auto verdict = node.session_.on_failure(1);
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->exit_code, code);
  }
}

TEST(PmixSession, WhoWaitsForARankThatNeverCameIsEnded) {
  Node node;
  node.ready();
  node.hear(pmix::Connected{0});
  EXPECT_FALSE(node.succeed(1));
  EXPECT_EQ(node.ended_, std::vector<int>{0});
  EXPECT_EQ(node.reason(0), "waits for rank 3, which ended without MPI_Init");
}

TEST(PmixSession, SoIsWhoConnectsAfterItLeft) {
  Node node;
  node.ready();
  EXPECT_FALSE(node.succeed(1));
  EXPECT_TRUE(node.ended_.empty());
  node.hear(pmix::Connected{0});
  EXPECT_EQ(node.ended_, std::vector<int>{0});
}

TEST(PmixSession, PlainCommandsMayEndOneAfterTheOther) {
  Node node(2);
  node.exchanged({"2 first node-1", "2 second node-2"});
  node.ready();
  EXPECT_FALSE(node.succeed(0));
  ASSERT_EQ(node.exchanges_.size(), 2U);  // the other nodes hear of it, once
  EXPECT_EQ(node.exchanges_[1].bytes, "Lrank 2");
  node.exchanged({"Lrank 0", "Lrank 2"});
  EXPECT_FALSE(node.succeed(1));
  EXPECT_TRUE(node.ended_.empty());
  EXPECT_EQ(node.exchanges_.size(), 2U);
}

TEST(PmixSession, ARankThatIsMissingElsewhereIsNamed) {
  Node node(2);
  node.exchanged({"2 first node-1", "2 second node-2"});
  node.ready();
  node.hear(pmix::Connected{0});
  node.hear(pmix::Connected{1});
  node.hear(pmix::Fence{""});
  node.exchanged({"Lrank 1", "D"});
  EXPECT_EQ(node.ended_, (std::vector<int>{0, 1}));
  EXPECT_EQ(node.reason(1), "waits for rank 1, which ended without MPI_Init");
}

TEST(PmixSession, WithoutAServerAllRanksEndOnceWithTheReason) {
  Node node;
  node.hear(pmix::Unusable{"no PMIx library"});
  node.session_.on_server_lost("it has ended");
  node.look();
  EXPECT_EQ(node.ended_, (std::vector<int>{0, 1}));
  EXPECT_EQ(node.reason(0), "no PMIx library");
  const auto verdict = node.session_.on_failure(0);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->exit_code, 78);
  EXPECT_TRUE(verdict->infrastructure);
}

TEST(PmixSession, AServerThatIsNotReadyInTimeIsNone) {
  Node node;
  EXPECT_TRUE(node.session_.awaits_server());
  node.session_.on_server_late(std::chrono::seconds(20));
  node.look();
  EXPECT_EQ(node.ended_, (std::vector<int>{0, 1}));
  EXPECT_EQ(node.reason(1),
            "the PMIx server of this node is not ready after 20 s (--mpi-start-timeout)");
  EXPECT_EQ(node.session_.verdict(1)->exit_code, 69);
  EXPECT_FALSE(node.session_.awaits_server());
  // Too late now.
  node.ready();
  EXPECT_TRUE(node.released_.empty());
}

TEST(PmixSession, OnlyAServerThatKnowsTheJobCanBeLate) {
  Node node(2);
  EXPECT_FALSE(node.session_.awaits_server());
  node.exchanged({"2 first node-1", "2 second node-2"});
  EXPECT_TRUE(node.session_.awaits_server());
  node.ready();
  EXPECT_FALSE(node.session_.awaits_server());
  node.session_.on_server_late(std::chrono::seconds(20));
  node.look();
  EXPECT_TRUE(node.ended_.empty());
}

TEST(PmixSession, WhatNobodyShouldSayEndsTheRanksAndNotTheAgent) {
  const auto ends = [](int nodes, const auto& say) {
    Node node(nodes);
    say(node);
    return node.ended_.size() == 2;
  };
  EXPECT_TRUE(ends(1, [](Node& node) { node.hear(pmix::Ready{{{"A=1"}}}); }));
  EXPECT_TRUE(ends(1, [](Node& node) { node.hear(pmix::Begin{}); }));
  EXPECT_TRUE(ends(
      1, [](Node& node) { node.hear(pmix::Fence{std::string(kMaxPmixFenceBytes + 1, 'x')}); }));
  EXPECT_TRUE(ends(2, [](Node& node) { node.exchanged({"size 2 kvs\n", "2 second node-2"}); }));
  EXPECT_TRUE(ends(2, [](Node& node) {
    node.exchanged({"2 first node-1", "2 second node-2"});
    node.ready();
    node.hear(pmix::Fence{""});
    node.exchanged({"", "D"});
  }));
  Node node;
  node.ready();
  node.ready();
  node.hear(pmix::Connected{2});
  node.hear(pmix::Finalized{-1});
  node.hear(pmix::Aborted{9, 1});
  EXPECT_TRUE(node.ended_.empty());
  EXPECT_EQ(node.released_.size(), 2U);
}

TEST(PmixSession, AnExchangeThatFailsEndsTheRanks) {
  Node node(2);
  node.session_.on_exchange_failed("more than 2 MiB");
  node.look();
  EXPECT_EQ(node.ended_.size(), 2U);
}

TEST(PmixSessionTable, EveryPairIsDecided) {
  EXPECT_EQ(pmix_transitions().size(), kPmixStates * kPmixEvents);
  for (const PmixTransition& row : pmix_transitions()) {
    const bool idle = row.action == PmixAction::kNothing || row.action == PmixAction::kBug;
    EXPECT_EQ(row.why.empty(), !idle) << to_string(row.state) << " " << to_string(row.event);
    EXPECT_EQ(&transition(row.state, row.event), &row);
  }
}

TEST(PmixSession, NamesOfOtherNodesAreOneLineThatIsShown) {
  Node node(2);
  node.exchanged({"1 first a\x1b[2J\nb", "2 second node-2"});
  EXPECT_EQ(std::get<pmix::Begin>(node.told_.at(0)).nodes.at(0).name, "a\\x1b[2J\\nb");
}

}  // namespace
}  // namespace muster::mpi
