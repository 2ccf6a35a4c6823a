#include "nccl/checks/process_checks.h"

#include <gtest/gtest.h>

#include "tests/support/checked_machine.h"

namespace muster::nccl {
namespace {

using testing::CheckedMachine;

TEST(ProcessChecks, FewDescriptorsAndAStackWithoutLimit) {
  CheckedMachine machine("dgx-h100-host");
  machine.edit("/ulimits", "Max open files            1048576              1048576",
               "Max open files            1024                 2048");
  machine.edit("/ulimits", "Max stack size            8388608",
               "Max stack size            unlimited");
  EXPECT_EQ(machine.severity_of("fds"), "warning");
  EXPECT_EQ(machine.severity_of("stack"), "warning");
}

TEST(ProcessChecks, TheLimitOfTheUserCountsForOthersThanRoot) {
  CheckedMachine machine("roce-sriov-pod");
  machine.edit("/ulimits", "Max processes             unlimited            unlimited",
               "Max processes             100                  100");
  EXPECT_EQ(machine.severity_of("nproc"), "error") << "root without CAP_SYS_RESOURCE";
  CheckedMachine root("dgx-h100-host");
  root.edit("/ulimits", "Max processes             unlimited            unlimited",
            "Max processes             100                  100");
  EXPECT_EQ(root.severity_of("nproc"), "");
}

TEST(ProcessChecks, ThreadsAreCountedForEachWorker) {
  CheckedMachine machine("roce-sriov-pod");
  machine.files.add_file("/sys/fs/cgroup/pids.max", "1024\n");
  EXPECT_EQ(machine.severity_of("pids"), "");
  machine.files.add_file("/sys/fs/cgroup/pids.max", "600\n");
  EXPECT_EQ(machine.severity_of("pids"), "warning");
  machine.files.add_file("/sys/fs/cgroup/pids.max", "200\n");
  EXPECT_EQ(machine.severity_of("pids"), "error");
  machine.workers = 1;
  EXPECT_EQ(machine.severity_of("pids"), "");
}

TEST(ProcessChecks, FewCpusForTheWorkers) {
  CheckedMachine machine("roce-sriov-pod");
  machine.files.add_file("/sys/fs/cgroup/cpu.max", "1200000 100000\n");
  EXPECT_EQ(machine.severity_of("cpu_quota"), "warning");
  machine.files.add_file("/sys/fs/cgroup/cpu.max", "400000 100000\n");
  EXPECT_EQ(machine.severity_of("cpu_quota"), "error");
  machine.files.add_file("/sys/fs/cgroup/cpu.max", "1600000 100000\n");
  EXPECT_EQ(machine.severity_of("cpu_quota"), "");
  machine.edit("/proc/self/status", "Cpus_allowed_list:\t0-55,112-167,56-111,168-223",
               "Cpus_allowed_list:\t0-3,56-59");
  EXPECT_EQ(machine.severity_of("cpu_quota"), "warning");
}

TEST(ProcessChecks, ACpusetFarFromTheGpus) {
  CheckedMachine machine("roce-sriov-pod");
  machine.edit("/proc/self/status", "Cpus_allowed_list:\t0-55,112-167,56-111,168-223",
               "Cpus_allowed_list:\t0-55");
  EXPECT_EQ(machine.severity_of("numa_cpuset"), "warning");
  EXPECT_NE(machine.problems().find("4 of its GPUs"), std::string::npos);
}

TEST(ProcessChecks, NumaBalancingHarmsAmdAlone) {
  CheckedMachine amd("mi300x-thor2");
  amd.files.add_file("/proc/sys/kernel/numa_balancing", "1\n");
  EXPECT_EQ(amd.severity_of("numa_cpuset"), "warning");
  CheckedMachine nvidia("dgx-h100-host");
  nvidia.files.add_file("/proc/sys/kernel/numa_balancing", "1\n");
  EXPECT_EQ(nvidia.severity_of("numa_cpuset"), "");
}

}  // namespace
}  // namespace muster::nccl
