#include "nccl/machine/accelerators.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "tests/support/fake_files.h"
#include "tests/support/test_data.h"

namespace muster::nccl {
namespace {

using muster::testing::kMachines;

TEST(Devices, EightNvidiaGpusWithTheirNumaNodes) {
  const auto devices = discover_accelerators(RealFiles(kMachines + "hgx-h100"));
  ASSERT_EQ(devices.size(), 8U);
  EXPECT_EQ(devices[0].pci_address, "0000:1b:00.0");
  EXPECT_EQ(devices[0].device_node, "/dev/nvidia0");
  EXPECT_EQ(devices[0].uuid, "GPU-00000000-1111-2222-3333-444444444440");
  EXPECT_EQ(devices[3].numa_node, 0);
  EXPECT_EQ(devices[4].pci_address, "0000:9d:00.0");
  EXPECT_EQ(devices[4].numa_node, 1);
  EXPECT_EQ(format_cpu_list(devices[4].local_cpus), "8-15,24-31");
  for (const Accelerator& device : devices) {
    EXPECT_EQ(device.kind, AcceleratorKind::kNvidia);
    EXPECT_TRUE(device.accessible);
    EXPECT_EQ(device.mig_instances, std::nullopt);
  }
}

TEST(Devices, GpusWithoutADeviceNodeBelongToSomebodyElse) {
  testing::FakeFiles files;
  ASSERT_TRUE(files.add_tree(kMachines + "hgx-h100"));
  for (const int minor : {0, 1, 2, 4, 6, 7}) files.remove("/dev/nvidia" + std::to_string(minor));
  const auto devices = discover_accelerators(files);
  ASSERT_EQ(devices.size(), 8U);
  EXPECT_FALSE(devices[0].accessible);
  EXPECT_TRUE(devices[3].accessible);
  EXPECT_TRUE(devices[5].accessible);
  EXPECT_EQ(std::count_if(devices.begin(), devices.end(),
                          [](const Accelerator& device) { return device.accessible; }),
            2);
}

TEST(Devices, MinorNumbersNeedNotFollowThePciOrder) {
  testing::FakeFiles files;
  files.add_file("/proc/driver/nvidia/gpus/0000:0a:00.0/information", "Device Minor: \t 1\n");
  files.add_file("/proc/driver/nvidia/gpus/0000:05:00.0/information", "Device Minor: \t 4\n");
  files.add_file("/dev/nvidia4", "");
  const auto devices = discover_accelerators(files);
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0].pci_address, "0000:05:00.0");
  EXPECT_TRUE(devices[0].accessible);
  EXPECT_FALSE(devices[1].accessible);
}

TEST(Devices, WithoutProcDriverTheDeviceNodesCount) {
  testing::FakeFiles files;
  for (const char* name : {"nvidia10", "nvidia2", "nvidiactl", "nvidia-uvm", "null"}) {
    files.add_file(std::string("/dev/") + name, "");
  }
  const auto devices = discover_accelerators(files);
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0].device_node, "/dev/nvidia2");
  EXPECT_EQ(devices[1].device_node, "/dev/nvidia10");
  EXPECT_EQ(devices[0].numa_node, std::nullopt);
  EXPECT_EQ(devices[0].pci_address, "");
}

TEST(Devices, MigInstancesCountWhenBothCapabilitiesAreHere) {
  const auto devices = discover_accelerators(RealFiles(kMachines + "mig-a100-container"));
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].mig_instances, 2);
  testing::FakeFiles files;
  ASSERT_TRUE(files.add_tree(kMachines + "mig-a100-container"));
  files.remove("/dev/nvidia-caps/nvidia-cap12");  // of the GPU instance
  EXPECT_EQ(discover_accelerators(files)[0].mig_instances, 1);
  files.remove("/dev/nvidia-caps/nvidia-cap22");  // of the compute instance
  EXPECT_EQ(discover_accelerators(files)[0].mig_instances, 0);
}

TEST(Devices, AMigDirectoryWithoutInstancesIsNotMigMode) {
  testing::FakeFiles files;
  ASSERT_TRUE(files.add_tree(kMachines + "hgx-h100"));
  files.add_directory("/proc/driver/nvidia/capabilities/gpu0/mig");
  EXPECT_EQ(discover_accelerators(files)[0].mig_instances, std::nullopt);
}

TEST(Devices, QuestionMarksAreNoUuidAndMinusOneIsNoNode) {
  testing::FakeFiles files;
  files.add_file("/proc/driver/nvidia/gpus/0001:00:00.0/information",
                 "GPU UUID: \t GPU-" + std::string(8, '?') + "\nDevice Minor: \t 0\n");
  files.add_file("/sys/bus/pci/devices/0001:00:00.0/numa_node", "-1\n");
  files.add_file("/dev/nvidia0", "");
  const auto devices = discover_accelerators(files);
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].uuid, "");
  EXPECT_EQ(devices[0].numa_node, std::nullopt);
  EXPECT_TRUE(devices[0].local_cpus.empty());
}

