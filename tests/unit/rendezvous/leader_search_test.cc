#include "rendezvous/leader_search.h"

#include <gtest/gtest.h>

namespace muster::rendezvous {
namespace {

Candidate at(const std::string& host, uint16_t port = 29400) {
  return {.host = host, .port = port};
}

RosterEntry node(const std::string& name, const std::string& host, int port = 29400) {
  return {.identity = {name, {}, 1}, .host = host, .port = port};
}

using List = std::vector<Candidate>;

TEST(LeaderSearch, AsksWhoIsListedAndHasNotJoined) {
  const std::vector joined = {node("worker-1", "10.0.0.1"), node("worker-2", "10.0.0.2")};
  EXPECT_EQ(not_joined({at("10.0.0.1"), at("10.0.0.2"), at("10.0.0.3")}, joined),
            List{at("10.0.0.3")});
}

TEST(LeaderSearch, KnowsWhoHasJoinedByItsNameToo) {
  const std::vector joined = {node("worker-1", "10.0.0.1")};
  EXPECT_EQ(not_joined({at("worker-1"), at("worker-1.workers.jobs"), at("worker-10")}, joined),
            List{at("worker-10")});
}

TEST(LeaderSearch, TwoOfOneMachineAreToldApartByTheirPorts) {
  const std::vector joined = {node("worker-1", "10.0.0.1", 29401)};
  EXPECT_EQ(not_joined({at("10.0.0.1"), at("10.0.0.1", 29401)}, joined), List{at("10.0.0.1")});
}

TEST(LeaderSearch, WhoFollowsOneOfUsKnowsOfNoOtherLeader) {
  const List own = places_of(std::vector{node("worker-1", "10.0.0.1")});
  EXPECT_FALSE(leads_others(std::nullopt, own));
  EXPECT_FALSE(leads_others(at("10.0.0.1"), own));
  EXPECT_TRUE(leads_others(at("10.0.0.1", 29401), own));
  EXPECT_TRUE(leads_others(at("10.0.0.7"), own));
}

TEST(LeaderSearch, ALeaderThatWasFoundStandsBehindTheListOnce) {
  EXPECT_EQ(with_leader({at("a"), at("b")}, at("c")), (List{at("a"), at("b"), at("c")}));
  EXPECT_EQ(with_leader({at("a"), at("b")}, at("a")), (List{at("a"), at("b")}));
  EXPECT_EQ(with_leader({at("a")}, std::nullopt), List{at("a")});
}

TEST(LeaderSearch, SlotsInAHostFileMakeNoOtherNode) {
  const List listed = {{.host = "10.0.0.1", .port = 29400, .slots = 8}};
  EXPECT_EQ(with_leader(listed, at("10.0.0.1")), listed);
}

}  // namespace
}  // namespace muster::rendezvous
