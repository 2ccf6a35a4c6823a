#include "nccl/machine/limits.h"

#include <gtest/gtest.h>

#include "tests/support/fake_files.h"

namespace muster::nccl {
namespace {

TEST(Limits, RowsOfTheKernel) {
  const Limits limits = parse_limits(
      "Limit                     Soft Limit           Hard Limit           Units     \n"
      "Max stack size            8388608              unlimited            bytes     \n"
      "Max open files            1024                 524288               files     \n"
      "Max locked memory         unlimited            unlimited            bytes     \n");
  EXPECT_EQ(limits.stack_bytes.soft, 8388608U);
  EXPECT_TRUE(limits.stack_bytes.is_known);
  EXPECT_EQ(limits.stack_bytes.hard, std::nullopt);
  EXPECT_EQ(limits.open_files.hard, 524288U);
  EXPECT_TRUE(limits.locked_bytes.is_known);
  EXPECT_FALSE(limits.processes.is_known);
}

TEST(Limits, NonsenseIsUnknown) {
  for (const char* text : {"", "Max open files", "Max open files  many  1  files",
                           "Max open files  -1  5  files", "Max open files  7"})
    EXPECT_FALSE(parse_limits(text).open_files.is_known) << text;
}

TEST(Limits, ARecordedMachineHasThoseOfWhoeverCapturedIt) {
  testing::FakeFiles files;
  files.add_file("/proc/self/limits", "Max open files  1  1  files\n");
  files.add_file("/ulimits", "Max open files  2  2  files\n");
  EXPECT_EQ(read_limits({files, MachineSource::kLive}).open_files.soft, 1U);
  EXPECT_EQ(read_limits({files, MachineSource::kRecorded}).open_files.soft, 2U);
  files.remove("/ulimits");
  EXPECT_EQ(read_limits({files, MachineSource::kRecorded}).open_files.soft, 1U);
}

}  // namespace
}  // namespace muster::nccl
