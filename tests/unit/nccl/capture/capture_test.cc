#include "nccl/capture/capture.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "nccl/capture/redaction.h"
#include "tests/support/checked_machine.h"

namespace muster::nccl {
namespace {

using testing::CheckedMachine;
using testing::FakeFiles;

void fill(FakeFiles& files, const Capture& capture) {
  for (const auto& [path, entry] : capture.entries) {
    switch (entry.kind) {
      case CapturedEntry::Kind::kFile:
        files.add_file(path, entry.text);
        break;
      case CapturedEntry::Kind::kLink:
        files.add_link(path, entry.text);
        break;
      case CapturedEntry::Kind::kFolder:
        files.add_directory(path);
        break;
    }
  }
}

// What a plan says, for comparison.
std::string described(const Files& files, const Environment& environment) {
  const FabricFacts facts = read_fabric_facts(
      {files, MachineSource::kRecorded, MachineDetail::kAll}, environment, SiteProfile());
  const FabricPlan plan = plan_fabric(facts, {.has_many_nodes = true, .plans_fabric = true});
  std::string text = summary(plan) + "\n";
  for (const PlannedVariable& variable : plan.variables)
    text += variable.name + "=" + variable.value.value_or("-") + " " + variable.reason + "\n";
  for (const VariableDecision& kept : plan.kept) text += "kept " + kept.name + "\n";
  for (const Finding& finding : plan.findings) text += to_line(finding) + "\n";
  return text;
}

std::string listed(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) text += finding.id + ": " + finding.what + "\n";
  return text;
}

class CapturedTree : public ::testing::TestWithParam<std::string> {};

TEST_P(CapturedTree, HasThePlanAndTheFindingsOfItsMachine) {
  const CheckedMachine machine(GetParam());
  const Capture capture = capture_machine(machine.files, machine.environment, {});
  EXPECT_FALSE(capture.is_cut);
  CheckedMachine copy(GetParam());
  copy.files.remove("/sys");
  for (const char* folder : {"/proc", "/dev", "/etc", "/opt", "/usr", "/environ", "/ulimits"})
    copy.files.remove(folder);
  fill(copy.files, capture);
  copy.environment = Environment();
  const std::string environ = copy.files.content("/environ");
  for (const std::string_view line : split(environ, '\n')) copy.environment.set_entry(line);
  EXPECT_EQ(described(copy.files, copy.environment), described(machine.files, machine.environment));
  EXPECT_EQ(listed(copy.findings()), listed(machine.findings()));
}

INSTANTIATE_TEST_SUITE_P(Machines, CapturedTree,
                         ::testing::Values("aws-p5-pod", "azure-ndv5-host", "dgx-h100-host",
                                           "gcp-a3-ultra-pod", "gcp-a3-mega-pod", "gb200-nvl72",
                                           "mi300x-thor2", "oci-h100-host", "roce-macvlan-pod",
                                           "roce-no-network-pod", "slingshot", "laptop-wifi",
                                           "plain-ethernet-hostnet"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::erase(name, '-');
                           return name;
                         });

// Everything that the capture wrote down, as one text.
std::string everything(const Capture& capture) {
  std::string text;
  for (const auto& [path, entry] : capture.entries) text += path + "\n" + entry.text + "\n";
  return text;
}

TEST(Capture, PlantedSecretsAreNowhere) {
  CheckedMachine machine("dgx-h100-host");
  const std::string secret = "hunter2hunter2";
  for (const char* name :
       {"AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "MUSTER_JOB_SECRET", "WANDB_API_KEY",
        "NCCL_AUTH_TOKEN", "UCX_PASSWORD", "ISTIO_META_JSON", "PATH", "FI_KEY"})
    machine.environment.set(name, secret);
  machine.files.add_file("/etc/nccl.conf", "NCCL_DEBUG=INFO\nPASSWORD=" + secret + "\n# " + secret);
  machine.files.add_file("/proc/cmdline", "root=/dev/sda1 iommu=pt netpass=" + secret + "\n");
  machine.files.add_file("/etc/shadow", secret);
  machine.files.add_file("/root/.ssh/id_rsa", secret);
  machine.files.add_file("/proc/self/environ", "X=" + secret);
  machine.files.add_link("/sys/class/net/evil", "../../../etc");
  machine.files.add_file("/etc/speed", secret);
  machine.environment.set("NCCL_CONF_FILE", "/etc/shadow");
  const std::string text = everything(capture_machine(machine.files, machine.environment, {}));
  EXPECT_EQ(text.find(secret), std::string::npos)
      << text.substr(text.find(secret) < 300 ? 0 : text.find(secret) - 300, 400);
  EXPECT_NE(text.find("ISTIO_META_JSON=1"), std::string::npos) << "its presence is a finding";
}

TEST(Capture, CardsCannotBeToldFromTheirSisters) {
  CheckedMachine machine("dgx-h100-host");
  machine.environment.set("CUDA_VISIBLE_DEVICES", "GPU-70000000-1111,GPU-00000000-1111-2222");
  const Capture capture = capture_machine(machine.files, machine.environment, {});
  const std::string text = everything(capture);
  EXPECT_EQ(text.find("1111-2222"), std::string::npos);
  EXPECT_EQ(text.find("b83f:d203"), std::string::npos) << "GUIDs";
  EXPECT_EQ(text.find("b8:3f:d2"), std::string::npos) << "MAC addresses";
  EXPECT_EQ(text.find("ba3f:d2"), std::string::npos) << "addresses made of them";
  EXPECT_EQ(text.find("ba3fd2"), std::string::npos) << "the same in /proc/net/if_inet6";
  EXPECT_NE(
      capture.entries.at("/environ")
          .text.find("CUDA_VISIBLE_DEVICES=GPU-00000008-0000-0000-0000-000000000000,GPU-00000001-"),
      std::string::npos)
      << capture.entries.at("/environ").text;
}

TEST(Capture, WhichAmdGpuIsMeantStaysKnown) {
  CheckedMachine machine("mi300x-thor2");
  const Accelerator gpu =
      read_machine({machine.files, MachineSource::kRecorded, MachineDetail::kAll})
          .accelerators.at(2);
  ASSERT_FALSE(gpu.uuid.empty());
  machine.environment.set("ROCR_VISIBLE_DEVICES", gpu.uuid);
  const Capture capture = capture_machine(machine.files, machine.environment, {});
  EXPECT_EQ(everything(capture).find(gpu.uuid), std::string::npos);
  FakeFiles copy;
  fill(copy, capture);
  const auto copied = read_machine({copy, MachineSource::kRecorded, MachineDetail::kAll});
  ASSERT_EQ(copied.accelerators.at(2).pci_address, gpu.pci_address);
  EXPECT_NE(capture.entries.at("/environ")
                .text.find("ROCR_VISIBLE_DEVICES=" + copied.accelerators.at(2).uuid + "\n"),
            std::string::npos)
      << capture.entries.at("/environ").text;
}

TEST(Capture, InterfaceNamesMadeOfAMacAreNumbers) {
  CheckedMachine machine("cpu-only-pod");
  const std::string function = "/sys/devices/pci0000:00/0000:00:1f.0/net/enxb83fd2000e02/";
  machine.files.add_file(function + "mtu", "1500\n");
  machine.files.add_file(function + "flags", "0x1003\n");
  machine.files.add_link("/sys/class/net/enxb83fd2000e02",
                         "../../devices/pci0000:00/0000:00:1f.0/net/enxb83fd2000e02");
  machine.environment.set("NCCL_SOCKET_IFNAME", "=enxb83fd2000e02");
  machine.environment.set("NCCL_IB_HCA", "rocexb83fd2000e02,ibxb83fd20300000e02:1");
  const Capture capture = capture_machine(machine.files, machine.environment,
                                          {{.interface = "enxb83fd2000e02", .host = "10.0.0.9"}});
  EXPECT_EQ(everything(capture).find("b83fd2"), std::string::npos);
  EXPECT_EQ(capture.entries.at("/sys/class/net/enx000000000001").text,
            "../../devices/pci0000:00/0000:00:1f.0/net/enx000000000001");
  EXPECT_TRUE(
      capture.entries.contains("/sys/devices/pci0000:00/0000:00:1f.0/net/enx000000000001/flags"));
  EXPECT_EQ(capture.entries.at("/addresses").text, "enx000000000001 10.0.0.9\n");
  const std::string& environment = capture.entries.at("/environ").text;
  EXPECT_NE(environment.find("NCCL_SOCKET_IFNAME==enx000000000001\n"), std::string::npos);
  EXPECT_NE(environment.find("NCCL_IB_HCA=rocex000000000001,ibx0000000000000002:1\n"),
            std::string::npos)
      << environment;
}

TEST(Redaction, OnlyWholeNamesOfAMacAreReplaced) {
  Redactor redactor;
  for (const char* kept : {"enx", "enxb83fd2", "enxb83fd2000e0z", "myenxb83fd2000e02", "ens5f0np0",
                           "cali19de03b7f55", "enxb83fd2000e0202", ""})
    EXPECT_EQ(redactor.keep_interfaces(kept), kept);
  EXPECT_EQ(redactor.keep_interfaces("/a/wlxb83fd2000e02.7 enxb83fd2000e03\n"),
            "/a/wlx000000000001.7 enx000000000002\n");
}

TEST(Capture, OfALivingMachineTheFilesOfATreeAreNotRead) {
  CheckedMachine machine("aws-p5-pod");
  machine.files.add_file("/ulimits", "planted");
  machine.files.add_file("/addresses", "planted 10.0.0.1\n");
  machine.files.add_file("/proc/self/limits", "the kernel's");
  const Capture live = capture_machine(machine.files, machine.environment,
                                       {{.interface = "eth0", .host = "10.1.37.92"}});
  EXPECT_EQ(live.entries.at("/ulimits").text, "the kernel's");
  EXPECT_EQ(live.entries.at("/addresses").text, "eth0 10.1.37.92\n");
  const Capture again = capture_machine(machine.files, machine.environment, {});
  EXPECT_EQ(again.entries.at("/ulimits").text, "planted");
  EXPECT_EQ(again.entries.at("/addresses").text, "planted 10.0.0.1\n");
}

TEST(Capture, LinksAreRelativeAndStayInside) {
  CheckedMachine machine("dgx-h100-host");
  machine.files.add_link("/sys/class/net/out", "../../../../../etc");
  machine.files.add_link("/sys/class/net/far", "/etc");
  machine.files.add_link("/sys/class/net/ring", "ring");
  const Capture capture = capture_machine(machine.files, machine.environment, {});
  for (const auto& [path, entry] : capture.entries) {
    EXPECT_TRUE(path.starts_with('/') && path.find("/../") == std::string::npos) << path;
    if (entry.kind != CapturedEntry::Kind::kLink) continue;
    const auto target =
        (std::filesystem::path(path).parent_path() / entry.text).lexically_normal().string();
    EXPECT_TRUE(!entry.text.starts_with('/') && target.starts_with("/sys/")) << path;
  }
  EXPECT_FALSE(capture.entries.contains("/sys/class/net/out"));
  EXPECT_FALSE(capture.entries.contains("/sys/class/net/far"));
}

TEST(Capture, AddressesOfTheKernelAreKept) {
  const CheckedMachine machine("aws-p5-pod");
  const std::vector<InterfaceAddress> addresses = {
      {.interface = "eth0", .host = "10.1.37.92"},
      {.interface = "eth0", .host = "fe80::ba3f:d2ff:fe00:e02"},
      {.interface = "eth0", .host = "fd00:1::ba3f:d2ff:fe00:e02"}};
  const Capture capture = capture_machine(machine.files, machine.environment, addresses);
  EXPECT_EQ(capture.entries.at("/addresses").text,
            "eth0 10.1.37.92\neth0 fe80::1\neth0 fd00:1::1\n");
}

TEST(Capture, TheListOfVariablesAndFiles) {
  for (const char* name : {"NCCL_IB_HCA", "NCCL_IB_PKEY", "GLOO_SOCKET_IFNAME", "UCX_TLS",
                           "OMPI_MCA_btl", "FI_PROVIDER", "KUBERNETES_SERVICE_HOST"})
    EXPECT_TRUE(is_captured_variable(name)) << name;
  for (const char* name :
       {"HF_TOKEN", "NCCL_TOKEN", "UCX_SECRET", "HOME", "PATH", "RANK", "", "NCCL",
        "FI_CXI_API_KEY", "UCX_NODE_UUID", "OMPI_MCA_orte_precondition_transports"})
    EXPECT_FALSE(is_captured_variable(name)) << name;
  for (const char* path : {"/sys/class/net/eth0/mtu", "/dev/nvidia0", "/etc/hosts", "/dev/cxi1",
                           "/etc/ndv4-topo.xml", "/proc/driver/nvidia/version"})
    EXPECT_TRUE(is_captured_path(path)) << path;
  for (const char* path : {"/etc/resolv.conf", "/etc/shadow", "/proc/self/environ", "/root/.ssh/id",
                           "/sys/class/dmi/id/product_serial", "/sys/class/networks", "/dev/sda",
                           "/dev/nvidia/../mem", "/etc/machine-id"})
    EXPECT_FALSE(is_captured_path(path)) << path;
}

TEST(Redaction, HalvesThatWereMadeOfAGuid) {
  EXPECT_EQ(keep_gid("fe80:0000:0000:0000:a288:c2ff:fe3b:506a\n", false),
            "fe80:0000:0000:0000:0000:0000:0000:0001\n");
  EXPECT_EQ(keep_gid("fec0:0000:0000:0007:b83f:d203:0012:3456\n", true),
            "fec0:0000:0000:0007:0000:0000:0000:0001\n");
  for (const char* kept :
       {"0000:0000:0000:0000:0000:ffff:0ac8:010a\n", "0000:0000:0000:0000:0000:0000:0000:0000\n",
        "fd00:0000:0000:0002:0000:0000:0000:0009\n"})
    EXPECT_EQ(keep_gid(kept, false), kept);
  EXPECT_EQ(keep_address("2001:db8::1"), "2001:db8::1");
  EXPECT_EQ(keep_address("10.0.0.1"), "10.0.0.1");
}

TEST(Redaction, OfMountsOnlyThoseThatAreReadStay) {
  EXPECT_EQ(keep_mounts("1 0 0:1 / / rw - overlay overlay rw,lowerdir=/var/lib/secret\n"
                        "2 1 0:2 / /data rw - nfs server:/export rw\n"
                        "3 1 0:3 / /dev/shm rw - tmpfs shm rw,size=65536k\n"),
            "1 0 0:1 / / rw - overlay overlay rw\n"
            "3 1 0:3 / /dev/shm rw - tmpfs shm rw,size=65536k\n");
}

}  // namespace
}  // namespace muster::nccl
