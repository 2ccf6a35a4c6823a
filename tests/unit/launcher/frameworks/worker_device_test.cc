#include "launcher/frameworks/worker_device.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

using nccl::Accelerator;
using nccl::AcceleratorKind;

std::vector<Accelerator> devices(AcceleratorKind kind, int count) {
  std::vector<Accelerator> all(static_cast<size_t>(count));
  for (Accelerator& device : all) {
    device.kind = kind;
    device.accessible = true;
  }
  return all;
}

Environment pod(const std::vector<std::pair<std::string, std::string>>& variables) {
  Environment environment;
  for (const auto& [name, value] : variables) environment.set(name, value);
  return environment;
}

// "NAME=value"; "" = none.
std::string shown(const std::vector<Accelerator>& all, const Environment& environment,
                  int local_rank, int workers) {
  const auto variable = one_device(all, environment, local_rank, workers);
  if (!variable) return "";
  EXPECT_EQ(variable->claim, Claim::kOverrides);
  return variable->name + "=" + *variable->value;
}

TEST(WorkerDevice, WithoutAListTheWorkerSeesItsNumber) {
  EXPECT_EQ(shown(devices(AcceleratorKind::kNvidia, 4), {}, 2, 4), "CUDA_VISIBLE_DEVICES=2");
  EXPECT_EQ(shown(devices(AcceleratorKind::kAmd, 4), {}, 2, 4), "HIP_VISIBLE_DEVICES=2");
  EXPECT_EQ(shown(devices(AcceleratorKind::kIntelXpu, 4), {}, 2, 4), "ZE_AFFINITY_MASK=2");
}

TEST(WorkerDevice, AListIsDealtOutAsItStands) {
  const auto gpus = devices(AcceleratorKind::kNvidia, 8);
  EXPECT_EQ(shown(gpus, pod({{"CUDA_VISIBLE_DEVICES", "6, 3"}}), 1, 2), "CUDA_VISIBLE_DEVICES=3");
  const auto mig = pod({{"CUDA_VISIBLE_DEVICES", "MIG-aaaa,MIG-GPU-bbbb/1/0"}});
  EXPECT_EQ(shown(gpus, mig, 0, 2), "CUDA_VISIBLE_DEVICES=MIG-aaaa");
  EXPECT_EQ(shown(gpus, mig, 1, 2), "CUDA_VISIBLE_DEVICES=MIG-GPU-bbbb/1/0");
  const auto tiles = pod({{"ZE_AFFINITY_MASK", "0.1,1.0"}});
  EXPECT_EQ(shown(devices(AcceleratorKind::kIntelXpu, 2), tiles, 1, 2), "ZE_AFFINITY_MASK=1.0");
}

TEST(WorkerDevice, OfSeveralListsOfAmdOneIsNarrowed) {
  const auto gpus = devices(AcceleratorKind::kAmd, 8);
  EXPECT_EQ(shown(gpus, pod({{"ROCR_VISIBLE_DEVICES", "4,5"}}), 1, 2), "ROCR_VISIBLE_DEVICES=5");
  EXPECT_EQ(
      shown(gpus, pod({{"ROCR_VISIBLE_DEVICES", "4,5"}, {"HIP_VISIBLE_DEVICES", "1,0"}}), 1, 2),
      "HIP_VISIBLE_DEVICES=0");
  EXPECT_EQ(shown(gpus, pod({{"CUDA_VISIBLE_DEVICES", "2,7"}}), 1, 2), "CUDA_VISIBLE_DEVICES=7");
}

TEST(WorkerDevice, WithFewerDevicesThanWorkersNothingIsHidden) {
  const auto gpus = devices(AcceleratorKind::kNvidia, 2);
  EXPECT_EQ(shown(gpus, {}, 0, 3), "");
  EXPECT_EQ(shown(gpus, pod({{"CUDA_VISIBLE_DEVICES", "1"}}), 0, 2), "");
  EXPECT_EQ(shown(gpus, pod({{"CUDA_VISIBLE_DEVICES", "0,-1,1"}}), 0, 2), "");  // ends at -1
  EXPECT_EQ(shown(gpus, pod({{"CUDA_VISIBLE_DEVICES", ""}}), 0, 1), "");        // none, on purpose
  EXPECT_EQ(shown({}, pod({{"CUDA_VISIBLE_DEVICES", "0,1"}}), 0, 2), "");
}

TEST(WorkerDevice, OfAGpuInMigModeAProcessSeesOneInstance) {
  auto gpus = devices(AcceleratorKind::kNvidia, 1);
  gpus[0].mig_instances = 7;
  EXPECT_EQ(shown(gpus, {}, 0, 1), "CUDA_VISIBLE_DEVICES=0");
  EXPECT_EQ(shown(gpus, {}, 0, 7), "");  // their names are needed: a list
}

TEST(WorkerDevice, GraphicsInsideTheCpuAreNoDevice) {
  auto gpus = devices(AcceleratorKind::kIntelXpu, 1);
  gpus[0].integrated = true;
  EXPECT_EQ(shown(gpus, {}, 0, 1), "");
  auto hidden = devices(AcceleratorKind::kNvidia, 1);
  hidden[0].accessible = false;
  EXPECT_EQ(shown(hidden, {}, 0, 1), "");
}

}  // namespace
}  // namespace muster::launcher
