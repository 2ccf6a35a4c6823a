#include "nccl/probe/fabric_summary.h"

#include <gtest/gtest.h>

namespace muster::probe {
namespace {

FabricDevice device(const char* provider, const char* domain, const char* fabric) {
  return {.provider = provider, .domain = domain, .fabric = fabric};
}

TEST(FabricSummary, ListsEachDeviceOnceInOrder) {
  const auto tcp = device("tcp", "eth0", "10.0.0.0/24");
  const auto other_network = device("tcp", "eth0", "fe80::/64");
  const auto efa = device("efa", "rdmap79s0-rdm", "efa");
  EXPECT_EQ(without_repetition({tcp, efa, other_network, tcp, efa, tcp}),
            (std::vector{efa, tcp, other_network}));
  EXPECT_TRUE(without_repetition({}).empty());
}

TEST(FabricSummary, KeepsWhatOnlySomeEntriesTell) {
  auto told = device("efa", "rdmap79s0-rdm", "efa");
  told.speed_bits_per_s = 100'000'000'000;
  auto told_later = told;
  told_later.speed_bits_per_s = 1;
  told_later.pci = "0000:4f:00.0";
  const auto all = without_repetition({device("efa", "rdmap79s0-rdm", "efa"), told, told_later});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].speed_bits_per_s, 100'000'000'000U);
  EXPECT_EQ(all[0].pci, "0000:4f:00.0");
}

}  // namespace
}  // namespace muster::probe
