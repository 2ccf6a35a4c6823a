#include "nccl/checks/memory_checks.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>

#include "tests/support/checked_machine.h"

namespace muster::nccl {
namespace {

using testing::CheckedMachine;

constexpr const char* kUnlimited =
    "Max locked memory         unlimited            unlimited            bytes";

void set_memlock(CheckedMachine& machine, const std::string& soft, const std::string& hard) {
  machine.edit("/ulimits", kUnlimited, "Max locked memory   " + soft + "   " + hard + "   bytes");
}

void drop_capability(CheckedMachine& machine, const std::string& effective) {
  machine.edit("/proc/self/status", "CapEff:\t00000000a80465fb", "CapEff:\t" + effective);
}

TEST(MemoryChecks, LittleLockedMemoryIsAnErrorWithRdmaAlone) {
  CheckedMachine machine("roce-sriov-pod");
  EXPECT_EQ(machine.severity_of("memlock"), "");
  set_memlock(machine, "8388608", "8388608");
  EXPECT_EQ(machine.severity_of("memlock"), "") << "IPC_LOCK counts";
  drop_capability(machine, "00000000a80425fb");
  EXPECT_EQ(machine.severity_of("memlock"), "error");
  EXPECT_NE(machine.problems().find("memlock is 8 MiB"), std::string::npos);
  CheckedMachine plain("plain-ethernet-pod");
  set_memlock(plain, "65536", "65536");
  drop_capability(plain, "00000000a80425fb");
  EXPECT_EQ(plain.severity_of("memlock"), "info");
}

TEST(MemoryChecks, WithoutGpusLittleLockedMemoryIsNoFault) {
  CheckedMachine machine("roce-sriov-pod");
  set_memlock(machine, "65536", "65536");
  drop_capability(machine, "0000000000000000");
  EXPECT_EQ(machine.severity_of("memlock"), "error");
  EXPECT_EQ(machine.severity_of("ipc_lock_ineffective"), "error");
  machine.remove_nvidia_gpus();
  EXPECT_EQ(machine.severity_of("memlock"), "info");
  EXPECT_EQ(machine.severity_of("ipc_lock_ineffective"), "info");
  machine.probes.locked = {.bytes = kProbedLockBytes, .os_errno = ENOMEM};
  EXPECT_EQ(machine.severity_of("memlock"), "info");
  machine.files.add_file("/proc/self/uid_map", "         0     100000      65536\n");
  machine.edit("/proc/self/status", "CapEff:\t0000000000000000", "CapEff:\t00000000a80465fb");
  EXPECT_EQ(machine.severity_of("ipc_lock_ineffective"), "info");
}

TEST(MemoryChecks, LockingIsTriedWhereLimitsSayNothing) {
  CheckedMachine machine("dgx-h100-host");
  machine.probes.locked = {.bytes = kProbedLockBytes, .os_errno = 0};
  EXPECT_EQ(machine.severity_of("memlock"), "");
  machine.probes.locked->os_errno = ENOMEM;
  EXPECT_EQ(machine.severity_of("memlock"), "error");
}

TEST(MemoryChecks, IpcLockThatDoesNotCountIsTold) {
  CheckedMachine machine("roce-sriov-pod");
  set_memlock(machine, "8388608", "8388608");
  machine.edit("/proc/self/status", "Uid:\t0\t0", "Uid:\t1000\t1000");
  drop_capability(machine, "0000000000000000");
  EXPECT_EQ(machine.severity_of("ipc_lock_ineffective"), "error");
  EXPECT_NE(machine.problems().find("user id 1000"), std::string::npos);
  CheckedMachine mapped("roce-sriov-pod");
  set_memlock(mapped, "8388608", "8388608");
  EXPECT_EQ(mapped.severity_of("ipc_lock_ineffective"), "");
  mapped.files.add_file("/proc/self/uid_map", "         0     100000      65536\n");
  EXPECT_EQ(mapped.severity_of("ipc_lock_ineffective"), "error");
  EXPECT_EQ(mapped.severity_of("memlock"), "error");
}

void set_shared_memory(CheckedMachine& machine, const std::string& kib) {
  machine.edit("/proc/self/mountinfo", "tmpfs shm rw,size=1073741824k",
               "tmpfs shm rw,size=" + kib + "k");
}

TEST(MemoryChecks, ASmallDevShmIsGraverForSeveralWorkers) {
  CheckedMachine machine("roce-sriov-pod");
  EXPECT_EQ(machine.severity_of("shm_size"), "");
  set_shared_memory(machine, "65536");
  EXPECT_EQ(machine.severity_of("shm_size"), "error");
  machine.workers = 1;
  EXPECT_EQ(machine.severity_of("shm_size"), "info");
  CheckedMachine half("roce-sriov-pod");
  set_shared_memory(half, "524288");
  EXPECT_EQ(half.severity_of("shm_size"), "warning");
}

TEST(MemoryChecks, ADevShmFullOfLeftoversIsTold) {
  CheckedMachine machine("roce-sriov-pod");
  machine.files.set_space("/dev/shm", {.size_bytes = 8ULL << 30, .free_bytes = 8ULL << 30});
  EXPECT_EQ(machine.severity_of("shm_size"), "");
  machine.files.set_space("/dev/shm", {.size_bytes = 8ULL << 30, .free_bytes = 1 << 20});
  EXPECT_EQ(machine.severity_of("shm_size"), "warning");
}

TEST(MemoryChecks, EfaWithoutHugePages) {
  CheckedMachine machine("aws-p5-pod");
  EXPECT_EQ(machine.severity_of("hugepages"), "");
  machine.files.add_file("/sys/fs/cgroup/hugetlb.2MB.max", "0\n");
  EXPECT_EQ(machine.severity_of("hugepages"), "error");
  machine.environment.set("FI_EFA_USE_HUGE_PAGE", "0");
  EXPECT_EQ(machine.severity_of("hugepages"), "");
  CheckedMachine leaked("aws-p5-pod");
  leaked.files.add_file("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "0\n");
  EXPECT_EQ(leaked.severity_of("hugepages"), "warning");
  CheckedMachine tried("aws-p5-pod");
  tried.probes.huge_page_signal = SIGBUS;
  EXPECT_EQ(tried.severity_of("hugepages"), "error");
}

TEST(MemoryChecks, LittleMemoryAndTheOomKiller) {
  CheckedMachine machine("cpu-only-pod");
  machine.files.add_file("/sys/fs/cgroup/memory.max", "536870912\n");
  machine.files.add_file("/sys/fs/cgroup/memory.events", "low 0\noom 3\noom_kill 2\n");
  EXPECT_EQ(machine.severity_of("mem_limit"), "warning");
  machine.files.add_file("/sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(machine.severity_of("mem_limit"), "info");
  machine.files.add_file("/sys/fs/cgroup/memory.events", "low 0\noom 0\noom_kill 0\n");
  EXPECT_EQ(machine.severity_of("mem_limit"), "");
}

TEST(MemoryChecks, BytesAreWrittenForPeople) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(65536), "64 KiB");
  EXPECT_EQ(format_bytes(1536ULL << 20), "1.5 GiB");
  EXPECT_EQ(format_bytes(~uint64_t{0}), "16777216 TiB");
}

}  // namespace
}  // namespace muster::nccl
