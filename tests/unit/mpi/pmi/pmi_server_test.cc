#include "mpi/pmi/pmi_server.h"

#include <gtest/gtest.h>

namespace muster::mpi {
namespace {

// Nodes of one attempt with two ranks each; exchanges are answered when settle() is called.
class PmiServerTest : public ::testing::Test {
 protected:
  void begin(int nodes) {
    for (int node = 0; node < nodes; ++node)
      nodes_.emplace_back(NodeRanks{node == 0 ? "kvs" : "other", node * 2, 2, nodes * 2, nodes});
    given_.resize(nodes_.size());
    collect();
  }
  // What the rank (of all) hears; "" = nothing yet.
  std::string ask(int rank, const PmiRequest& request) {
    heard_[rank].clear();
    nodes_.at(static_cast<size_t>(rank / 2)).on_request(rank % 2, request);
    collect();
    return heard_[rank];
  }
  void collect() {
    for (size_t node = 0; node < nodes_.size(); ++node) {
      for (const PmiOutput& output : nodes_[node].take_outputs()) {
        if (const auto* answer = std::get_if<pmi_output::Answer>(&output))
          heard_[static_cast<int>(node) * 2 + answer->local_rank] += answer->line;
        if (const auto* exchange = std::get_if<pmi_output::Exchange>(&output))
          given_[node] = {exchange->sequence, exchange->bytes};
        if (const auto* end = std::get_if<pmi_output::End>(&output))
          ended_.push_back(static_cast<int>(node) * 2 + end->local_rank);
      }
    }
  }
  // Everybody has given: everybody gets all.
  void exchange() {
    std::vector<std::string> all;
    uint64_t sequence = 0;
    for (auto& given : given_) {
      ASSERT_TRUE(given);
      sequence = given->first;
      all.push_back(given->second);
      given.reset();
    }
    for (PmiServer& node : nodes_) node.on_exchanged(sequence, all);
    collect();
  }
  std::string reason_of(int rank) {
    const auto verdict = nodes_.at(static_cast<size_t>(rank / 2)).verdict(rank % 2);
    return verdict ? verdict->reason : "";
  }

