#include "rendezvous/store/key_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace muster::rendezvous {
namespace {

class KeyTableTest : public ::testing::Test {
 protected:
  MemoryMeter meter_{1U << 30};
};

TEST_F(KeyTableTest, TableAgreesWithAMapThroughRandomChanges) {
  KeyTable table(meter_);
  std::map<std::string, std::string> expected;
  std::mt19937 random(7);
  for (int step = 0; step < 5'000; ++step) {
    const std::string key = "key" + std::to_string(random() % 700);
    if (random() % 3 == 0) {
      EXPECT_EQ(table.erase(key), expected.erase(key) == 1);
      continue;
    }
    expected[key] = std::to_string(step);
    table.find_or_create(key).set(expected[key], meter_);
  }
  ASSERT_EQ(table.size(), expected.size());
  size_t seen = 0;
  table.for_each_key([&seen, &expected](std::string_view key) {
    ++seen;
    EXPECT_TRUE(expected.contains(std::string(key)));
  });
  EXPECT_EQ(seen, expected.size());
  for (const auto& [key, value] : expected) {
    ASSERT_NE(table.find(key), nullptr);
    EXPECT_EQ(table.find(key)->view(), value);
  }
  table.clear();
  EXPECT_EQ(meter_.used_bytes(), 0U);
}

TEST_F(KeyTableTest, KeysThatDifferOnlyInLengthOrZerosAreDifferent) {
  KeyTable table(meter_);
  for (const std::string& key : {std::string(), std::string(1, '\0'), std::string(2, '\0'),
                                 std::string(8, '\0'), std::string("k"), std::string("k\0", 2)}) {
    EXPECT_EQ(table.find(key), nullptr);
    (void)table.find_or_create(key);
  }
  EXPECT_EQ(table.size(), 6U);
}

TEST_F(KeyTableTest, AKeyCostsAtMost140Bytes) {
  KeyTable table(meter_);
  constexpr size_t kKeys = 20'000;
  for (size_t i = 0; i < kKeys; ++i) {
    const std::string key = "/job/rank/" + std::to_string(1'000'000'000 + i);  // 20 bytes
    table.find_or_create(key).set(std::string(32, 'v'), meter_);
  }
  EXPECT_LE(meter_.used_bytes() / kKeys, 140U);
}

}  // namespace
}  // namespace muster::rendezvous
