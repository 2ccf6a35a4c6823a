#include "nccl/probe/latency.h"

#include <gtest/gtest.h>

#include <numeric>

namespace muster::probe {
namespace {

TEST(Latency, PercentilesAreValuesThatWereMeasured) {
  std::vector<double> values(100);
  std::iota(values.rbegin(), values.rend(), 1);  // 100, 99, ..., 1
  EXPECT_EQ(percentile(values, 0.5), 50);
  EXPECT_EQ(percentile(values, 0.99), 99);
  EXPECT_EQ(percentile(values, 1), 100);
  EXPECT_EQ(percentile(values, 0), 1);
  EXPECT_EQ(percentile({7}, 0.99), 7);
  EXPECT_EQ(percentile({}, 0.5), 0);
}

TEST(Latency, IsHalfOfARoundTrip) {
  const Latency latency = latency_of({10, 10, 10, 40});
  EXPECT_EQ(latency.p50_us, 5);
  EXPECT_EQ(latency.p99_us, 20);
}

}  // namespace
}  // namespace muster::probe