  std::vector<PmiServer> nodes_;
  std::map<int, std::string> heard_;
  std::vector<std::optional<std::pair<uint64_t, std::string>>> given_;
  std::vector<int> ended_;
};

TEST_F(PmiServerTest, ARankLearnsWhereItIs) {
  begin(1);
  EXPECT_EQ(ask(0, PmiInit{}), "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
  EXPECT_EQ(ask(0, PmiGetMaxes{}),
            "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 rc=0\n");
  EXPECT_EQ(ask(0, PmiGetAppNumber{}), "cmd=appnum appnum=0 rc=0\n");
  EXPECT_EQ(ask(0, PmiGetKvsName{}), "cmd=my_kvsname kvsname=kvs rc=0\n");
  EXPECT_EQ(ask(0, PmiGetUniverseSize{}), "cmd=universe_size size=2 rc=0\n");
  EXPECT_EQ(ask(0, PmiGet{"kvs", "PMI_process_mapping"}),
            "cmd=get_result rc=0 msg=success value=(vector,(0,1,2))\n");
  EXPECT_EQ(ask(0, PmiFinalize{}), "cmd=finalize_ack rc=0\n");
  EXPECT_FALSE(nodes_[0].on_success(0));
}

TEST_F(PmiServerTest, TheSecondVersionIsRefusedByName) {
  begin(1);
  EXPECT_EQ(ask(0, PmiInit{2, 0}), "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n");
  EXPECT_NE(ask(0, PmiInit{1, 1}).find("rc=0"), std::string::npos);
}

TEST_F(PmiServerTest, ABarrierOfOneNodeEndsWithItsLastRank) {
  begin(1);
  for (const int rank : {0, 1}) (void)ask(rank, PmiInit{});
  EXPECT_EQ(ask(0, PmiPut{"kvs", "card", "a b=c"}), "cmd=put_result rc=0 msg=success\n");
  EXPECT_EQ(ask(0, PmiBarrier{}), "");
  EXPECT_EQ(ask(1, PmiBarrier{}), "cmd=barrier_out rc=0\n");
  EXPECT_EQ(heard_[0], "cmd=barrier_out rc=0\n");
  EXPECT_EQ(ask(1, PmiGet{"kvs", "card"}), "cmd=get_result rc=0 msg=success value=a b=c\n");
  EXPECT_EQ(ask(1, PmiGet{"kvs", "none"}), "cmd=get_result rc=-1 msg=no_such_key\n");
  EXPECT_EQ(ask(1, PmiGet{"other", "card"}), "cmd=get_result rc=-1 msg=no_such_key\n");
  EXPECT_EQ(ask(1, PmiPut{"other", "a", "b"}), "cmd=put_result rc=-1 msg=no_such_kvs\n");
}

TEST_F(PmiServerTest, BetweenNodesABarrierIsOneExchangeOfWhatWasPut) {
  begin(2);
  for (const int rank : {0, 1, 2, 3}) (void)ask(rank, PmiInit{});
  // Asked before the nodes have told each other how many ranks they have.
  EXPECT_EQ(ask(2, PmiGet{"kvs", "PMI_process_mapping"}), "");
  exchange();
  EXPECT_EQ(heard_[2], "cmd=get_result rc=0 msg=success value=(vector,(0,2,2))\n");
  for (const int rank : {0, 1, 2, 3}) {
    (void)ask(rank, PmiPut{"kvs", "card-" + std::to_string(rank), "at " + std::to_string(rank)});
    EXPECT_EQ(ask(rank, PmiBarrier{}), "");
  }
  ASSERT_TRUE(given_[0]);
  EXPECT_EQ(given_[0]->second, "put card-0 at 0\nput card-1 at 1\n");
  exchange();
  EXPECT_EQ(heard_[0], "cmd=barrier_out rc=0\n");
  EXPECT_EQ(ask(0, PmiGet{"kvs", "card-3"}), "cmd=get_result rc=0 msg=success value=at 3\n");
  for (const int rank : {0, 1, 2, 3}) (void)ask(rank, PmiBarrier{});
  EXPECT_EQ(given_[1]->second, "");  // told once
  EXPECT_EQ(given_[1]->first, 2u);
}

TEST_F(PmiServerTest, TheFirstNodeNamesTheSpaceOfAll) {
  begin(2);
  (void)ask(2, PmiInit{});
  EXPECT_EQ(ask(2, PmiGetKvsName{}), "");
  exchange();
  EXPECT_EQ(heard_[2], "cmd=my_kvsname kvsname=kvs rc=0\n");
  EXPECT_EQ(ask(2, PmiGetKvsName{}), "cmd=my_kvsname kvsname=kvs rc=0\n");
  EXPECT_EQ(ask(2, PmiPut{"other", "a", "b"}), "cmd=put_result rc=-1 msg=no_such_kvs\n");
}

TEST(PmiServer, ANodeWithoutRanksIsNotInTheMapping) {
  PmiServer server({.space = "kvs", .local_size = 2, .world_size = 4, .nodes = 3, .node = 1});
  server.on_request(0, PmiInit{});
  server.on_request(0, PmiGet{"kvs", "PMI_process_mapping"});
  (void)server.take_outputs();
  server.on_exchanged(0, {"", "size 2 kvs\n", "size 2 other\n"});
  const auto outputs = server.take_outputs();
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(std::get<pmi_output::Answer>(outputs[0]).line,
            "cmd=get_result rc=0 msg=success value=(vector,(0,2,2))\n");
}

TEST_F(PmiServerTest, AnAbortIsTheEndOfItsRankWithItsCode) {
  begin(1);
  (void)ask(0, PmiInit{});
  EXPECT_EQ(ask(0, PmiAbort{7}), "");
  EXPECT_EQ(ended_, std::vector<int>{0});
  ASSERT_TRUE(nodes_[0].verdict(0));
  EXPECT_EQ(nodes_[0].verdict(0)->exit_code, 7);
  EXPECT_EQ(nodes_[0].verdict(0)->reason, "MPI_Abort with code 7");
  EXPECT_EQ(ask(0, PmiGetMaxes{}), "");  // nothing more is answered
  EXPECT_EQ(nodes_[0].on_success(0)->exit_code, 7);
  (void)ask(1, PmiAbort{256});
  EXPECT_EQ(nodes_[0].verdict(1)->exit_code, 1);  // a failure is never 0
}

TEST_F(PmiServerTest, SuccessWithoutFinalizeIsNone) {
  begin(1);
  (void)ask(0, PmiInit{});
  EXPECT_EQ(nodes_[0].on_success(0)->reason, "exit code 0 without MPI_Finalize");
}

TEST_F(PmiServerTest, ProgramsWithoutMpiJustSucceed) {
  begin(1);
  EXPECT_FALSE(nodes_[0].on_success(0));
  EXPECT_FALSE(nodes_[0].on_success(1));
  collect();
  EXPECT_TRUE(ended_.empty());
}

TEST_F(PmiServerTest, WhoWaitsForARankThatNeverBeganIsEnded) {
  begin(1);
  (void)ask(0, PmiInit{});
  EXPECT_FALSE(nodes_[0].on_success(1));
  (void)ask(0, PmiBarrier{});
  EXPECT_EQ(ended_, std::vector<int>{0});
  EXPECT_EQ(reason_of(0), "waits for rank 1, which ended without MPI_Init");
}

TEST_F(PmiServerTest, AlsoOnOtherNodes) {
  begin(2);
  EXPECT_FALSE(nodes_[1].on_success(1));  // before the first exchange is over
  for (const int rank : {0, 1, 2}) (void)ask(rank, PmiInit{});
  exchange();
  for (const int rank : {0, 1}) (void)ask(rank, PmiBarrier{});
  EXPECT_TRUE(ended_.empty());
  exchange();
  EXPECT_EQ(ended_, (std::vector<int>{0, 1}));
  EXPECT_EQ(reason_of(1), "waits for rank 3, which ended without MPI_Init");
  (void)ask(2, PmiBarrier{});
  EXPECT_EQ(reason_of(2), "waits for rank 3, which ended without MPI_Init");
}

TEST_F(PmiServerTest, AnExchangeThatFailsEndsWhoWaits) {
  begin(2);
  exchange();
  for (const int rank : {0, 1}) (void)ask(rank, PmiInit{});
  for (const int rank : {0, 1}) (void)ask(rank, PmiBarrier{});
  nodes_[0].on_exchange_failed("too much");
  collect();
  EXPECT_EQ(ended_, (std::vector<int>{0, 1}));
  EXPECT_EQ(reason_of(0), "too much");
}

TEST_F(PmiServerTest, ABrokenContributionEndsWhoWaits) {
  begin(2);
  exchange();
  for (const int rank : {0, 1}) (void)ask(rank, PmiInit{});
  for (const int rank : {0, 1}) (void)ask(rank, PmiBarrier{});
  nodes_[0].on_exchanged(1, {"", "dance\n"});
  EXPECT_EQ(reason_of(0), "node rank 1 said 'dance' to a PMI barrier");
}

TEST_F(PmiServerTest, RequestsOutOfPlaceEndTheirRank) {
  begin(1);
  (void)ask(0, PmiGetMaxes{});
  EXPECT_EQ(reason_of(0), "asked for PMI before init, in a barrier or after finalize");
  (void)ask(1, PmiInit{});
  (void)ask(1, PmiInit{});
  EXPECT_EQ(reason_of(1), "PMI init twice");
  begin(1);
  nodes_[1].on_nonsense(0, Error{Code::kProtocol, 0, "PMI request: no command in x"});
  EXPECT_EQ(nodes_[1].verdict(0)->reason, "PMI request: no command in x");
}

TEST_F(PmiServerTest, DynamicProcessesAreRefusedInWords) {
  begin(1);
  (void)ask(0, PmiInit{});
  EXPECT_EQ(ask(0, PmiDynamic{"spawn_result"}),
            "cmd=spawn_result rc=-1 msg=dynamic_processes_are_not_served_by_muster\n");
  EXPECT_EQ(ask(0, PmiDynamic{""}), "");
}

TEST_F(PmiServerTest, WhatANodePutsBetweenBarriersIsLimited) {
  begin(1);
  (void)ask(0, PmiInit{});
  const std::string value(kMaxPmiValueBytes, 'v');
  std::string answer;
  size_t puts = 0;
  do {
    answer = ask(0, PmiPut{"kvs", "key", value});
    ++puts;
  } while (answer.find("rc=0") != std::string::npos);
  EXPECT_EQ(answer, "cmd=put_result rc=-1 msg=too_much_between_two_barriers\n");
  EXPECT_LE(puts * kMaxPmiValueBytes, kMaxPmiPutBytes + kMaxPmiValueBytes);
}

TEST_F(PmiServerTest, WhatAllPutIsLimited) {
  begin(2);
  exchange();
  for (const int rank : {0, 1}) (void)ask(rank, PmiInit{});
  const std::string value(kMaxPmiValueBytes, 'v');
  constexpr size_t kPerExchange = 1000;
  size_t keys = 0;
  uint64_t sequence = 1;
  while (ended_.empty() && sequence < 100) {
    std::string other;
    for (size_t i = 0; i < kPerExchange; ++i)
      other += "put key-" + std::to_string(keys++) + " " + value + "\n";
    for (const int rank : {0, 1}) (void)ask(rank, PmiBarrier{});
    nodes_[0].on_exchanged(sequence++, {"", other});
    collect();
  }
  EXPECT_EQ(ended_, (std::vector<int>{0, 1}));
  EXPECT_EQ(reason_of(0), "PMI: the ranks put more than 16777216 bytes");
  EXPECT_GT((keys + kPerExchange) * kMaxPmiValueBytes, kMaxPmiStoreBytes);
}

}  // namespace
}  // namespace muster::mpi
