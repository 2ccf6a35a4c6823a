#include "nccl/plan/fabric_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "tests/support/fake_files.h"
#include "tests/support/pages.h"

namespace muster::nccl {
namespace {

const std::string kTrees = MUSTER_TEST_DATA "/machines/fabric";

Environment environment_of(const Files& files) {
  Environment environment;
  const auto text = files.read("/environ");
  if (!text) return environment;
  for (const std::string_view line : split(*text, '\n')) environment.set_entry(line);
  return environment;
}

class FabricPlanTest : public ::testing::Test {
 protected:
  void load(const std::string& name) {
    const Status added = files_.add_tree_text(kTrees + "/" + name + ".tree");
    ASSERT_TRUE(added) << added.error().text;
    environment_ = environment_of(files_);
  }
  FabricPlan plan(const FabricJob& job = {.has_many_nodes = true, .plans_fabric = true}) {
    auto profile = read_profile(files_, "");
    EXPECT_TRUE(profile);
    return plan_fabric(read_fabric_facts({files_, MachineSource::kRecorded, MachineDetail::kAll},
                                         environment_, std::move(*profile)),
                       job);
  }
  // "" = it is not planned.
  static std::string value_of(const FabricPlan& plan, const std::string& name) {
    const auto found = std::ranges::find(plan.variables, name, &PlannedVariable::name);
    return found == plan.variables.end() ? "" : *found->value;
  }
  // Files of a device lie where its link leads: "../../devices/pci0000:15/...".
  std::string port_of(const std::string& device) {
    const auto target = files_.link_target("/sys/class/infiniband/" + device);
    EXPECT_TRUE(target) << device;
    return target ? "/sys/" + target->substr(6) + "/ports/1/" : "";
  }
  static const Finding* find(const FabricPlan& plan, const std::string& id) {
    const auto found = std::ranges::find(plan.findings, id, &Finding::id);
    return found == plan.findings.end() ? nullptr : &*found;
  }

