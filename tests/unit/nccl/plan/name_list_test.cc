#include "nccl/plan/name_list.h"

#include <gtest/gtest.h>

namespace muster::nccl {
namespace {

bool chooses(const char* list, const char* name) {
  return NameList::parse(list, kMaxInterfaceNames).chooses(name);
}

TEST(NameList, WithoutASignNamesAreBeginnings) {
  EXPECT_TRUE(chooses("eth", "eth0"));
  EXPECT_TRUE(chooses("eth1", "eth10"));
  EXPECT_FALSE(chooses("eth1", "eth0"));
  EXPECT_TRUE(chooses("ens,eth", "eth0"));
}

TEST(NameList, BothSignsCountForTheWholeList) {
  EXPECT_FALSE(chooses("=eth1", "eth10"));
  EXPECT_TRUE(chooses("=eth1,eth2", "eth2"));
  EXPECT_FALSE(chooses("^docker,lo", "lo"));
  EXPECT_TRUE(chooses("^docker,lo", "eth0"));
  EXPECT_TRUE(chooses("^=eth1", "eth10"));
  // Behind the first place they are letters.
  EXPECT_TRUE(chooses("^=mlx5_8,^=mlx5_14", "mlx5_14"));
  EXPECT_FALSE(chooses("^=mlx5_8,^=mlx5_14", "mlx5_8"));
  EXPECT_TRUE(chooses("=^eth0", "^eth0"));
}

TEST(NameList, APortBehindTheNameDoesNotCount) { EXPECT_TRUE(chooses("=mlx5_0:1", "mlx5_0")); }

TEST(NameList, AnEmptyListChoosesAllAndNothingIfItExcludes) {
  EXPECT_TRUE(chooses("", "eth0"));
  EXPECT_TRUE(chooses(",", "eth0"));
  EXPECT_FALSE(chooses("^", "eth0"));
}

TEST(NameList, WhatIsTooMuchIsDropped) {
  std::string text = "a0";
  for (int i = 1; i < 20; ++i) text += ",a" + std::to_string(i);
  const NameList list = NameList::parse(text, kMaxInterfaceNames);
  EXPECT_EQ(list.names().size(), kMaxInterfaceNames);
  EXPECT_EQ(list.dropped(), 4U);
}

}  // namespace
}  // namespace muster::nccl
