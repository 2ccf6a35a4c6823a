#include "nccl/machine/privileges.h"

#include <gtest/gtest.h>

#include "tests/support/fake_files.h"

namespace muster::nccl {
namespace {

Privileges read(const std::string& effective, const std::string& uid_map) {
  testing::FakeFiles files;
  files.add_file("/proc/self/status",
                 "Uid:\t1000\t0\t0\t0\nCapEff:\t" + effective + "\nCapBnd:\t00000000a80465fb\n");
  files.add_file("/proc/self/uid_map", uid_map);
  return read_privileges(files);
}

constexpr const char* kWhole = "         0          0 4294967295\n";

TEST(Privileges, IpcLockCountsInTheInitialNamespaceAlone) {
  EXPECT_TRUE(may_lock_all(read("00000000a80465fb", kWhole)));
  EXPECT_FALSE(may_lock_all(read("00000000a80425fb", kWhole)));
  EXPECT_FALSE(may_lock_all(read("00000000a80465fb", "0 100000 65536\n")));
  EXPECT_EQ(read("0", kWhole).user, 0) << "the effective one";
}

TEST(Privileges, WhatCannotBeReadIsUnknown) {
  const Privileges nothing = read_privileges(testing::FakeFiles());
  EXPECT_FALSE(nothing.effective || nothing.bounding || nothing.user ||
               nothing.is_initial_user_namespace);
  EXPECT_FALSE(may_lock_all(nothing));
  EXPECT_FALSE(read("xyz", "").effective);
  EXPECT_FALSE(read("ffffffffffffffffffff", "").effective);
  EXPECT_TRUE(has_capability(uint64_t{1} << 63, 63));
}

}  // namespace
}  // namespace muster::nccl
