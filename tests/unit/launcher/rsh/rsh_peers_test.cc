#include "launcher/rsh/rsh_peers.h"

#include <gtest/gtest.h>

namespace muster::launcher {
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
  const auto peer = find_peer(kNodes, "job-worker-0", host);
  return peer ? (*peer)->identity.name : peer.error().text;
}

TEST(RshPeers, ANodeIsFoundByItsWholeName) {
  EXPECT_EQ(who("job-worker-0"), "job-worker-0");
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
  EXPECT_EQ(find_peer(many, "n0", "b").error().text,
            "'b' is no node of this job, which has n0, n1, n2, n3, n4, n5, n6, n7, ...");
  EXPECT_EQ(find_peer({}, "n0", "b").error().text, "'b': no round runs here");
}

}  // namespace
}  // namespace muster::launcher
