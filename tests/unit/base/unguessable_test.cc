#include "base/unguessable.h"

#include <gtest/gtest.h>

#include <set>

namespace muster {
namespace {

TEST(Unguessable, EveryCallGivesOther128Bits) {
  std::set<std::string> seen;
  for (int i = 0; i < 64; ++i) {
    const auto digits = unguessable_digits();
    ASSERT_TRUE(digits);
    EXPECT_EQ(digits->size(), 32U);
    EXPECT_EQ(digits->find_first_not_of("0123456789abcdef"), std::string::npos) << *digits;
    seen.insert(*digits);
  }
  EXPECT_EQ(seen.size(), 64U);
}

}  // namespace
}  // namespace muster
