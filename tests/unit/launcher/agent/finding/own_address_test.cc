#include "launcher/agent/finding/own_address.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

const std::vector<InterfaceAddress> kInterfaces = {{"lo", "127.0.0.1", true, true, false},
                                                   {"eth0", "10.0.0.5", true, false, false},
                                                   {"net1", "10.1.0.5", true, false, false}};

TEST(ReachableHost, PrefersWhatTheNameMeansThenTheDefaultRoute) {
  EXPECT_EQ(reachable_host({"10.1.0.5"}, kInterfaces, "10.0.0.5"), "10.1.0.5");
  EXPECT_EQ(reachable_host({"127.0.1.1"}, kInterfaces, "10.0.0.5"), "10.0.0.5");
  EXPECT_EQ(reachable_host({"10.9.9.9"}, kInterfaces, ""), "10.0.0.5");
  EXPECT_EQ(reachable_host({}, {}, ""), "127.0.0.1");
}

LookupAnswer found(std::vector<std::string> addresses) {
  return {LookupStatus::kFound, std::move(addresses), ""};
}

TEST(OwnName, IsTheAddressOfAnInterface) {
  const OwnName own = own_name("w-1", found({"10.9.9.9", "10.1.0.5"}), kInterfaces);
  EXPECT_EQ(own.address, "10.1.0.5");
  EXPECT_EQ(own.problem, "");
}

TEST(OwnName, OnLoopbackItSaysNothingToOthers) {
  const OwnName own = own_name("w-1", found({"127.0.1.1"}), kInterfaces);
  EXPECT_EQ(own.address, "");
  EXPECT_EQ(own.problem, "");
}

TEST(OwnName, WhatIsWrongIsNamed) {
  EXPECT_EQ(own_name("typo", {LookupStatus::kNoName, {}, "look up typo: NXDOMAIN"}, {}).problem,
            "--local-addr: look up typo: NXDOMAIN");
  EXPECT_EQ(own_name("w-2", found({"10.0.0.6"}), kInterfaces).problem,
            "--local-addr w-2 is 10.0.0.6, which is no address of this node");
}

}  // namespace
}  // namespace muster::launcher
