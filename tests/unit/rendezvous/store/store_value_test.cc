#include "rendezvous/store/store_value.h"

#include <gtest/gtest.h>

namespace muster::rendezvous {
namespace {

class StoreValue : public ::testing::Test {
 protected:
  MemoryMeter meter_{1U << 30};
};

TEST_F(StoreValue, AppendingByteByByteTakesMemoryInFewSteps) {
  Value value;
  int growths = 0;
  for (int i = 0; i < 100'000; ++i) {
    const size_t before = meter_.used_bytes();
    value.append("x", meter_);
    growths += meter_.used_bytes() != before ? 1 : 0;
  }
  EXPECT_EQ(value.size(), 100'000U);
  EXPECT_LT(growths, 150);
  value.reset(meter_);
  EXPECT_EQ(meter_.used_bytes(), 0U);
}

TEST_F(StoreValue, ASmallValueInALargeBlockGivesTheBlockBack) {
  Value value = Value::of(std::string(1 << 20, 'x'), meter_);
  value.set("small", meter_);
  EXPECT_LT(meter_.used_bytes(), 100U);
  EXPECT_EQ(value.view(), "small");
  value.reset(meter_);
}

TEST_F(StoreValue, SharedBytesNeverChange) {
  Value value = Value::of("before", meter_);
  Value reader = value.share();
  value.set("after!", meter_);
  EXPECT_EQ(reader.view(), "before");
  value.append(" and more", meter_);
  EXPECT_EQ(value.view(), "after! and more");
  reader.reset(meter_);
  value.reset(meter_);
  EXPECT_EQ(meter_.used_bytes(), 0U);
}

}  // namespace
}  // namespace muster::rendezvous
