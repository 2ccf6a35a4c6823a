#include "nccl/probe/command_line.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster::probe {
namespace {

Result<ProbeCall> parse(const std::vector<std::string_view>& words) {
  return parse_command_line(words);
}

TEST(ProbeCommandLine, KnowsItsVerbs) {
  for (const char* verb : {"fabric", "nccl", "allreduce", "gpus"}) {
    const auto call = parse({verb});
    ASSERT_TRUE(call) << verb;
    EXPECT_EQ(to_string(call->verb), verb);
    EXPECT_EQ(call->timeout, kDefaultTimeout);
  }
}

TEST(ProbeCommandLine, TakesTheWordsOfBothSidesOfAPingPong) {
  const auto called = parse({"pingpong", "--listen", "--port=29400", "--timeout", "3s"});
  ASSERT_TRUE(called);
  EXPECT_FALSE(called->peer);
  EXPECT_EQ(called->port, 29400);
  EXPECT_EQ(called->timeout, std::chrono::seconds(3));
  const auto calls = parse({"pingpong", "--provider", "tcp", "[fd00::1]:7", "--interface", "eth0"});
  ASSERT_TRUE(calls);
  EXPECT_EQ(calls->peer, (Address{"fd00::1", 7}));
  EXPECT_EQ(calls->provider, "tcp");
  EXPECT_EQ(calls->interface, "eth0");
}

TEST(ProbeCommandLine, RefusesInOneLineWhatItDoesNotUnderstand) {
  const std::vector<std::vector<std::string_view>> wrong{
      {},
      {"fabrics"},
      {"fabric", "more"},
      {"fabric", "--provider", "tcp"},
      {"gpus", "--timeout"},
      {"gpus", "--timeout", "soon"},
      {"gpus", "--timeout", "0"},
      {"gpus", "--timeout", "2h"},
      {"pingpong"},
      {"pingpong", "--listen", "10.0.0.1:7"},
      {"pingpong", "10.0.0.1:7", "10.0.0.2:7"},
      {"pingpong", "node-1:7"},
      {"pingpong", "10.0.0.1"},
      {"pingpong", "10.0.0.1:0"},
      {"pingpong", "--listen", "--port", "65536"},
      {"pingpong", "--listen", "--interface="},
      {"pingpong", "--listen", "--fast=yes"},
  };
  for (const auto& words : wrong) {
    const auto call = parse(words);
    ASSERT_FALSE(call) << (words.empty() ? "" : words.back());
    EXPECT_EQ(call.error().code, Code::kUsage);
    EXPECT_FALSE(call.error().text.empty());
    EXPECT_EQ(call.error().text.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace muster::probe
