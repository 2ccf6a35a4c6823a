#include "mpi/launch/hostfile.h"

#include <gtest/gtest.h>

namespace muster::mpi {
namespace {

using enum Implementation;
using Hosts = std::vector<HostSlots>;

Hosts read(Implementation implementation, std::string_view text) {
  auto hosts = parse_hostfile(implementation, text);
  EXPECT_TRUE(hosts) << hosts.error().text;
  return hosts ? *hosts : Hosts();
}

std::string problem(Implementation implementation, std::string_view text) {
  const auto hosts = parse_hostfile(implementation, text);
  return hosts ? "" : hosts.error().text;
}

std::string cannot_write(const Hosts& hosts) {
  const auto text = write_hostfile(kOpenMpi, hosts);
  return text ? "" : text.error().text;
}

TEST(Hostfile, IsWrittenInTheFormOfEachLauncher) {
  const Hosts hosts = {{.host = "node-2", .slots = 4}, {.host = "node-1", .slots = 0}};
  EXPECT_EQ(*write_hostfile(kOpenMpi, hosts), "node-2 slots=4\nnode-1 slots=0\n");
  EXPECT_EQ(*write_hostfile(kMpich, hosts), "node-2:4\nnode-1:0\n");
  EXPECT_EQ(*write_hostfile(kIntelMpi, hosts), "node-2:4\nnode-1:0\n");
}

TEST(Hostfile, WhatIsWrittenIsRead) {
  const Hosts hosts = {{.host = "10.0.0.1", .slots = 1},
                       {.host = "10.0.0.2", .slots = 65536},
                       {.host = "job-worker-0.job.ns.svc", .slots = 8}};
  for (const Implementation implementation : {kOpenMpi, kMpich, kIntelMpi})
    EXPECT_EQ(read(implementation, *write_hostfile(implementation, hosts)), hosts);
}

TEST(Hostfile, IsNotWrittenWhereALauncherWouldReadSomethingElse) {
  EXPECT_EQ(cannot_write({}), "a hostfile without hosts");
  EXPECT_EQ(cannot_write({{.host = "fd00::1"}}),
            "host 'fd00::1': only letters, digits, '-', '.', '_'");
  EXPECT_EQ(cannot_write({{.host = "-oProxyCommand"}}),
            "host '-oProxyCommand': begins like an option");
  EXPECT_EQ(cannot_write({{.host = "a b"}}), "host 'a b': only letters, digits, '-', '.', '_'");
  EXPECT_EQ(cannot_write({{.host = "a", .slots = -1}}), "host 'a': -1 slots, at most 65536");
  EXPECT_EQ(cannot_write({{.host = "a", .slots = 65537}}), "host 'a': 65537 slots, at most 65536");
  EXPECT_EQ(cannot_write({{.host = std::string(254, 'a')}}), "host name of 254 bytes, at most 253");
  EXPECT_EQ(cannot_write(Hosts(kMaxHostfileHosts + 1)), "16385 hosts, at most 16384");
}

TEST(Hostfile, FirstLabelsAreUnique) {
  EXPECT_EQ(cannot_write({{.host = "a.x"}, {.host = "a.y"}}),
            "host 'a.y': another host has the same first label 'a', which Open MPI takes for the "
            "same host");
  EXPECT_NE(cannot_write({{.host = "a"}, {.host = "a"}}), "");
  EXPECT_EQ(cannot_write({{.host = "10.0.0.1"}, {.host = "10.0.0.2"}}), "");
}

TEST(Hostfile, OpenMpisFormIsReadWithAllItsWords) {
  EXPECT_EQ(read(kOpenMpi,
                 "# made by hand\n"
                 "a slots=2 max_slots=4\n"
                 "b slots = 3   // spaces are fine\n"
                 "me@c count=1 port=2222\n"
                 "\n"
                 "/* d slots=9\n"
                 "e slots=9 */ f user=you\r\n"
                 "10.0.0.7 cpu=5"),
            (Hosts{{.host = "a", .slots = 2},
                   {.host = "b", .slots = 3},
                   {.host = "c", .slots = 1, .user = "me", .port = 2222},
                   {.host = "f", .slots = 1, .user = "you"},
                   {.host = "10.0.0.7", .slots = 5}}));
}

TEST(Hostfile, HydrasFormIsRead) {
  EXPECT_EQ(read(kMpich, "a:2 # two\n#b:9\n\n  me@c  \nd:0\r\n"),
            (Hosts{{.host = "a", .slots = 2},
                   {.host = "c", .slots = 1, .user = "me"},
                   {.host = "d", .slots = 0}}));
}

TEST(Hostfile, RepeatedHostsAddUp) {
  EXPECT_EQ(read(kOpenMpi, "a\nb\na\n"), (Hosts{{.host = "a", .slots = 2}, {.host = "b"}}));
  EXPECT_EQ(read(kMpich, "a:2\nb:1\na:3\n"), (Hosts{{.host = "a", .slots = 5}, {.host = "b"}}));
  EXPECT_EQ(problem(kOpenMpi, "a slots=1\na slots=1\n"), "line 2: host 'a' comes twice with slots");
  EXPECT_EQ(problem(kMpich, "a:65536\na:1\n"), "line 2: host 'a': more than 65536 slots together");
}

TEST(Hostfile, MistakesOfOpenMpisFormNameTheLine) {
  EXPECT_EQ(problem(kOpenMpi, "a\nb slots=two\n"), "line 2: slots 'two' is not a number from 0");
  EXPECT_EQ(problem(kOpenMpi, "a slots=-1"), "line 1: slots '-1' is not a number from 0");
  EXPECT_EQ(problem(kOpenMpi, "a slots=70000"), "line 1: slots '70000', at most 65536");
  EXPECT_EQ(problem(kOpenMpi, "a slots=4 max_slots=2"), "line 1: max_slots 2 is less than slots 4");
  EXPECT_EQ(problem(kOpenMpi, "a colour=red"), "line 1: unknown word 'colour'");
  EXPECT_EQ(problem(kOpenMpi, "a slots"),
            "line 1: expected NAME=VALUE after the host, found 'slots'");
  EXPECT_EQ(problem(kOpenMpi, "a slots=\n"),
            "line 1: expected NAME=VALUE after the host, found 'slots'");
  EXPECT_EQ(problem(kOpenMpi, "a b\n"), "line 1: expected NAME=VALUE after the host, found 'b'");
  EXPECT_EQ(problem(kOpenMpi, "a:2\n"), "line 1: host 'a:2': only letters, digits, '-', '.', '_'");
  EXPECT_EQ(problem(kOpenMpi, "+n1\n"), "line 1: relative host '+n1' is not supported");
  EXPECT_EQ(problem(kOpenMpi, "a port=65536"), "line 1: port '65536', at most 65535");
  EXPECT_EQ(problem(kOpenMpi, "@a"), "line 1: no user name");
}

TEST(Hostfile, MistakesOfHydrasFormNameTheLine) {
  EXPECT_EQ(problem(kMpich, "a slots=2"),
            "line 1: more than one word in 'a slots=2'; it is name:slots");
  EXPECT_EQ(problem(kMpich, "ok\nfd00::1\n"),
            "line 2: 'fd00::1': an IPv6 address, which Hydra cannot read");
  EXPECT_EQ(problem(kIntelMpi, "a:\n"), "line 1: slots '' is not a number from 0");
  EXPECT_EQ(problem(kIntelMpi, ":2\n"), "line 1: no host name");
}

TEST(Hostfile, AnEmptyFileIsAnError) {
  EXPECT_EQ(problem(kOpenMpi, ""), "line 1: no host in the whole file");
  EXPECT_EQ(problem(kMpich, "# nobody\n"), "line 2: no host in the whole file");
}

TEST(Hostfile, IsBounded) {
  EXPECT_EQ(problem(kMpich, "a\n" + std::string(1025, 'b')), "line 2: 1025 bytes, at most 1024");
  EXPECT_EQ(problem(kMpich, std::string(kMaxHostfileBytes + 1, '\n')),
            "hostfile of 4194305 bytes, at most 4194304");
  std::string many;
  for (size_t i = 0; i <= kMaxHostfileHosts; ++i) many += "n" + std::to_string(i) + "\n";
  EXPECT_EQ(problem(kOpenMpi, many), "line 16385: more than 16384 hosts");
}

}  // namespace
}  // namespace muster::mpi
