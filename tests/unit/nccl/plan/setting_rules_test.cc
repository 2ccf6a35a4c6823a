#include "nccl/plan/setting_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "tests/support/fake_files.h"

namespace muster::nccl {
namespace {

class SettingRulesTest : public ::testing::Test {
 protected:
  void load(const std::string& name) {
    ASSERT_TRUE(files_.add_tree_text(MUSTER_TEST_DATA "/machines/fabric/" + name + ".tree"));
    machine_ = read_machine({files_, MachineSource::kRecorded, MachineDetail::kAll});
  }
  // What is said of one setting; "" = nothing.
  std::string said(const std::string& name, const std::string& value) {
    return said({{name, value}});
  }
  std::string said(const std::vector<std::pair<std::string, std::string>>& all) {
    Settings settings;
    for (const auto& [name, value] : all)
      settings.add(name, {value, std::string(kEnvironmentSource)});
    std::string text;
    for (const Finding& finding : check_settings(settings, machine_, true)) {
      text += std::string(to_string(finding.severity)) + " " + finding.id + " " + to_line(finding) +
              "\n";
    }
    return text;
  }
  void expect_said(const std::string& name, const std::string& value, const std::string& part) {
    EXPECT_NE(said(name, value).find(part), std::string::npos)
        << name << "=" << value << " says: " << said(name, value);
  }

  muster::testing::FakeFiles files_;
  Machine machine_;
};

TEST_F(SettingRulesTest, WordsAreZeroForNccl) {
  expect_said("NCCL_IB_DISABLE", "true",
              "warning env_conflict NCCL_IB_DISABLE=true: NCCL reads this as 0");
  expect_said("NCCL_P2P_DISABLE", "yes", "reads this as 0");
  expect_said("NCCL_IB_TIMEOUT", "22s", "reads this as 22");
  EXPECT_EQ(said("NCCL_IB_DISABLE", "0x1"), "");
  EXPECT_EQ(said("NCCL_IB_DISABLE", ""), "");
  EXPECT_EQ(read_as_nccl("0x10"), 16);
  EXPECT_EQ(read_as_nccl("010"), 8);
  EXPECT_EQ(read_as_nccl("  -3"), -3);
  EXPECT_EQ(read_as_nccl("0x"), 0);
  EXPECT_EQ(read_as_nccl("99999999999999999999"), std::numeric_limits<int64_t>::max());
  EXPECT_FALSE(is_nccl_integer("0x"));
  EXPECT_FALSE(is_nccl_integer("1 "));
}

TEST_F(SettingRulesTest, ValuesOutOfRangeAreSaid) {
  expect_said("NCCL_IB_TIMEOUT", "40", "it must be from 0 to 31");
  expect_said("NCCL_IB_TC", "300", "it must be from -1 to 255");
  expect_said("NCCL_BUFFSIZE", "0", "it must be 1 or more");
  EXPECT_EQ(said("NCCL_IB_TIMEOUT", "22"), "");
}

TEST_F(SettingRulesTest, AListOfInterfacesThatMatchesNothing) {
  load("plain-ethernet-hostnet");
  expect_said("NCCL_SOCKET_IFNAME", "ens3", "error ifname_unmatched");
  expect_said("NCCL_SOCKET_IFNAME", "=eth", "error ifname_unmatched");
  expect_said("NCCL_SOCKET_IFNAME", "^", "one character");
  expect_said("NCCL_SOCKET_IFNAME", "lo", "only loopback is left");
  expect_said("NCCL_SOCKET_IFNAME", "eth0, eth1", "spaces");
  expect_said("NCCL_SOCKET_IFNAME", "^docker,^lo", "at the beginning of the list only");
  EXPECT_EQ(said("NCCL_SOCKET_IFNAME", "eth"), "");
  EXPECT_EQ(said("NCCL_SOCKET_IFNAME", "^=docker0,lo"), "");
}

TEST_F(SettingRulesTest, BeginningsOfDeviceNames) {
  load("dgx-h100-host");
  expect_said("NCCL_IB_HCA", "mlx5_1",
              "'mlx5_1' is taken for the beginning of a name and matches mlx5_10,mlx5_11");
  EXPECT_EQ(said("NCCL_IB_HCA", "=mlx5_1"), "");
  EXPECT_EQ(said("NCCL_IB_HCA", "mlx5"), "");
  expect_said("NCCL_IB_HCA", "ibp", "error ifname_unmatched");
  expect_said("NCCL_IB_HCA", "^=mlx5_1,^=mlx5_2", "letters of a name");
}

TEST_F(SettingRulesTest, GlooKnowsWholeNamesOnly) {
  load("plain-ethernet-hostnet");
  expect_said("GLOO_SOCKET_IFNAME", "^lo",
              "error env_conflict GLOO_SOCKET_IFNAME=^lo: only NCCL knows '^'");
  expect_said("GLOO_SOCKET_IFNAME", "eth", "there is no interface 'eth'");
  EXPECT_EQ(said("GLOO_SOCKET_IFNAME", "eth0"), "");
}

TEST_F(SettingRulesTest, PairsThatExcludeEachOther) {
  EXPECT_NE(said({{"OMPI_MCA_btl_tcp_if_include", "eth0"}, {"OMPI_MCA_btl_tcp_if_exclude", "lo"}})
                .find("error env_conflict"),
            std::string::npos);
  EXPECT_NE(
      said({{"NCCL_SOCKET_NTHREADS", "16"}, {"NCCL_NSOCKS_PERTHREAD", "8"}}).find("more than 64"),
      std::string::npos);
  EXPECT_EQ(said({{"NCCL_SOCKET_NTHREADS", "8"}, {"NCCL_NSOCKS_PERTHREAD", "8"}}), "");
}

TEST_F(SettingRulesTest, OldAdviceForEfa) {
  load("aws-p5-pod");
  expect_said("NCCL_PROTO", "simple", "the EFA plugin chooses it");
  expect_said("RDMAV_FORK_SAFE", "1", "FI_EFA_FORK_SAFE");
  expect_said("FI_EFA_MTU_SIZE", "4096", "error env_conflict");
  expect_said("FI_EFA_TX_MIN_CREDITS", "0", "aborts");
  EXPECT_EQ(said("FI_EFA_TX_MIN_CREDITS", "32"), "");
}

TEST_F(SettingRulesTest, WhatSwitchesFastPathsOff) {
  load("dgx-h100-host");
  expect_said("NCCL_IB_DISABLE", "1", "all goes over TCP");
  expect_said("NCCL_P2P_DISABLE", "1", "NVLink");
  expect_said("UCX_TLS", "tcp,self,sm", "GPU memory");
  EXPECT_EQ(said("UCX_TLS", "rc,cuda"), "");
  expect_said("NCCL_IB_CUDA_SUPPORT", "1", "NCCL_NET_GDR_LEVEL");
}

TEST_F(SettingRulesTest, WhatIsUnprintableIsWrittenOut) {
  EXPECT_EQ(said("NCCL_IB_DISABLE", "\x1b[31m").find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace muster::nccl
