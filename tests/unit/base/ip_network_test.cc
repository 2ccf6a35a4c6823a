#include "base/ip_network.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

bool contains(const char* network, const char* host) {
  const auto parsed = IpNetwork::parse(network);
  EXPECT_TRUE(parsed) << network;
  return parsed && parsed->contains(host);
}

TEST(IpNetwork, ARangeEndsAtItsLength) {
  EXPECT_TRUE(contains("10.1.0.0/16", "10.1.255.3"));
  EXPECT_FALSE(contains("10.1.0.0/16", "10.2.0.1"));
  EXPECT_TRUE(contains("10.1.128.0/17", "10.1.200.1"));
  EXPECT_FALSE(contains("10.1.128.0/17", "10.1.127.1"));
  EXPECT_TRUE(contains("fd00::/8", "fdab::1"));
  EXPECT_FALSE(contains("fd00::/8", "fc00::1"));
  EXPECT_TRUE(contains("0.0.0.0/0", "192.0.2.1"));
  EXPECT_FALSE(contains("0.0.0.0/0", "2001:db8::1"));
}

TEST(IpNetwork, WithoutALengthItIsOneAddress) {
  EXPECT_TRUE(contains("10.0.0.7", "10.0.0.7"));
  EXPECT_FALSE(contains("10.0.0.7", "10.0.0.8"));
  EXPECT_TRUE(contains("10.0.0.0/8", "::ffff:10.0.0.7"));
  EXPECT_FALSE(contains("10.0.0.0/8", "worker-0"));
}

TEST(IpNetwork, OtherTextsAreRefused) {
  for (const char* text :
       {"", "worker-0", "10.0.0.0/33", "10.0.0.0/-1", "fd00::/129", "10.0.0.0/x", "10.0.0/8", "/8"})
    EXPECT_FALSE(IpNetwork::parse(text)) << text;
}

}  // namespace
}  // namespace muster
