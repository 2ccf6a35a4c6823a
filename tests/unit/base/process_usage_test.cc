#include "base/process_usage.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace muster {
namespace {

using std::chrono::milliseconds;

// The fields of proc(5) from state on: utime, stime, cutime, cstime are 14 to 17, rss is 24.
std::string stat_of(const std::string& name) {
  return "77 (" + name + ") S 1 77 77 0 -1 4194304 100 0 0 0 150 50 25 25 20 0 4 0 12345 1000000 " +
         "300 18446744073709551615 1 1 0\n";
}

TEST(ProcessUsageTest, TimesArePutTogetherAndPagesAreBytes) {
  const auto usage = usage_in_stat(stat_of("python3"), 100, 4096);
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->cpu, milliseconds(2500));
  EXPECT_EQ(usage->resident_bytes, 300U * 4096U);
}

TEST(ProcessUsageTest, ANameMayHoldAnything) {
  const auto usage = usage_in_stat(stat_of("a) R 1 (b"), 100, 4096);
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->cpu, milliseconds(2500));
}

TEST(ProcessUsageTest, WhatIsNoStatHasNoUsage) {
  for (const std::string& text : {std::string(), std::string("77 (x)"),
                                  std::string("77 (x) S 1 2 3"), stat_of("x").substr(0, 60)})
    EXPECT_FALSE(usage_in_stat(text, 100, 4096)) << text;
  EXPECT_FALSE(usage_in_stat(stat_of("x"), 0, 4096));
}

TEST(ProcessUsageTest, ThisProcessUsesMemory) {
  const ProcessUsage own = usage_of_tree(getpid());
  EXPECT_GE(own.processes, 1);
  EXPECT_GT(own.resident_bytes, 100000U);
}

TEST(ProcessUsageTest, WhatIsGoneCountsNothing) {
  EXPECT_EQ(usage_of_tree(0x7ffffff0).processes, 0);
}

}  // namespace
}  // namespace muster
