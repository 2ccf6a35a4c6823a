#include "nccl/checks/library_facts.h"

#include <gtest/gtest.h>

namespace muster::nccl {
namespace {

LibraryFacts facts_of(std::string_view text) {
  LibraryFacts facts;
  add_report(text, facts);
  return facts;
}

TEST(LibraryFacts, AreReadFromWhatMusterProbePrints) {
  const auto nvml = facts_of(R"json({"nvml": {"path": "/lib/nvml", "driver": "550.54.15",
      "gpus": [{"index": 0, "name": "H100", "pci": "0000:1B:00.0", "ecc_uncorrected": 0,
                "remapped_rows": null, "slowdowns": [], "mig": true, "processes": null,
                "fabric": {"state": "completed", "status": 0, "bandwidth_degraded": true}},
               {"index": 1, "pci": null, "ecc_uncorrected": 5000000000, "mig": null,
                "remapped_rows": {"corrected": 2, "pending": true, "failed": false},
                "slowdowns": ["hw_thermal"], "fabric": null, "processes": 4},
               {"index": 2, "problem": "code 15 (GPU is lost)"}]}})json")
                        .nvml;
  ASSERT_TRUE(nvml);
  EXPECT_EQ(nvml->driver, "550.54.15");
  ASSERT_EQ(nvml->gpus.size(), 3U);
  const GpuReport& well = nvml->gpus[0];
  EXPECT_EQ(well.pci, "0000:1b:00.0");
  EXPECT_EQ(well.in_mig_mode, true);
  EXPECT_EQ(well.fabric_state, "completed");
  EXPECT_TRUE(well.has_degraded_bandwidth);
  const GpuReport& ill = nvml->gpus[1];
  EXPECT_EQ(ill.uncorrected_errors, 5'000'000'000U);
  EXPECT_TRUE(ill.remap_pending);
  EXPECT_EQ(ill.slowdowns, (std::vector<std::string>{"hw_thermal"}));
  EXPECT_EQ(ill.in_mig_mode, std::nullopt);
  EXPECT_EQ(ill.processes, 4);
  EXPECT_EQ(name_of(ill), "GPU 1");
  EXPECT_EQ(nvml->gpus[2].problem, "code 15 (GPU is lost)");

  const auto nccl = facts_of(R"({"nccl": {"path": "/lib/nccl", "version": "2.28.9"}})").nccl;
  ASSERT_TRUE(nccl);
  EXPECT_EQ(nccl->version, "2.28.9");

  const auto libfabric = facts_of(R"({"libfabric": {"path": "/lib/fabric", "version": "1.17",
      "providers": [{"provider": "tcp", "domain": "lo"}, {"provider": "tcp", "domain": "eth0"},
                    {"provider": "efa", "domain": "rdmap79s0"}]}})")
                             .libfabric;
  ASSERT_TRUE(libfabric);
  EXPECT_EQ(libfabric->providers, (std::vector<std::string>{"tcp", "efa"}));
}

TEST(LibraryFacts, WhatIsAbsentOrNotUnderstoodIsUnknown) {
  for (const char* text : {"", "{", "[]", "null", R"({"nvml": {"absent": "libnvidia-ml.so.1"}})",
                           R"({"nvml": []})", R"({"nccl": null, "libfabric": 3})"}) {
    const auto facts = facts_of(text);
    EXPECT_FALSE(facts.nvml || facts.nccl || facts.libfabric) << text;
  }
  const auto odd = facts_of(R"({"nvml": {"driver": 5, "gpus": [7, {"index": "x", "pci": "here",
      "mig": 1, "ecc_uncorrected": -1, "processes": 1.5, "slowdowns": [1], "fabric": []}]}})");
  ASSERT_TRUE(odd.nvml);
  ASSERT_EQ(odd.nvml->gpus.size(), 2U);
  EXPECT_EQ(odd.nvml->gpus[1].pci, "");
  EXPECT_EQ(odd.nvml->gpus[1].in_mig_mode, std::nullopt);
  EXPECT_TRUE(odd.nvml->gpus[1].slowdowns.empty());
}

TEST(LibraryFacts, VersionsAreOrdered) {
  EXPECT_EQ(parse_version("2.28.9"), (LibraryVersion{2, 28, 9}));
  EXPECT_EQ(parse_version("1.17"), (LibraryVersion{1, 17, 0}));
  EXPECT_LT(*parse_version("2.9.9"), *parse_version("2.21.5"));
  for (const char* text : {"", "2", "2.x", "2.-1", "v2.1", "99999999999999999999.1"})
    EXPECT_EQ(parse_version(text), std::nullopt) << text;
}

}  // namespace
}  // namespace muster::nccl
