#include "mpi/rsh/rsh_peers.h"

#include <gtest/gtest.h>

namespace muster::mpi {
namespace {

using rendezvous::RosterEntry;

RosterEntry node(const std::string& name, const std::string& host) {
  RosterEntry entry;
  entry.identity.name = name;
  entry.host = host;
  entry.port = 29400;
  return entry;
}

const std::vector<RosterEntry> kNodes = {
    node("job-worker-0", "10.0.0.1"), node("job-worker-1.job.ns.svc", "10.0.0.2"),
    node("a.x", "10.0.0.3"), node("a.y", "10.0.0.4"), node("10", "10.0.0.5")};

// The node's name, or why not.
std::string who(const std::string& host) {
  const auto peer = find_peer(kNodes, kNodes.size(), "job-worker-0", host);
  EXPECT_FALSE(peer.may_come);
  return peer.entry != nullptr ? peer.entry->identity.name : peer.reason;
}

TEST(RshPeers, ANodeIsFoundByItsWholeName) {
  EXPECT_EQ(who("job-worker-0"), "job-worker-0");
  EXPECT_EQ(who("Job-Worker-0"), "job-worker-0");
  EXPECT_EQ(who("JOB-WORKER-0.Svc"), "job-worker-0");
  EXPECT_EQ(who("a.y"), "a.y");
}

TEST(RshPeers, OrByItsFirstLabelWhicheverSideHasTheDomain) {
  EXPECT_EQ(who("job-worker-0.job.ns.svc.cluster.local"), "job-worker-0");
  EXPECT_EQ(who("job-worker-1"), "job-worker-1.job.ns.svc");
  EXPECT_EQ(who("a"), "'a' could be a.x, a.y");
}

TEST(RshPeers, OrByItsAddressWhichHasNoLabels) {
  EXPECT_EQ(who("10.0.0.2"), "job-worker-1.job.ns.svc");
  EXPECT_EQ(who("10.0.0.5"), "10");
  EXPECT_EQ(who("10.0.0.9").substr(0, 33), "'10.0.0.9' is no node of this job");
}

TEST(RshPeers, LocalhostIsTheNodeThatIsAsked) { EXPECT_EQ(who("localhost"), "job-worker-0"); }

TEST(RshPeers, WhoIsNotThereIsToldWithThoseWhoAre) {
  EXPECT_EQ(who("b"),
            "'b' is no node of this job, which has job-worker-0, job-worker-1.job.ns.svc, a.x, "
            "a.y, 10");
  std::vector<RosterEntry> many;
  for (int i = 0; i < 9; ++i) many.push_back(node("n" + std::to_string(i), "10.0.0.1"));
  EXPECT_EQ(find_peer(many, 9, "n0", "b").reason,
            "'b' is no node of this job, which has n0, n1, n2, n3, n4, n5, n6, n7, ...");
}

TEST(RshPeers, WhereNodesAreMissingOneMayStillCome) {
  const PeerAnswer answer = find_peer({node("n0", "10.0.0.1")}, 3, "n0", "n2");
  EXPECT_TRUE(answer.may_come);
  EXPECT_EQ(answer.reason,
            "'n2' is no node of this job, which has n0; 1 of up to 3 nodes are here");
  const PeerAnswer before = find_peer({}, 1, "n0", "b");
  EXPECT_TRUE(before.may_come);
  EXPECT_EQ(before.reason, "'b': no round runs here");
  // Whoever comes would not make it clear which one is meant.
  EXPECT_FALSE(find_peer(kNodes, 99, "a.x", "a").may_come);
}

}  // namespace
}  // namespace muster::mpi
