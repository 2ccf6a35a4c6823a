#include "base/ed25519.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster {
namespace {

TEST(Ed25519, EveryPairIsAnother) {
  const auto one = make_ed25519_key_pair();
  const auto other = make_ed25519_key_pair();
  ASSERT_TRUE(one && other);
  EXPECT_NE(one->seed, other->seed);
  EXPECT_NE(one->public_key, other->public_key);
  EXPECT_NE(one->seed, one->public_key);
  const auto is_zero = [](unsigned char byte) { return byte == 0; };
  EXPECT_FALSE(std::all_of(one->seed.begin(), one->seed.end(), is_zero));
}

}  // namespace
}  // namespace muster
