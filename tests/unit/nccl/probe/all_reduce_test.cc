#include "nccl/probe/all_reduce.h"

#include <gtest/gtest.h>

namespace muster::probe {
namespace {

TEST(AllReduce, RateOfTheWiresHasTheFactorOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_rate(8, 1e9, 0.5), 2e9 * 7 / 4);
  EXPECT_DOUBLE_EQ(bus_rate(2, 1e9, 1), 1e9);
  EXPECT_EQ(bus_rate(1, 1e9, 1), 0);
}

}  // namespace
}  // namespace muster::probe
