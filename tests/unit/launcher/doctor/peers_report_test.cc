#include "launcher/doctor/peers_report.h"

#include <gtest/gtest.h>

#include "launcher/doctor/doctor_text.h"

namespace muster::launcher {
namespace {

using nccl::ProviderResult;

PeersReport three_pairs() {
  PeersReport report;
  report.nodes = {"a", "b", "c"};
  report.pairs = {{.low = 0, .high = 1, .failure = "", .latency_us = 35, .bytes_per_second = 1e9},
                  {.low = 1, .high = 2, .failure = "", .latency_us = 40, .bytes_per_second = 1.5e9},
                  {.low = 0, .high = 2, .failure = "no answer"}};
  report.pairs[0].over_provider =
      ProviderResult{.provider = "efa", .latency_us = 16, .bytes_per_second = 1.2e10};
  report.pairs[1].over_provider = ProviderResult{.provider = "efa", .failure = "it is broken"};
  return report;
}

TEST(PeersReport, FiguresOfAProviderStandBesideThoseOfTcp) {
  EXPECT_EQ(doctor_json({}, three_pairs()),
            "{\"findings\":[],\"nodes\":[\"a\",\"b\",\"c\"],\"pairs\":["
            "{\"bytes_per_s\":1000000000.0,\"latency_us\":35.0,\"nodes\":[0,1],"
            "\"provider\":\"efa\",\"provider_bytes_per_s\":12000000000.0,"
            "\"provider_latency_us\":16.0},"
            "{\"bytes_per_s\":1500000000.0,\"latency_us\":40.0,\"nodes\":[1,2],"
            "\"provider\":\"efa\",\"provider_failure\":\"it is broken\"},"
            "{\"failure\":\"no answer\",\"nodes\":[0,2]}]}\n");
}

TEST(PeersReport, IsReadAsItWasWritten) {
  const std::string json = doctor_json({}, three_pairs());
  const auto report = parse_peers_report(json);
  ASSERT_TRUE(report);
  EXPECT_EQ(doctor_json({}, *report), json);
  EXPECT_FALSE(parse_peers_report("[]"));
  EXPECT_FALSE(parse_peers_report(R"({"pairs": [{"nodes": [1]}]})"));
}

TEST(PeersReport, TheTitleHasTheMedians) {
  PeersReport report = three_pairs();
  EXPECT_EQ(peers_title(report),
            "3 nodes, 3 pairs: 1.5 GB/s and 40 us, the medians; over efa 12.0 GB/s and 16 us");
  for (auto& pair : report.pairs) pair.over_provider.reset();
  EXPECT_EQ(peers_title(report), "3 nodes, 3 pairs: 1.5 GB/s and 40 us, the medians");
}

}  // namespace
}  // namespace muster::launcher