TEST(Devices, AmdGpusComeInKfdOrder) {
  const auto devices = discover_accelerators(RealFiles(kMachines + "epyc-nps4-mi300x"));
  ASSERT_EQ(devices.size(), 4U);
  EXPECT_EQ(devices[2].kind, AcceleratorKind::kAmd);
  EXPECT_EQ(devices[2].pci_address, "0000:46:00.0");
  EXPECT_EQ(devices[2].numa_node, 3);
  EXPECT_EQ(devices[2].device_node, "/dev/dri/renderD144");
  EXPECT_EQ(devices[2].uuid, "GPU-f1d2c3b4a5960002");
  EXPECT_TRUE(devices[2].accessible);
}

TEST(Devices, AmdGpusNeedKfdAndAReadableNode) {
  testing::FakeFiles files;
  ASSERT_TRUE(files.add_tree(kMachines + "epyc-nps4-mi300x"));
  files.fail_path("/sys/class/kfd/kfd/topology/nodes/5/properties", EPERM);
  EXPECT_EQ(discover_accelerators(files).size(), 3U);
  files.remove("/dev/kfd");
  EXPECT_FALSE(discover_accelerators(files)[0].accessible);
}

TEST(Devices, GraphicsInsideTheCpuIsMarked) {
  const auto devices = discover_accelerators(RealFiles(kMachines + "laptop"));
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].kind, AcceleratorKind::kIntelXpu);
  EXPECT_TRUE(devices[0].integrated);
  EXPECT_TRUE(devices[0].accessible);
  EXPECT_EQ(devices[0].device_node, "/dev/dri/renderD128");
}

TEST(Devices, IntelCardsTellTheirTiles) {
  testing::FakeFiles files;
  const std::string card = "/sys/bus/pci/devices/0000:3a:00.0/";
  files.add_directory("/sys/bus/pci/drivers/xe/0000:3a:00.0");
  files.add_file(card + "class", "0x038000\n");
  files.add_directory(card + "drm/renderD129");
  files.add_directory(card + "tile0");
  files.add_directory(card + "tile1");
  files.add_directory("/sys/bus/pci/drivers/xe/0000:3b:00.0");
  files.add_file("/sys/bus/pci/devices/0000:3b:00.0/class", "0x020000\n");  // no display class
  const auto devices = discover_accelerators(files);
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].tiles, 2);
  EXPECT_FALSE(devices[0].integrated);
  EXPECT_FALSE(devices[0].accessible);  // no /dev/dri/renderD129
}

TEST(Devices, AnEmptyMachineHasNone) {
  EXPECT_TRUE(discover_accelerators(testing::FakeFiles()).empty());
}

TEST(Devices, AnySingleFailedCallLosesAtMostDevices) {
  for (const char* machine : {"mig-a100-container", "epyc-nps4-mi300x", "laptop"}) {
    testing::FakeFiles files;
    ASSERT_TRUE(files.add_tree(kMachines + machine));
    const size_t before = discover_accelerators(files).size();
    const size_t calls = files.calls();
    for (size_t n = 1; n <= calls; ++n) {
      files.fail_nth_call(n, EIO);
      EXPECT_LE(discover_accelerators(files).size(), before) << machine << ", call " << n;
    }
  }
}

TEST(Devices, PciAddressesAreNormalized) {
  EXPECT_EQ(normalize_pci_address("0000:1B:00.0"), "0000:1b:00.0");
  EXPECT_EQ(normalize_pci_address("00000000:1B:00.0"), "0000:1b:00.0");
  EXPECT_EQ(normalize_pci_address("00010000:01:1f.7"), "10000:01:1f.7");
  for (const char* text : {"", "bind", "1b:00.0", "0000:1b:00", "0000:1b:00.00", "0000:1g:00.0",
                           "000000000:1b:00.0", "0000:1b:00.0:0"}) {
    EXPECT_EQ(normalize_pci_address(text), std::nullopt) << text;
  }
}

TEST(Devices, KfdLocationIsBusDeviceAndFunction) {
  EXPECT_EQ(kfd_pci_address(0, 0xc1 << 8), "0000:c1:00.0");
  EXPECT_EQ(kfd_pci_address(1, (0x05 << 8) | (0x1f << 3) | 7), "0001:05:1f.7");
  EXPECT_EQ(kfd_pci_address(0, (int64_t{3} << 28) | (0xc1 << 8)), "0000:c1:00.0");
  EXPECT_EQ(kfd_pci_address(-1, 0), std::nullopt);
  EXPECT_EQ(kfd_pci_address(0, -1), std::nullopt);
}

}  // namespace
}  // namespace muster::nccl
