// The grammars of endpoints and of --rdzv-conf.
#include "launcher/options/rendezvous_values.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/complaints.h"

namespace muster::launcher {
namespace {

using muster::testing::complaint;
using muster::testing::Wrong;

constexpr std::string_view kUnknown = "is unknown and has no effect";

struct EndpointCase {
  const char* text;
  const char* host;
  int port;  // -1 = none
};

TEST(RendezvousValues, EndpointsAreHostsWithAnOptionalPort) {
  const EndpointCase cases[] = {
      {"node0", "node0", -1},
      {"node0:29400", "node0", 29400},
      {"10.0.0.1:1", "10.0.0.1", 1},
      {"localhost:0", "localhost", 0},
      {"job-worker-0.ns.svc:65535", "job-worker-0.ns.svc", 65535},
      {"my_host", "my_host", -1},
      {"[::1]", "::1", -1},
      {"[fd00::2]:80", "fd00::2", 80},
      {"[fe80::1%eth0]:80", "fe80::1%eth0", 80},
  };
  for (const EndpointCase& c : cases) {
    const auto endpoint = parse_endpoint(c.text);
    ASSERT_TRUE(endpoint) << c.text;
    EXPECT_EQ(endpoint->host, c.host);
    EXPECT_EQ(endpoint->port.value_or(-1), c.port);
  }
}

TEST(RendezvousValues, WrongEndpointsAreExplained) {
  const Wrong wrong[] = {
      {"", "not HOST, HOST:PORT or [ADDRESS]:PORT"},
      {":80", "not HOST, HOST:PORT or [ADDRESS]:PORT"},
      {"a b:80", "not HOST, HOST:PORT or [ADDRESS]:PORT"},
      {"http://h", "write HOST:PORT, without http://"},
      {"https://h:2379", "write HOST:PORT, without https://"},
      {"h:", "'' is not a port (0 to 65535)"},
      {"h:65536", "'65536' is not a port (0 to 65535)"},
      {"h:-1", "'-1' is not a port (0 to 65535)"},
      {"::1", "write an IPv6 address as [ADDRESS]:PORT"},
      {"h:1:2", "write an IPv6 address as [ADDRESS]:PORT"},
      {"[::1", "the ']' is missing"},
      {"[]:1", "not HOST, HOST:PORT or [ADDRESS]:PORT"},
      {"[::1]80", "only :PORT may follow the ']'"},
      {"[::1]:", "'' is not a port (0 to 65535)"},
  };
  for (const Wrong& c : wrong) EXPECT_EQ(complaint(parse_endpoint(c.text)), c.complaint) << c.text;
  EXPECT_TRUE(parse_endpoint(std::string(kMaxHostBytes, 'h')));
  EXPECT_FALSE(parse_endpoint(std::string(kMaxHostBytes + 1, 'h')));
}

TEST(RendezvousValues, SeveralEndpointsStandBetweenCommas) {
  EXPECT_TRUE(parse_endpoints("")->empty());
  const auto endpoints = parse_endpoints("a:1,b,[::1]:2");
  ASSERT_TRUE(endpoints);
  ASSERT_EQ(endpoints->size(), 3U);
  EXPECT_EQ(endpoints->at(2).host, "::1");
  const auto patterns = parse_endpoints("worker-[0-3,7].svc:1,w-%d:2,dns:workers:3,dns:workers");
  ASSERT_TRUE(patterns) << patterns.error().text;
  ASSERT_EQ(patterns->size(), 4U);
  EXPECT_EQ(patterns->at(0).host, "worker-[0-3,7].svc");
  EXPECT_EQ(patterns->at(1).port, 2);
  EXPECT_EQ(patterns->at(2).host, "workers");
  EXPECT_EQ(patterns->at(3).port, std::nullopt);
  EXPECT_EQ(complaint(parse_endpoints("w-%d:x")), "'x' is not a port (0 to 65535)");
  EXPECT_EQ(complaint(parse_endpoints("a,,b")), "not HOST, HOST:PORT or [ADDRESS]:PORT");
}

TEST(RendezvousValues, RendezvousSettingsAreKeysWithValues) {
  const auto conf = parse_rdzv_conf("join_timeout=60, is_host = True ,x=a=b,x=c");
  ASSERT_TRUE(conf);
  const std::map<std::string, std::string> expected = {
      {"join_timeout", "60"}, {"is_host", "True"}, {"x", "c"}};
  EXPECT_EQ(*conf, expected);
  for (const char* quoted : {"'join_timeout=60,x=1'", "\"join_timeout=60,x=1\""}) {
    const std::map<std::string, std::string> plain = {{"join_timeout", "60"}, {"x", "1"}};
    EXPECT_EQ(*parse_rdzv_conf(quoted), plain) << quoted;
  }
  EXPECT_TRUE(parse_rdzv_conf("''")->empty());
  EXPECT_TRUE(parse_rdzv_conf("")->empty());
  EXPECT_TRUE(parse_rdzv_conf(" ")->empty());
  const Wrong wrong[] = {
      {"a=1,b", "key 'b' has no value"},
      {"a=", "key 'a' has no value"},
      {"a=1,", "a key is missing; the form is KEY=VALUE,KEY=VALUE"},
      {"=1", "a key is missing; the form is KEY=VALUE,KEY=VALUE"},
      {"is_host=maybe", "key 'is_host': neither true nor false"},
      {"store_type=file", "key 'store_type': only tcp is supported"},
  };
  for (const Wrong& c : wrong) EXPECT_EQ(complaint(parse_rdzv_conf(c.text)), c.complaint) << c.text;
}

TEST(RendezvousValues, EveryTimeOfTheRendezvousIsAWholeNumberOfSecondsAboveZero) {
  for (const std::string key :
       {"timeout", "join_timeout", "last_call_timeout", "close_timeout", "heartbeat_timeout",
        "keep_alive_interval", "keep_alive_max_attempt", "read_timeout"}) {
    EXPECT_NE(without_effect(key, RendezvousBackend::kStatic), kUnknown) << key;
    EXPECT_TRUE(parse_rdzv_conf(key + "=900")) << key;
    for (const char* value : {"0", "-1", "1.5", "x", "3000000000"}) {
      EXPECT_EQ(complaint(parse_rdzv_conf(key + "=" + value)),
                "key '" + key + "': not a whole number above 0");
    }
  }
}

TEST(RendezvousValues, KeysOfTheRendezvousThatDoNothingHaveAReason) {
  EXPECT_EQ(without_effect("join_timout", RendezvousBackend::kC10d), kUnknown);
  EXPECT_EQ(without_effect("timeout", RendezvousBackend::kC10d),
            "has no effect with c10d, whose key is join_timeout");
  for (const auto backend : {RendezvousBackend::kStatic, RendezvousBackend::kEtcd})
    EXPECT_EQ(without_effect("timeout", backend), "");
  EXPECT_NE(without_effect("heartbeat_timeout", RendezvousBackend::kC10d).find("--lease"),
            std::string_view::npos);
  EXPECT_EQ(without_effect("join_timeout", RendezvousBackend::kC10d), "");
  EXPECT_EQ(without_effect("use_libuv", RendezvousBackend::kC10d), "");
}

}  // namespace
}  // namespace muster::launcher