  muster::testing::FakeFiles files_;
  Environment environment_;
};

std::string text_of(FabricPlan plan) {
  std::string text = summary(plan) + "\n";
  std::ranges::sort(plan.variables, {}, &PlannedVariable::name);
  for (const PlannedVariable& variable : plan.variables) {
    text += "set " + variable.name + "=" + *variable.value + "\n    " + variable.reason + " (" +
            variable.source + ")";
    text += variable.confidence == Confidence::kAssumed ? ", assumed\n" : "\n";
  }
  for (const VariableDecision& kept : plan.kept)
    text += "keep " + kept.name + "=" + kept.value + " (" + kept.source + ")\n";
  for (const DroppedDevice& device : plan.dropped)
    text += "not " + device.name + ": " + device.reason + "\n";
  for (const Finding& finding : plan.findings) {
    text += std::string(to_string(finding.severity)) + " " + finding.id + ": " + to_line(finding) +
            "\n";
  }
  return text;
}

// The plans are files beside the machines. What the reference of each machine's maker says stands
// there, so a difference is a mistake here or a decision there.
TEST_F(FabricPlanTest, PageOfEachMachineIsItsPlan) {
  const auto names = RealFiles().list(kTrees);
  ASSERT_TRUE(names);
  size_t machines = 0;
  for (const std::string& name : *names) {
    if (!name.ends_with(".tree")) continue;
    ++machines;
    SCOPED_TRACE(name);
    const std::string machine = name.substr(0, name.size() - 5);
    files_ = muster::testing::FakeFiles();
    load(machine);
    expect_file("machines/fabric/" + machine + ".plan", text_of(plan()));
  }
  EXPECT_GE(machines, 14U);
}

TEST_F(FabricPlanTest, TheInterfaceByWhichANodeIsReachedIsTheOneOfAll) {
  load("plain-ethernet-hostnet");
  const FabricPlan made = plan(
      {.has_many_nodes = true, .has_round = true, .reached = "tailscale0", .plans_fabric = true});
  EXPECT_EQ(value_of(made, "GLOO_SOCKET_IFNAME"), "tailscale0");
  EXPECT_EQ(value_of(made, "TP_SOCKET_IFNAME"), "tailscale0");
  EXPECT_EQ(value_of(made, "NCCL_SOCKET_IFNAME"), "=tailscale0");
  EXPECT_EQ(value_of(made, "UCX_NET_DEVICES"), "tailscale0");
  EXPECT_EQ(value_of(made, "OMPI_MCA_btl_tcp_if_include"), "tailscale0");
}

TEST_F(FabricPlanTest, OneNodeIsToldNoInterfaceForOthers) {
  for (const char* machine : {"nvlink-single", "dgx-h100-host", "aws-p5-pod", "oci-h100-host"}) {
    files_ = muster::testing::FakeFiles();
    load(machine);
    EXPECT_TRUE(plan({}).variables.empty()) << machine;
  }
}

// Its address is on loopback, or is not the first one of its interface.
TEST_F(FabricPlanTest, WhereNoNameStandsForTheWayNoneIsTold) {
  load("plain-ethernet-hostnet");
  const FabricPlan made =
      plan({.has_many_nodes = true, .has_round = true, .reached = "", .plans_fabric = true});
  EXPECT_EQ(value_of(made, "GLOO_SOCKET_IFNAME"), "");
  EXPECT_EQ(value_of(made, "NCCL_SOCKET_IFNAME"), "");
}

TEST_F(FabricPlanTest, OneNodeWhoseNameIsLoopbackIsToldAnInterface) {
  load("laptop-wifi");
  const FabricPlan made = plan({});
  EXPECT_EQ(value_of(made, "GLOO_SOCKET_IFNAME"), "wlan0");
  EXPECT_EQ(value_of(made, "UCX_NET_DEVICES"), "");
  ASSERT_NE(find(made, "dns_self"), nullptr);
  EXPECT_EQ(find(made, "dns_self")->severity, Severity::kInfo);
}

TEST_F(FabricPlanTest, AConfigurationFileIsNotBeatenByTheEnvironment) {
  load("oci-h100-host");
  files_.add_file("/etc/nccl.conf", "NCCL_IB_TC=106\n#NCCL_IB_SL=9\nNCCL_IB_TIMEOUT=20\r\n");
  const FabricPlan made = plan();
  EXPECT_EQ(value_of(made, "NCCL_IB_TC"), "");
  EXPECT_EQ(value_of(made, "NCCL_IB_TIMEOUT"), "");
  EXPECT_EQ(value_of(made, "NCCL_IB_SL"), "0");
  ASSERT_EQ(made.kept.size(), 2U);
  EXPECT_EQ(made.kept[0].name, "NCCL_IB_TC");
  EXPECT_EQ(made.kept[0].value, "106");
  EXPECT_EQ(made.kept[0].source, "/etc/nccl.conf");
  EXPECT_EQ(made.kept[1].value, "20");
}

TEST_F(FabricPlanTest, TheSiteKnowsItsSwitchesBetterThanARecipe) {
  load("oci-h100-host");
  files_.add_file("/etc/muster/fabric.conf",
                  "# class 5 is lossless here\nNCCL_IB_TC = 160\n\nNCCL_IB_QPS_PER_CONNECTION=2\n");
  const FabricPlan made = plan();
  EXPECT_EQ(value_of(made, "NCCL_IB_TC"), "160");
  EXPECT_EQ(value_of(made, "NCCL_IB_QPS_PER_CONNECTION"), "2");
  const auto found = std::ranges::find(made.variables, "NCCL_IB_TC", &PlannedVariable::name);
  EXPECT_EQ(found->reason, "class 5 is lossless here");
  EXPECT_EQ(found->source, "/etc/muster/fabric.conf");
}

TEST_F(FabricPlanTest, AddressesOfIpv6AloneAreAsked) {
  load("mi300x-thor2");
  // The IPv4 entries of all ports go.
  for (int device = 0; device < 8; ++device) {
    const std::string port = port_of("bnxt_re" + std::to_string(device)) + "gids/";
    for (int entry = 0; entry < 16; ++entry) {
      const std::string path = port + std::to_string(entry);
      if (files_.content(path).find("0000:ffff:") == std::string::npos) continue;
      files_.add_file(path,
                      "fd00:0060:0000:0000:0000:0000:0000:000" + std::to_string(device) + "\n");
    }
  }
  EXPECT_EQ(value_of(plan(), "NCCL_IB_ADDR_FAMILY"), "AF_INET6");
}

TEST_F(FabricPlanTest, APinnedGidThatIsWrongIsReportedAndKept) {
  load("roce-macvlan-pod");
  environment_.set("NCCL_IB_GID_INDEX", "3");
  const FabricPlan made = plan();
  EXPECT_EQ(value_of(made, "NCCL_IB_GID_INDEX"), "");
  const Finding* finding = find(made, "gid_index_wrong");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kError);
  EXPECT_NE(finding->what.find("entry 7 is RoCE v2"), std::string::npos) << finding->what;
  environment_.set("NCCL_IB_GID_INDEX", "7");
  EXPECT_EQ(find(plan(), "gid_index_wrong"), nullptr);
}

TEST_F(FabricPlanTest, ASlowDeviceNearAGpuIsNotLeftOut) {
  load("dgx-h100-host");
  files_.add_file(port_of("mlx5_3") + "rate", "100 Gb/sec (4X EDR)\n");
  EXPECT_NE(value_of(plan(), "NCCL_IB_HCA").find("mlx5_3"), std::string::npos);
}

TEST_F(FabricPlanTest, ADeviceThatIsDownIsNotUsed) {
  load("dgx-h100-host");
  files_.add_file(port_of("mlx5_3") + "state", "1: DOWN\n");
  EXPECT_EQ(value_of(plan(), "NCCL_IB_HCA"), "=mlx5_0,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10,mlx5_11")
      << "those of the storage stay out";
}

TEST_F(FabricPlanTest, AScriptThatOnlyAShellUnderstandsIsSaid) {
  load("gcp-a3-ultra-pod");
  files_.add_file("/usr/local/gib/scripts/set_nccl_env.sh",
                  "export NCCL_NET=gIB\nexport NCCL_IB_TC=$(cat /tc)\n");
  const FabricPlan made = plan();
  EXPECT_EQ(value_of(made, "NCCL_NET"), "") << "a part of it would be worse than nothing";
  const auto odd = std::ranges::find_if(made.findings, [](const Finding& finding) {
    return finding.what.find("set_nccl_env.sh:2") != std::string::npos;
  });
  ASSERT_NE(odd, made.findings.end());
  EXPECT_EQ(odd->severity, Severity::kWarning);
}

TEST_F(FabricPlanTest, APluginOfTheUserIsNotStoodAgainst) {
  load("aws-p5-pod");
  environment_.set("NCCL_NET_PLUGIN", "none");
  EXPECT_EQ(value_of(plan(), "NCCL_NET"), "");
}

TEST_F(FabricPlanTest, AnExclusionOfTheProfileKeepsTheOtherFormOut) {
  load("plain-ethernet-pod");
  files_.add_file("/etc/muster/fabric.conf", "OMPI_MCA_btl_tcp_if_exclude=lo\n");
  EXPECT_EQ(value_of(plan(), "OMPI_MCA_btl_tcp_if_include"), "");
}

TEST_F(FabricPlanTest, LinesOfTheProfileAreCheckedAsWell) {
  load("plain-ethernet-pod");
  files_.add_file("/etc/muster/fabric.conf", "NCCL_IB_DISABLE=true\n");
  EXPECT_NE(find(plan(), "env_conflict"), nullptr);
}

TEST_F(FabricPlanTest, WithoutAMachineNothingIsPlanned) {
  const FabricPlan made = plan();
  EXPECT_TRUE(made.variables.empty());
  EXPECT_TRUE(made.findings.empty());
  EXPECT_EQ(made.kind, FabricKind::kNone);
}

}  // namespace
}  // namespace muster::nccl
