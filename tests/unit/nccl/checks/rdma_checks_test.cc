#include "nccl/checks/rdma_checks.h"

#include <gtest/gtest.h>

#include "tests/support/checked_machine.h"

namespace muster::nccl {
namespace {

using testing::CheckedMachine;

TEST(RdmaChecks, DevicesThatWereNotGranted) {
  CheckedMachine all("roce-macvlan-pod");
  for (int i = 0; i < 8; ++i) all.files.remove("/dev/infiniband/uverbs" + std::to_string(i));
  EXPECT_EQ(all.severity_of("no_uverbs"), "error");
  CheckedMachine some("roce-macvlan-pod");
  some.files.remove("/dev/infiniband/uverbs3");
  EXPECT_EQ(some.severity_of("no_uverbs"), "warning");
  CheckedMachine others("aws-p6-b200-host");
  EXPECT_EQ(others.severity_of("no_uverbs"), "") << "those of the NVSwitches are nobody's";
}

TEST(RdmaChecks, WithoutAConnectionManagerOnlySomeLibrariesWork) {
  CheckedMachine machine("dgx-h100-host");
  EXPECT_EQ(machine.severity_of("rdma_cm_missing"), "");
  machine.files.remove("/dev/infiniband/rdma_cm");
  EXPECT_EQ(machine.severity_of("rdma_cm_missing"), "info");
}

TEST(RdmaChecks, APortThatTheJobWouldUseIsDown) {
  CheckedMachine machine("dgx-h100-host");
  machine.set_port("mlx5_4", "state", "2: INIT");
  EXPECT_EQ(machine.severity_of("port_state"), "error");
  EXPECT_NE(machine.problems().find("mlx5_4 port 1 is INIT"), std::string::npos);
  CheckedMachine storage("dgx-h100-host");
  storage.set_port("mlx5_1", "state", "1: DOWN");
  storage.set_port("mlx5_1", "phys_state", "2: Polling");
  EXPECT_EQ(storage.severity_of("port_state"), "info") << "no GPU is near the port of the storage";
}

// Each card that the job uses gets a second function, without a cable.
void add_second_ports(CheckedMachine& machine) {
  const Machine read = read_machine({machine.files, MachineSource::kRecorded, MachineDetail::kAll});
  for (const RdmaDevice* device : choose_hcas(read).used) {
    const std::string first = device->pci->address;
    const std::string second = first.substr(0, first.size() - 1) + "1";
    std::string target = machine.files.link_target("/sys/bus/pci/devices/" + first).value();
    target.back() = '1';
    const std::string function = "/sys/" + target.substr(target.find("devices/"));
    machine.files.add_link("/sys/bus/pci/devices/" + second, target);
    machine.files.add_file(function + "/class", "0x020700\n");
    machine.files.add_file(function + "/vendor", "0x15b3\n");
    machine.files.add_file(function + "/device", "0x1021\n");
    const std::string name = device->name + "b";
    const std::string folder = "/sys/class/infiniband/" + name;
    machine.files.add_link(folder + "/device", "../../../bus/pci/devices/" + second);
    machine.files.add_file(folder + "/ports/1/state", "1: DOWN\n");
    machine.files.add_file(folder + "/ports/1/link_layer", "InfiniBand\n");
    machine.files.add_file("/sys/class/infiniband_verbs/uverbs-" + name + "/ibdev", name + "\n");
    machine.files.add_file("/dev/infiniband/uverbs-" + name, "");
  }
}

TEST(RdmaChecks, ACardOfTwoPortsMayHaveOneCable) {
  CheckedMachine machine("dgx-h100-host");
  add_second_ports(machine);
  EXPECT_EQ(machine.severity_of("port_state"), "info");
  machine.set_port("mlx5_4", "state", "1: DOWN");
  EXPECT_EQ(machine.severity_of("port_state"), "error") << "neither port of that card has one";
  EXPECT_NE(machine.problems().find("mlx5_4b port 1 is DOWN"), std::string::npos);
}

TEST(RdmaChecks, ASlowPortAmongItsPeers) {
  CheckedMachine machine("dgx-h100-host");
  machine.set_port("mlx5_3", "rate", "100 Gb/sec (4X EDR)");
  EXPECT_EQ(machine.severity_of("port_rate"), "error");
  EXPECT_NE(machine.problems().find("mlx5_3 runs at 100 Gb/s"), std::string::npos);
  CheckedMachine efa("aws-p5-pod");
  efa.set_port("rdmap79s0", "rate", "50 Gb/sec (2X EDR)");
  EXPECT_EQ(efa.severity_of("port_rate"), "error");
  // Where PCI says nothing, the plan leaves a slow one out.
  CheckedMachine azure("azure-ndv5-host");
  azure.set_port("mlx5_2", "rate", "200 Gb/sec (4X HDR)");
  EXPECT_EQ(azure.severity_of("port_rate"), "error");
}

TEST(RdmaChecks, TwoFaultsDoNotHideEachOther) {
  CheckedMachine machine("dgx-h100-host");
  machine.set_port("mlx5_4", "state", "2: INIT");
  machine.set_port("mlx5_9", "rate", "100 Gb/sec (4X EDR)");
  EXPECT_EQ(machine.severity_of("port_state"), "error");
  EXPECT_EQ(machine.severity_of("port_rate"), "error");
  EXPECT_EQ(machine.severity_of("hca_count"), "") << "the card is there";
}

TEST(RdmaChecks, OneDeviceOfEightIsMissing) {
  CheckedMachine machine("dgx-h100-host");
  EXPECT_EQ(machine.severity_of("hca_count"), "");
  machine.files.remove("/sys/class/infiniband/mlx5_5");
  EXPECT_EQ(machine.severity_of("hca_count"), "error");
  CheckedMachine efa("aws-p5-pod");
  efa.files.remove("/sys/class/infiniband/rdmap79s0");
  EXPECT_EQ(efa.severity_of("hca_count"), "warning");
}

TEST(RdmaChecks, OneOfEightNetworksIsNotAttached) {
  CheckedMachine machine("roce-macvlan-pod");
  for (int i = 0; i < 16; ++i) {
    machine.set_port("mlx5_2", "gids/" + std::to_string(i),
                     "0000:0000:0000:0000:0000:0000:0000:0000");
  }
  EXPECT_EQ(machine.severity_of("gid_missing"), "error");
  EXPECT_NE(machine.problems().find("mlx5_2 has no"), std::string::npos);
}

TEST(RdmaChecks, ALimitedMemberOfItsPartition) {
  CheckedMachine machine("dgx-h100-host");
  machine.set_port("mlx5_0", "pkeys/0", "0x7fff");
  EXPECT_EQ(machine.severity_of("pkey"), "error");
  machine.environment.set("NCCL_IB_PKEY", "1");
  EXPECT_EQ(machine.severity_of("pkey"), "");
}

TEST(RdmaChecks, RailsOfDifferentMtu) {
  CheckedMachine machine("roce-sriov-pod");
  ASSERT_TRUE(machine.files.write("/sys/class/net/net3/mtu", "1500\n"));
  EXPECT_EQ(machine.severity_of("mtu_mismatch"), "warning");
}

TEST(RdmaChecks, AnImageWithoutADriver) {
  CheckedMachine machine("mi300x-thor2");
  EXPECT_EQ(machine.severity_of("lib_missing"), "");
  machine.files.remove("/etc/libibverbs.d/bnxt_re.driver");
  EXPECT_EQ(machine.severity_of("lib_missing"), "error");
  machine.files.remove("/etc/libibverbs.d");
  EXPECT_EQ(machine.severity_of("lib_missing"), "error");
}

TEST(RdmaChecks, ANodeWithoutGpusNeedsNoDriver) {
  CheckedMachine machine("roce-sriov-pod");
  machine.files.remove("/etc/libibverbs.d");
  EXPECT_EQ(machine.severity_of("lib_missing"), "error");
  machine.remove_nvidia_gpus();
  EXPECT_EQ(machine.severity_of("lib_missing"), "info");
}

TEST(RdmaChecks, WhatThePlanFindsIsToldOnce) {
  CheckedMachine machine("roce-sriov-pod");
  machine.environment.set("NCCL_IB_GID_INDEX", "9");
  machine.environment.set("NCCL_IB_DISABLE", "true");
  machine.environment.set("NCCL_SOCKET_IFNAME", "bond");
  EXPECT_EQ(machine.severity_of("gid_index_wrong"), "error");
  EXPECT_EQ(machine.severity_of("env_conflict"), "warning");
  EXPECT_EQ(machine.severity_of("ifname_unmatched"), "error");
  const auto findings = machine.findings();
  EXPECT_EQ(std::ranges::count(findings, "gid_index_wrong", &Finding::id), 1);
}

}  // namespace
}  // namespace muster::nccl
