#include "nccl/checks/network_checks.h"

#include <gtest/gtest.h>

#include "tests/support/checked_machine.h"

namespace muster::nccl {
namespace {

using testing::CheckedMachine;

TEST(NetworkChecks, WhatMusterSetsIsInformation) {
  EXPECT_EQ(CheckedMachine("plain-ethernet-hostnet").severity_of("ifname_wrong"), "info");
  EXPECT_EQ(CheckedMachine("nvlink-single").severity_of("ifname_wrong"), "");
  CheckedMachine machine("plain-ethernet-hostnet");
  machine.environment.set("NCCL_SOCKET_IFNAME", "lo");
  EXPECT_EQ(machine.severity_of("ifname_wrong"), "warning");
}

TEST(NetworkChecks, NoInterfaceIsUp) {
  CheckedMachine machine("cpu-only-pod");
  ASSERT_TRUE(machine.files.write("/sys/class/net/eth0/operstate", "down\n"));
  EXPECT_EQ(machine.severity_of("iface_down"), "error");
  machine.files.remove("/sys/class/net/eth0");
  EXPECT_EQ(machine.severity_of("iface_down"), "warning");
  machine.job.has_many_nodes = false;
  EXPECT_EQ(machine.severity_of("iface_down"), "");
}

TEST(NetworkChecks, OneAddressTwice) {
  CheckedMachine machine("roce-sriov-pod");
  machine.files.add_file(kRecordedAddresses, "eth0 10.1.0.2\nnet1 10.1.0.3\nnet2 10.1.0.3\n");
  EXPECT_EQ(machine.severity_of("iface_down"), "warning");
  EXPECT_NE(machine.problems().find("net1 and net2 have the same address 10.1.0.3"),
            std::string::npos);
}

TEST(NetworkChecks, ANameThatMeansLoopbackOrNothing) {
  CheckedMachine machine("cpu-only-pod");
  machine.probes.own_name_problem = "";
  EXPECT_EQ(machine.severity_of("dns_self"), "");
  machine.probes.own_name_problem = "look up 'cpu-only-0': NXDOMAIN";
  EXPECT_EQ(machine.severity_of("dns_self"), "warning");
  machine.job.has_many_nodes = false;
  EXPECT_EQ(machine.severity_of("dns_self"), "");
  CheckedMachine named("cpu-only-pod");
  named.files.add_file("/etc/hosts", "127.0.1.1\tcpu-only-0\n");
  EXPECT_EQ(named.severity_of("dns_self"), "warning");
}

TEST(NetworkChecks, FewPorts) {
  CheckedMachine machine("cpu-only-pod");
  machine.files.add_file("/proc/sys/net/ipv4/ip_local_port_range", "60000\t60999\n");
  EXPECT_EQ(machine.severity_of("ports"), "error");
  machine.files.add_file("/proc/sys/net/ipv4/ip_local_port_range", "60000\t65535\n");
  EXPECT_EQ(machine.severity_of("ports"), "warning");
}

TEST(NetworkChecks, AFullTableOfConnections) {
  CheckedMachine machine("cpu-only-pod");
  machine.files.add_file("/proc/sys/net/netfilter/nf_conntrack_max", "262144\n");
  machine.files.add_file("/proc/sys/net/netfilter/nf_conntrack_count", "1000\n");
  EXPECT_EQ(machine.severity_of("conntrack"), "");
  machine.files.add_file("/proc/sys/net/netfilter/nf_conntrack_count", "262000\n");
  EXPECT_EQ(machine.severity_of("conntrack"), "warning");
}

TEST(NetworkChecks, AServiceMesh) {
  CheckedMachine machine("cpu-only-pod");
  machine.files.add_file("/proc/net/tcp",
                         "  sl  local_address rem_address   st\n"
                         "   0: 00000000:3A99 00000000:0000 0A 00000000:00000000\n");
  EXPECT_EQ(machine.severity_of("service_mesh"), "") << "one listener may be anybody's";
  machine.files.add_file("/proc/net/tcp6",
                         "   0: 00000000000000000000000000000000:3A9E "
                         "00000000000000000000000000000000:0000 0A 00000000:00000000\n");
  EXPECT_EQ(machine.severity_of("service_mesh"), "error");
  CheckedMachine named("cpu-only-pod");
  named.environment.set("ISTIO_GATEWAY_SERVICE_HOST", "10.96.4.5");
  named.environment.set("ISTIO_GATEWAY_PORT_80_TCP", "tcp://10.96.4.5:80");
  EXPECT_EQ(named.severity_of("service_mesh"), "") << "only a service of that name";
  named.environment.set("ISTIO_META_CLUSTER_ID", "Kubernetes");
  EXPECT_EQ(named.severity_of("service_mesh"), "error");
}

}  // namespace
}  // namespace muster::nccl
