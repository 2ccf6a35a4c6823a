#include "nccl/checks/library_checks.h"

#include <gtest/gtest.h>

#include "tests/support/checked_machine.h"

namespace muster::nccl {
namespace {

using testing::CheckedMachine;

// With NVML that knows all of its GPUs and finds nothing wrong.
CheckedMachine machine_with_nvml(const std::string& tree) {
  CheckedMachine machine(tree);
  NvmlReport nvml{.driver = "550.54.15"};
  for (const Accelerator& accelerator : discover_accelerators(machine.files)) {
    if (!accelerator.accessible) continue;
    nvml.gpus.push_back({.index = static_cast<int>(nvml.gpus.size()),
                         .pci = accelerator.pci_address,
                         .fabric_state = "completed"});
  }
  machine.probes.libraries.nvml = nvml;
  return machine;
}

GpuReport& gpu_of(CheckedMachine& machine, size_t index) {
  return machine.probes.libraries.nvml->gpus.at(index);
}

TEST(LibraryChecks, GpusThatNvmlCannotUse) {
  CheckedMachine machine = machine_with_nvml("dgx-h100-host");
  ASSERT_EQ(machine.probes.libraries.nvml->gpus.size(), 8U);
  EXPECT_EQ(machine.problems(), "");
  gpu_of(machine, 3).problem = "code 15 (GPU is lost)";
  EXPECT_EQ(machine.severity_of("gpu_lost"), "error");
  EXPECT_NE(machine.problems().find("GPU 3 (0000:"), std::string::npos) << machine.problems();

  CheckedMachine fewer = machine_with_nvml("dgx-h100-host");
  const std::string gone = gpu_of(fewer, 5).pci;
  fewer.probes.libraries.nvml->gpus.erase(fewer.probes.libraries.nvml->gpus.begin() + 5);
  EXPECT_NE(fewer.problems().find("error gpu_lost: NVML knows 7 GPUs and not the one at " + gone),
            std::string::npos)
      << fewer.problems();
  gpu_of(fewer, 0).pci = "";
  EXPECT_EQ(fewer.severity_of("gpu_lost"), "") << "which one it is that GPU 0 may be";
}

TEST(LibraryChecks, NvmlThatDoesNotStart) {
  CheckedMachine machine("dgx-h100-host");
  machine.probes.libraries.nvml = NvmlReport{.problem = "nvmlInit_v2: code 9 (Driver Not Loaded)"};
  EXPECT_EQ(machine.severity_of("gpu_lost"), "error");
  CheckedMachine without("cpu-only-pod");
  without.probes.libraries.nvml = machine.probes.libraries.nvml;
  EXPECT_EQ(without.severity_of("gpu_lost"), "") << "its image is for GPUs, the node has none";
}

TEST(LibraryChecks, NvmlKnowsOfMig) {
  CheckedMachine machine = machine_with_nvml("dgx-h100-host");
  gpu_of(machine, 0).in_mig_mode = false;
  EXPECT_EQ(machine.severity_of("mig_mode"), "");
  gpu_of(machine, 1).in_mig_mode = true;
  EXPECT_EQ(machine.severity_of("mig_mode"), "error");
  machine.workers = 1;
  EXPECT_EQ(machine.severity_of("mig_mode"), "warning");
}

TEST(LibraryChecks, ErrorsInTheMemory) {
  CheckedMachine machine = machine_with_nvml("dgx-h100-host");
  gpu_of(machine, 2).uncorrected_errors = 3;
  EXPECT_EQ(machine.severity_of("ecc_xid"), "warning");
  gpu_of(machine, 2).remap_pending = true;
  EXPECT_EQ(machine.severity_of("ecc_xid"), "error");
  CheckedMachine failed = machine_with_nvml("dgx-h100-host");
  gpu_of(failed, 2).remap_failed = true;
  EXPECT_EQ(failed.severity_of("ecc_xid"), "error");
}

TEST(LibraryChecks, TheFabricOfNvlink) {
  CheckedMachine machine = machine_with_nvml("dgx-h100-host");
  gpu_of(machine, 0).fabric_state = "not_supported";
  EXPECT_EQ(machine.severity_of("fabric_state"), "");
  gpu_of(machine, 0).fabric_state = "in_progress";
  EXPECT_EQ(machine.severity_of("fabric_state"), "error");
  gpu_of(machine, 0).fabric_state = "completed";
  gpu_of(machine, 0).has_degraded_bandwidth = true;
  EXPECT_EQ(machine.severity_of("fabric_state"), "warning");
  gpu_of(machine, 0).fabric_status = 3;
  EXPECT_EQ(machine.severity_of("fabric_state"), "error");
}

TEST(LibraryChecks, BusyAndSlowGpus) {
  CheckedMachine machine = machine_with_nvml("dgx-h100-host");
  gpu_of(machine, 0).slowdowns = {"sw_power_cap"};
  EXPECT_EQ(machine.severity_of("throttle"), "");
  gpu_of(machine, 0).slowdowns = {"sw_power_cap", "hw_thermal"};
  EXPECT_EQ(machine.severity_of("throttle"), "warning");
  EXPECT_NE(machine.problems().find("is slowed down: hw_thermal\n"), std::string::npos);
  EXPECT_EQ(machine.severity_of("gpu_busy"), "");
  gpu_of(machine, 0).processes = 2;
  EXPECT_EQ(machine.severity_of("gpu_busy"), "warning");
}

TEST(LibraryChecks, LibfabricWithoutTheProviderOfADevice) {
  CheckedMachine machine("aws-p5-pod");
  machine.probes.libraries.libfabric =
      LibfabricReport{"/usr/lib/libfabric.so.1", "1.17", {"tcp", "shm", "efax"}};
  EXPECT_EQ(machine.severity_of("lib_missing"), "error");
  EXPECT_NE(machine.problems().find("offers no provider efa"), std::string::npos);
  machine.probes.libraries.libfabric->providers.emplace_back("efa");
  EXPECT_EQ(machine.severity_of("lib_missing"), "");
  CheckedMachine verbs("dgx-h100-host");
  verbs.probes.libraries.libfabric = LibfabricReport{"/usr/lib/libfabric.so.1", "1.17", {"tcp"}};
  EXPECT_EQ(verbs.severity_of("lib_missing"), "") << "NCCL speaks to these cards by itself";
}

TEST(LibraryChecks, TheVersionOfNcclDecides) {
  CheckedMachine machine("roce-macvlan-pod");
  ASSERT_EQ(machine.severity_of("gid_hole_abort"), "info");
  for (const auto& [version, severity] : {std::pair{"2.20.5", "info"},
                                          {"2.21.5", "error"},
                                          {"2.25.1", "error"},
                                          {"2.26.0", "info"},
                                          {"", "info"}}) {
    machine.probes.libraries.nccl = NcclReport{"/lib/libnccl.so.2", version};
    EXPECT_EQ(machine.severity_of("gid_hole_abort"), severity) << version;
  }
}

}  // namespace
}  // namespace muster::nccl
