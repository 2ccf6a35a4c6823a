#include "nccl/probe/gpu_facts.h"

#include <gtest/gtest.h>

namespace muster::probe {
namespace {

using Names = std::vector<std::string>;

TEST(GpuFacts, NamesWhatSlowsAGpuDown) {
  EXPECT_EQ(slowdown_names(0x4 | 0x40), (Names{"sw_power_cap", "hw_thermal"}));
  EXPECT_EQ(slowdown_names(0x8 | 0x20 | 0x80),
            (Names{"hw_slowdown", "sw_thermal", "hw_power_brake"}));
}

TEST(GpuFacts, AnIdleGpuIsNotSlow) {
  EXPECT_TRUE(slowdown_names(0).empty());
  EXPECT_TRUE(slowdown_names(0x1 | 0x2 | 0x100).empty());
}

TEST(GpuFacts, NamesTheStatesOfTheFabric) {
  EXPECT_EQ(fabric_state_name(0), "not_supported");
  EXPECT_EQ(fabric_state_name(3), "completed");
  EXPECT_EQ(fabric_state_name(9), "state_9");
}

}  // namespace
}  // namespace muster::probe
