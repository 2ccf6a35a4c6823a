#include "launcher/workers/worker_count.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/fake_files.h"
#include "tests/support/test_data.h"

namespace muster::launcher {
namespace {

using muster::testing::kMachines;

CpuSet first_cpus(int count) {
  CpuSet cpus(static_cast<size_t>(count));
  std::iota(cpus.begin(), cpus.end(), 0);
  return cpus;
}

WorkerCount asked(WorkerCountKind kind) { return {kind, 1}; }

// What a machine of tests/data decides when `allowed` CPUs are in the affinity mask.
Result<WorkerCountDecision> decide_on(const std::string& machine, WorkerCountKind kind, int allowed,
                                      const Environment& environment = {}) {
  const RealFiles files(kMachines + machine);
  return decide_worker_count(asked(kind), read_cpu_budget(files, first_cpus(allowed)),
                             nccl::discover_accelerators(files), environment);
}

TEST(WorkerCount, AsAsked) {
  const auto decision = decide_worker_count({WorkerCountKind::kNumber, 7}, {}, {}, {});
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->number, 7);
  EXPECT_EQ(decision->reason, "7: as asked");
}

TEST(WorkerCount, CpuIsTheQuotaRoundedDown) {
  const auto decision = decide_on("container-cgroup2-quota", WorkerCountKind::kCpu, 16);
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->number, 2);
  EXPECT_EQ(decision->reason,
            "2: cgroup quota 2.5 CPUs (/sys/fs/cgroup/cpu.max), 16 allowed by affinity, 64 on the "
            "host");
}

TEST(WorkerCount, CpuIsTheAffinityMaskWhenThatIsSmaller) {
  EXPECT_EQ(decide_on("container-cgroup1-quota", WorkerCountKind::kCpu, 32)->number, 4);
  EXPECT_EQ(decide_on("container-cgroup1-quota", WorkerCountKind::kCpu, 3)->number, 3);
  EXPECT_EQ(decide_on("laptop", WorkerCountKind::kCpu, 6)->number, 6);
}

TEST(WorkerCount, CpuIsAtLeastOne) {
  const CpuBudget half{first_cpus(4), nccl::CpuQuota{0.5, "/sys/fs/cgroup/cpu.max"}, 8};
  EXPECT_EQ(decide_worker_count(asked(WorkerCountKind::kCpu), half, {}, {})->number, 1);
  const auto unknown = decide_worker_count(asked(WorkerCountKind::kCpu), {}, {}, {});
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->number, 1);
  EXPECT_EQ(unknown->reason, "1: number of CPUs of the host unknown");
}

TEST(WorkerCount, CpuWithoutAMaskCountsTheHost) {
  EXPECT_EQ(decide_on("container-cgroup1-quota", WorkerCountKind::kCpu, 0)->number, 4);
  EXPECT_EQ(decide_on("laptop", WorkerCountKind::kCpu, 0)->number, 8);
}

TEST(WorkerCount, AutoPrefersGpus) {
  EXPECT_EQ(decide_on("hgx-h100", WorkerCountKind::kAuto, 32)->number, 8);
  EXPECT_EQ(decide_on("epyc-nps4-mi300x", WorkerCountKind::kAuto, 32)->number, 4);
  Environment environment;
  environment.set("CUDA_VISIBLE_DEVICES", "4,5,6");
  const auto decision = decide_on("hgx-h100", WorkerCountKind::kAuto, 32, environment);
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->number, 3);
  EXPECT_EQ(decision->reason, "3: 3 of 8 NVIDIA GPUs by CUDA_VISIBLE_DEVICES=4,5,6");
}

TEST(WorkerCount, AutoFallsBackToCpusAndSaysWhy) {
  Environment environment;
  environment.set("CUDA_VISIBLE_DEVICES", "");
  const auto decision = decide_on("hgx-h100", WorkerCountKind::kAuto, 32, environment);
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->number, 32);
  EXPECT_EQ(decision->reason,
            "32: 32 allowed by affinity, 32 on the host; no accelerator: 0 of 8 NVIDIA GPUs by "
            "CUDA_VISIBLE_DEVICES=, 0 AMD GPUs, 0 Intel XPUs");
}

TEST(WorkerCount, AutoIgnoresGraphicsInsideTheCpuButXpuTakesItWhenNothingElseIsThere) {
  EXPECT_EQ(decide_on("laptop", WorkerCountKind::kAuto, 4)->number, 4);
  EXPECT_EQ(decide_on("laptop", WorkerCountKind::kXpu, 4)->number, 1);
  nccl::Accelerator inside;
  inside.kind = nccl::AcceleratorKind::kIntelXpu;
  inside.accessible = true;
  inside.integrated = true;
  nccl::Accelerator card = inside;
  card.integrated = false;
  card.tiles = 2;
  EXPECT_EQ(decide_worker_count(asked(WorkerCountKind::kXpu), {}, {inside, card, card}, {})->number,
            4);
  EXPECT_EQ(decide_worker_count(asked(WorkerCountKind::kAuto), {}, {inside, card}, {})->number, 2);
}

TEST(WorkerCount, MigCountsOnce) {
  EXPECT_EQ(decide_on("mig-a100-container", WorkerCountKind::kGpu, 8)->number, 1);
  EXPECT_EQ(decide_on("mig-a100-container", WorkerCountKind::kAuto, 8)->number, 1);
}

TEST(WorkerCount, GpuWithoutGpusTellsWhatWasLookedAt) {
  testing::FakeFiles files;
  ASSERT_TRUE(files.add_tree(kMachines + "hgx-h100"));
  for (int minor = 0; minor < 8; ++minor) files.remove("/dev/nvidia" + std::to_string(minor));
  Environment environment;
  environment.set("NVIDIA_VISIBLE_DEVICES", "void");
  const auto decision =
      decide_worker_count(asked(WorkerCountKind::kGpu), read_cpu_budget(files, first_cpus(4)),
                          nccl::discover_accelerators(files), environment);
  ASSERT_FALSE(decision);
  EXPECT_EQ(decision.error().code, Code::kConfig);
  EXPECT_EQ(
      decision.error().text,
      "--nproc-per-node gpu: no usable GPU in this container: 0 NVIDIA GPUs (8 on the host, 8 "
      "without a device node here); 0 AMD GPUs; NVIDIA_VISIBLE_DEVICES=void (looked at "
      "/proc/driver/nvidia/gpus, /dev/nvidia*, /sys/class/kfd/kfd/topology/nodes, /dev/kfd, "
      "/dev/dri)");
}

TEST(WorkerCount, XpuWithoutXpusIsAConfigurationError) {
  const auto decision = decide_on("hgx-h100", WorkerCountKind::kXpu, 8);
  ASSERT_FALSE(decision);
  EXPECT_EQ(decision.error().code, Code::kConfig);
  EXPECT_NE(decision.error().text.find("0 Intel XPUs"), std::string::npos);
}

}  // namespace
}  // namespace muster::launcher
