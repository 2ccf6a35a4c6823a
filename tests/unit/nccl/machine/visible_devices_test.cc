#include "nccl/machine/visible_devices.h"

#include <gtest/gtest.h>

namespace muster::nccl {
namespace {

std::vector<Accelerator> make_devices(AcceleratorKind kind, int count) {
  std::vector<Accelerator> devices(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    Accelerator& device = devices[static_cast<size_t>(i)];
    device.kind = kind;
    device.pci_address = "0000:0" + std::to_string(i) + ":00.0";
    device.uuid = "GPU-" + std::to_string(i) + "0000000";
    device.accessible = true;
  }
  return devices;
}

Environment with(std::initializer_list<std::pair<const char*, const char*>> variables) {
  Environment environment;
  for (const auto& [name, value] : variables) environment.set(name, value);
  return environment;
}

// Numbers of the visible devices in the worker's order, e.g. "2,0"; "?" for one only named.
std::string order_of(const VisibleDevices& visible) {
  std::string order;
  for (const Accelerator& device : visible.devices) {
    order += (order.empty() ? "" : ",");
    order += device.pci_address.empty() ? "?" : device.pci_address.substr(6, 1);
  }
  return order;
}

std::string cuda_order(const char* list, int count = 4) {
  return order_of(visible_devices(make_devices(AcceleratorKind::kNvidia, count),
                                  AcceleratorKind::kNvidia,
                                  with({{"CUDA_VISIBLE_DEVICES", list}})));
}

TEST(VisibleDevices, WithoutAListEveryAccessibleDeviceCounts) {
  auto devices = make_devices(AcceleratorKind::kNvidia, 3);
  devices[1].accessible = false;
  const VisibleDevices visible = visible_devices(devices, AcceleratorKind::kNvidia, {});
  EXPECT_EQ(order_of(visible), "0,2");
  EXPECT_EQ(visible.reason, "2 NVIDIA GPUs (3 on the host, 1 without a device node here)");
  EXPECT_TRUE(visible_devices(devices, AcceleratorKind::kAmd, {}).devices.empty());
}

TEST(VisibleDevices, CudaListSelectsOrdersAndCuts) {
  EXPECT_EQ(cuda_order("2,0"), "2,0");
  EXPECT_EQ(cuda_order("0,1,7,2"), "0,1");
  EXPECT_EQ(cuda_order("1,-1,2"), "1");
  EXPECT_EQ(cuda_order(""), "");
  EXPECT_EQ(cuda_order("-1"), "");
  EXPECT_EQ(cuda_order("none"), "");
  EXPECT_EQ(cuda_order(" 1 , 2 "), "1,2");
  EXPECT_EQ(cuda_order("1gpu2,2x"), "1,2");
  EXPECT_EQ(cuda_order("1,1"), "");
  EXPECT_EQ(cuda_order("4294967296"), "");
}

TEST(VisibleDevices, IndexesCountTheDevicesOfThisContainer) {
  auto devices = make_devices(AcceleratorKind::kNvidia, 4);
  devices[0].accessible = false;
  devices[2].accessible = false;
  const auto environment = with({{"CUDA_VISIBLE_DEVICES", "1"}});
  const VisibleDevices visible = visible_devices(devices, AcceleratorKind::kNvidia, environment);
  EXPECT_EQ(order_of(visible), "3");
  EXPECT_EQ(visible.reason,
            "1 of 2 NVIDIA GPUs (4 on the host, 2 without a device node here) by "
            "CUDA_VISIBLE_DEVICES=1");
}

TEST(VisibleDevices, UuidsSelectByPrefix) {
  EXPECT_EQ(cuda_order("GPU-3,GPU-1000"), "3,1");
  EXPECT_EQ(cuda_order("GPU-1,GPU-9,GPU-2"), "1");
  EXPECT_EQ(cuda_order("GPU-"), "");  // names several
  EXPECT_EQ(cuda_order("GPU-1,2"), "1");
  EXPECT_EQ(cuda_order("0,GPU-1"), "0");
}

TEST(VisibleDevices, UnknownUuidsAreBelievedWhereTheDriverTellsNone) {
  auto devices = make_devices(AcceleratorKind::kNvidia, 2);
  for (Accelerator& device : devices) device.uuid.clear();
  const auto environment = with({{"CUDA_VISIBLE_DEVICES", "GPU-aa,GPU-bb"}});
  EXPECT_EQ(order_of(visible_devices(devices, AcceleratorKind::kNvidia, environment)), "?,?");
  EXPECT_EQ(order_of(visible_devices({}, AcceleratorKind::kNvidia, environment)), "");
}

TEST(VisibleDevices, MigShowsOneInstance) {
  auto devices = make_devices(AcceleratorKind::kNvidia, 1);
  devices[0].mig_instances = 3;
  const VisibleDevices unset = visible_devices(devices, AcceleratorKind::kNvidia, {});
  EXPECT_EQ(order_of(unset), "0");
  EXPECT_EQ(unset.reason, "1 of 3 MIG instances, because CUDA shows a process only one");
  for (const char* list : {"0", "MIG-1,MIG-2"}) {
    const auto environment = with({{"CUDA_VISIBLE_DEVICES", list}});
    EXPECT_EQ(order_of(visible_devices(devices, AcceleratorKind::kNvidia, environment)), "0");
  }
  const auto none = with({{"CUDA_VISIBLE_DEVICES", ""}});
  EXPECT_EQ(order_of(visible_devices(devices, AcceleratorKind::kNvidia, none)), "");
  devices[0].mig_instances = 0;
  EXPECT_EQ(order_of(visible_devices(devices, AcceleratorKind::kNvidia, {})), "");
}

TEST(VisibleDevices, BesideAGpuInMigModeTheOthersCount) {
  auto devices = make_devices(AcceleratorKind::kNvidia, 3);
  devices[1].mig_instances = 2;
  const VisibleDevices visible = visible_devices(devices, AcceleratorKind::kNvidia, {});
  EXPECT_EQ(order_of(visible), "0,2");
  EXPECT_EQ(visible.reason, "2 of 3 NVIDIA GPUs, the others are in MIG mode");
}

TEST(VisibleDevices, AMigIdWithoutKnownInstancesIsStillOneDevice) {
  const auto environment = with({{"CUDA_VISIBLE_DEVICES", "MIG-1"}});
  const auto devices = make_devices(AcceleratorKind::kNvidia, 1);
  EXPECT_EQ(order_of(visible_devices(devices, AcceleratorKind::kNvidia, environment)), "0");
}

TEST(VisibleDevices, RocmAppliesItsListsOneInsideTheOther) {
  const auto devices = make_devices(AcceleratorKind::kAmd, 4);
  const auto order = [&devices](std::initializer_list<std::pair<const char*, const char*>> env) {
    return order_of(visible_devices(devices, AcceleratorKind::kAmd, with(env)));
  };
  EXPECT_EQ(order({{"ROCR_VISIBLE_DEVICES", "1,3"}}), "1,3");
  EXPECT_EQ(order({{"ROCR_VISIBLE_DEVICES", "1,3"}, {"HIP_VISIBLE_DEVICES", "1"}}), "3");
  EXPECT_EQ(order({{"ROCR_VISIBLE_DEVICES", "2"}, {"HIP_VISIBLE_DEVICES", "2"}}), "");
  EXPECT_EQ(order({{"CUDA_VISIBLE_DEVICES", "3,2"}}), "3,2");
  EXPECT_EQ(order({{"HIP_VISIBLE_DEVICES", "0"}, {"CUDA_VISIBLE_DEVICES", "3"}}), "0");
  EXPECT_EQ(order({{"ROCR_VISIBLE_DEVICES", "GPU-2"}}), "2");
}

TEST(VisibleDevices, LevelZeroCountsTilesUnlessComposite) {
  auto devices = make_devices(AcceleratorKind::kIntelXpu, 2);
  for (Accelerator& device : devices) device.tiles = 2;
  const auto order = [&devices](std::initializer_list<std::pair<const char*, const char*>> env) {
    return order_of(visible_devices(devices, AcceleratorKind::kIntelXpu, with(env)));
  };
  EXPECT_EQ(order({}), "0,0,1,1");
  EXPECT_EQ(order({{"ZE_AFFINITY_MASK", "3,0"}}), "0,1");  // a set: no reordering
  EXPECT_EQ(order({{"ZE_AFFINITY_MASK", ""}}), "0,0,1,1");
  EXPECT_EQ(order({{"ZE_AFFINITY_MASK", "9,x,1"}}), "0");
  EXPECT_EQ(order({{"ZE_FLAT_DEVICE_HIERARCHY", "composite"}}), "0,1");
  EXPECT_EQ(order({{"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}, {"ZE_AFFINITY_MASK", "1.0,1.1"}}),
            "1");
  EXPECT_EQ(order({{"ZE_FLAT_DEVICE_HIERARCHY", "COMBINED"}}), "0,0,1,1");
}

TEST(VisibleDevices, ParsedListIsBounded) {
  std::string list = "0";
  for (size_t i = 1; i < 2 * kMaxVisibleEntries; ++i) list += "," + std::to_string(i);
  EXPECT_EQ(parse_visible_devices(list).size(), kMaxVisibleEntries);
}

TEST(VisibleDevices, ReasonQuotesOnlyTheBeginningOfALongList) {
  const std::string list = "0," + std::string(5000, 'x');
  const auto visible =
      visible_devices(make_devices(AcceleratorKind::kNvidia, 2), AcceleratorKind::kNvidia,
                      with({{"CUDA_VISIBLE_DEVICES", list.c_str()}}));
  EXPECT_EQ(order_of(visible), "0");
  EXPECT_LT(visible.reason.size(), 300U);
}

}  // namespace
}  // namespace muster::nccl
