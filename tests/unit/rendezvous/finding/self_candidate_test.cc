#include "rendezvous/finding/self_candidate.h"

#include <gtest/gtest.h>

namespace muster::rendezvous {
namespace {

ResolvedCandidate candidate(const std::string& host, uint16_t port = 29400,
                            std::vector<std::string> addresses = {}) {
  return {{host, port, 0, false}, std::move(addresses)};
}

SelfFacts facts() {
  return {"worker-3",
          {{"lo", "127.0.0.1", true, true, false},
           {"eth0", "10.0.0.3", true, false, false},
           {"eth1", "192.168.7.3", true, false, false},
           {"eth1", "fe80::3", true, false, true},
           {"eth0", "fd00::3", true, false, false}},
          "",
          29400};
}

SelfDecision decide(const std::vector<ResolvedCandidate>& candidates,
                    const SelfFacts& known = facts()) {
  return find_self(candidates, known);
}

TEST(FindSelf, ByHostName) {
  const auto self = decide({candidate("worker-2"), candidate("Worker-3.")});
  EXPECT_EQ(self.candidate, 1);
  EXPECT_EQ(self.reason, "Worker-3. is this node: its host name is worker-3");
}

TEST(FindSelf, ByShortServiceAndFullName) {
  EXPECT_EQ(decide({candidate("worker-30.svc"), candidate("worker-3.svc")}).candidate, 1);
  SelfFacts full = facts();
  full.host_name = "worker-3.svc.jobs.svc.cluster.local";
  EXPECT_EQ(decide({candidate("worker-2.svc"), candidate("worker-3.svc")}, full).candidate, 1);
  EXPECT_EQ(decide({candidate("worker-3.other")}, full).candidate, std::nullopt);
}

TEST(FindSelf, ByTheAddressOfAnyInterface) {
  EXPECT_EQ(decide({candidate("10.0.0.2"), candidate("192.168.7.3")}).candidate, 1);
  EXPECT_EQ(decide({candidate("fd00::2"), candidate("fd00::3")}).candidate, 1);
  const auto alias = decide({candidate("head", 1, {"10.0.0.9", "10.0.0.3"})});
  EXPECT_EQ(alias.candidate, 0);
  EXPECT_EQ(alias.reason, "head is this node: eth0 has 10.0.0.3");
}

TEST(FindSelf, LoopbackIsThisNode) {
  EXPECT_EQ(decide({candidate("localhost")}).candidate, 0);
  EXPECT_EQ(decide({candidate("127.0.0.1")}).candidate, 0);
  EXPECT_EQ(decide({candidate("::1")}).candidate, 0);
}

TEST(FindSelf, AddressesThatEveryNodeHasProveNothing) {
  EXPECT_EQ(decide({candidate("other", 1, {"127.0.0.1"})}).candidate, std::nullopt);
  EXPECT_EQ(decide({candidate("fe80::3")}).candidate, std::nullopt);
}

TEST(FindSelf, TheLocalAddressLeavesOtherAddressesToOtherNodes) {
  SelfFacts known = facts();
  known.local_addr = "127.0.1.2";
  EXPECT_EQ(decide({candidate("127.0.1.1"), candidate("127.0.1.2")}, known).candidate, 1);
  EXPECT_EQ(decide({candidate("127.0.1.1"), candidate("10.0.0.3")}, known).candidate, std::nullopt);
}

TEST(FindSelf, TheOwnPortTellsEqualHostsApart) {
  SelfFacts known = facts();
  known.port = 2;
  EXPECT_EQ(decide({candidate("localhost", 1), candidate("localhost", 2)}, known).candidate, 1);
  known.port = 0;
  const auto unclear = decide({candidate("localhost", 1), candidate("localhost", 2)}, known);
  EXPECT_EQ(unclear.candidate, std::nullopt);
  EXPECT_EQ(unclear.reason, "localhost:1 and localhost:2 both look like this node");
}

TEST(FindSelf, AServiceIsNobody) {
  ResolvedCandidate service = candidate("worker-3");
  service.candidate.is_service = true;
  EXPECT_EQ(decide({service}).candidate, std::nullopt);
}

TEST(FindSelf, SaysThatNothingFits) {
  const auto self = decide({candidate("worker-1"), candidate("10.0.0.1")});
  EXPECT_EQ(self.candidate, std::nullopt);
  EXPECT_EQ(self.reason, "no candidate has a name or an address of this node");
}

}  // namespace
}  // namespace muster::rendezvous
