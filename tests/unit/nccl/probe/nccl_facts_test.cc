#include "nccl/probe/nccl_facts.h"

#include <gtest/gtest.h>

namespace muster::probe {
namespace {

TEST(NcclFacts, ReadsBothFormsOfAVersion) {
  EXPECT_EQ(nccl_version(22809), "2.28.9");
  EXPECT_EQ(nccl_version(20900), "2.9.0");
  EXPECT_EQ(nccl_version(2803), "2.8.3");
  EXPECT_EQ(nccl_version(2408), "2.4.8");
}

}  // namespace
}  // namespace muster::probe
