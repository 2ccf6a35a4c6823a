#include "nccl/checks/device_checks.h"

#include <gtest/gtest.h>

#include "tests/support/checked_machine.h"

namespace muster::nccl {
namespace {

using testing::CheckedMachine;

TEST(DeviceChecks, AnIdleGpuMayBeSlowAndNotNarrow) {
  CheckedMachine machine("dgx-h100-host");
  machine.set_pci("0000:1b:00.0", "current_link_speed", "2.5 GT/s PCIe");
  EXPECT_EQ(machine.severity_of("pcie_degraded"), "");
  machine.set_pci("0000:1b:00.0", "current_link_width", "8");
  EXPECT_EQ(machine.severity_of("pcie_degraded"), "warning");
  CheckedMachine card("dgx-h100-host");
  card.set_pci("0000:18:00.0", "current_link_speed", "16.0 GT/s PCIe");
  EXPECT_EQ(card.severity_of("pcie_degraded"), "warning");
  EXPECT_NE(card.problems().find("mlx5_0 (0000:18:00.0) runs at 16 GT/s of 32"), std::string::npos);
}

TEST(DeviceChecks, ADeviceOfSoftwareHasNoPciFunction) {
  CheckedMachine machine("pcie-l40s");
  machine.set_port("mlx5_0", "state", "1: DOWN");
  machine.set_pci("0000:98:00.0", "current_link_width", "8");
  const std::string port = "/sys/class/infiniband/rxe0/ports/1/";
  machine.files.add_file(port + "state", "4: ACTIVE\n");
  machine.files.add_file(port + "link_layer", "Ethernet\n");
  machine.files.add_file(port + "rate", "100 Gb/sec (4X EDR)\n");
  machine.files.add_file(port + "gids/0", "0000:0000:0000:0000:0000:ffff:0a14:002a\n");
  machine.files.add_file(port + "gid_attrs/types/0", "RoCE v2\n");
  machine.files.add_file("/sys/class/infiniband_verbs/uverbs9/ibdev", "rxe0\n");
  machine.files.add_file("/dev/infiniband/uverbs9", "");
  EXPECT_EQ(machine.severity_of("pcie_degraded"), "") << "what is down moves nothing";
  machine.set_port("mlx5_0", "state", "4: ACTIVE");
  machine.files.remove("/dev/infiniband/uverbs9");
  EXPECT_EQ(machine.severity_of("pcie_degraded"), "warning");
}

TEST(DeviceChecks, AVirtualMachineThatHidesEverything) {
  CheckedMachine machine("azure-ndv4-host");
  EXPECT_EQ(machine.severity_of("numa_unknown"), "warning");
  machine.environment.set("NCCL_TOPO_FILE", "/opt/topo.xml");
  EXPECT_EQ(machine.severity_of("numa_unknown"), "");
}

TEST(DeviceChecks, AnIommuThatTranslates) {
  CheckedMachine machine("dgx-h100-host");
  machine.files.add_directory("/sys/kernel/iommu_groups/17");
  EXPECT_EQ(machine.severity_of("acs_iommu"), "") << "iommu=pt";
  machine.files.add_file("/proc/cmdline", "root=/dev/sda1 intel_iommu=on quiet\n");
  EXPECT_EQ(machine.severity_of("acs_iommu"), "warning");
}

TEST(DeviceChecks, GpusThatCardsCannotReach) {
  CheckedMachine machine("dgx-h100-host");
  machine.files.remove("/sys/module/nvidia_peermem");
  EXPECT_EQ(machine.severity_of("gdr_path"), "") << "the open driver exports dma-buf";
  machine.edit("/proc/driver/nvidia/version", "Open Kernel Module for x86_64",
               "x86_64 Kernel Module");
  EXPECT_EQ(machine.severity_of("gdr_path"), "error");
  CheckedMachine old("dgx-h100-host");
  old.files.remove("/sys/module/nvidia_peermem");
  old.files.add_file("/proc/sys/kernel/osrelease", "5.4.0-150-generic\n");
  EXPECT_EQ(old.severity_of("gdr_path"), "error");
}

TEST(DeviceChecks, ALostGpu) {
  CheckedMachine machine("dgx-h100-host");
  machine.files.remove("/proc/driver/nvidia/gpus/0000:52:00.0");
  EXPECT_EQ(machine.severity_of("gpu_lost"), "error");
  EXPECT_NE(machine.problems().find("has taken 8 GPUs and knows 7"), std::string::npos);
  CheckedMachine pod("roce-sriov-pod");
  pod.files.remove("/proc/driver/nvidia/gpus/0000:52:00.0");
  pod.files.remove("/dev/nvidia2");
  EXPECT_EQ(pod.severity_of("gpu_lost"), "") << "a pod was given seven";
  CheckedMachine gone("roce-sriov-pod");
  gone.files.remove("/sys/bus/pci/devices/0000:52:00.0");
  EXPECT_EQ(gone.severity_of("gpu_lost"), "error");
  CheckedMachine half("roce-sriov-pod");
  half.files.remove("/dev/nvidia-uvm");
  EXPECT_EQ(half.severity_of("gpu_lost"), "error");
  CheckedMachine idle("dgx-h100-host");
  idle.files.remove("/dev/nvidia-uvm");
  EXPECT_EQ(idle.severity_of("gpu_lost"), "") << "the first use of CUDA makes it on a host";
  idle.files.remove("/dev/nvidiactl");
  EXPECT_EQ(idle.severity_of("gpu_lost"), "error");
}

TEST(DeviceChecks, MigModeAndChannels) {
  CheckedMachine machine("nvlink-single");
  for (const char* path : {"gi1/access", "gi1/ci0/access"}) {
    machine.files.add_file(std::string("/proc/driver/nvidia/capabilities/gpu0/mig/") + path,
                           "DeviceFileMinor: 12\n");
  }
  machine.files.add_file("/dev/nvidia-caps/nvidia-cap12", "");
  EXPECT_EQ(machine.severity_of("mig_mode"), "error");
  machine.workers = 1;
  EXPECT_EQ(machine.severity_of("mig_mode"), "warning");
  EXPECT_EQ(CheckedMachine("gb200-nvl72").severity_of("imex"), "");
  EXPECT_EQ(CheckedMachine("gb200-no-imex").severity_of("imex"), "error");
}

}  // namespace
}  // namespace muster::nccl
