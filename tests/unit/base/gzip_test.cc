#include "base/gzip.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr size_t kLimit = 1 << 20;

TEST(Gzip, ComesBackAsItWas) {
  for (const std::string& text : {std::string(), std::string("{}"), std::string(300000, 'a')}) {
    const auto packed = gzip(text);
    ASSERT_TRUE(packed);
    const auto unpacked = gunzip(*packed, kLimit);
    ASSERT_TRUE(unpacked) << unpacked.error().text;
    EXPECT_EQ(*unpacked, text);
  }
  const auto two = gunzip(*gzip("one ") + *gzip("two"), kLimit);
  ASSERT_TRUE(two);
  EXPECT_EQ(*two, "one two");
}

TEST(Gzip, DoesNotGrowBeyondTheLimit) {
  const std::string packed = *gzip(std::string(kLimit + 1, 'a'));
  EXPECT_LT(packed.size(), 2000U);
  EXPECT_EQ(gunzip(packed, kLimit).error().code, Code::kLimit);
  EXPECT_TRUE(gunzip(packed, kLimit + 1));
}

TEST(Gzip, WhatIsBrokenIsAnError) {
  const std::string packed = *gzip("some text that is long enough to be cut");
  EXPECT_EQ(gunzip("", kLimit).error().code, Code::kProtocol);
  EXPECT_EQ(gunzip("no gzip at all", kLimit).error().code, Code::kProtocol);
  EXPECT_EQ(gunzip(packed.substr(0, packed.size() - 1), kLimit).error().code, Code::kProtocol);
  EXPECT_EQ(gunzip(packed + "behind it", kLimit).error().code, Code::kProtocol);
  std::string wrong_sum = packed;
  wrong_sum[packed.size() - 8] ^= 1;
  EXPECT_EQ(gunzip(wrong_sum, kLimit).error().code, Code::kProtocol);
}

}  // namespace
}  // namespace muster
