#include "nccl/machine/sysfs.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/support/fake_files.h"

namespace muster::nccl {
namespace {

TEST(Sysfs, ReadsNumbersAndListsWithoutTheirNewline) {
  testing::FakeFiles files;
  files.add_file("/a", "-1\n");
  files.add_file("/b", " 0-3,8\n");
  files.add_file("/c", "\n");
  EXPECT_EQ(read_integer(files, "/a"), -1);
  EXPECT_EQ(read_cpu_list(files, "/b"), (CpuSet{0, 1, 2, 3, 8}));
  EXPECT_EQ(read_cpu_list(files, "/c"), CpuSet());
  EXPECT_EQ(read_attribute(files, "/c"), "");
}

TEST(Sysfs, WhatCannotBeReadIsNone) {
  testing::FakeFiles files;
  files.add_file("/words", "twelve\n");
  files.add_file("/refused", "12\n");
  files.fail_path("/refused", EACCES);
  files.add_file("/long", std::string(kMaxAttributeBytes + 1, '1'));
  EXPECT_EQ(read_integer(files, "/words"), std::nullopt);
  EXPECT_EQ(read_cpu_list(files, "/words"), std::nullopt);
  EXPECT_EQ(read_integer(files, "/refused"), std::nullopt);
  EXPECT_EQ(read_integer(files, "/missing"), std::nullopt);
  EXPECT_EQ(read_attribute(files, "/long"), std::nullopt);
}

TEST(Sysfs, NumberAfterTakesOnlyAllOfIt) {
  EXPECT_EQ(number_after("node12", "node"), 12);
  EXPECT_EQ(number_after("7", ""), 7);
  EXPECT_EQ(number_after("node", "node"), std::nullopt);
  EXPECT_EQ(number_after("node-1", "node"), std::nullopt);
  EXPECT_EQ(number_after("node1x", "node"), std::nullopt);
  EXPECT_EQ(number_after("nvidia-uvm", "nvidia"), std::nullopt);
  EXPECT_EQ(number_after("nvidiactl", "nvidia"), std::nullopt);
  EXPECT_EQ(number_after("9999999999", ""), std::nullopt);
}

TEST(Sysfs, LineValueNeedsTheWholeKey) {
  const std::string text = "Device Minor: \t 3\nlocation_id 6912\nGPU Excluded:\t No\n";
  EXPECT_EQ(line_value(text, "Device Minor"), "3");
  EXPECT_EQ(line_value(text, "location_id"), "6912");
  EXPECT_EQ(line_value(text, "location"), std::nullopt);
  EXPECT_EQ(line_value(text, "Device"), "Minor: \t 3");
  EXPECT_EQ(line_value(text, "missing"), std::nullopt);
  EXPECT_EQ(line_value("key", "key"), std::nullopt);
}

}  // namespace
}  // namespace muster::nccl
