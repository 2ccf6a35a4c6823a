#include "nccl/probe/ping_pong.h"

#include <gtest/gtest.h>

namespace muster::probe {
namespace {

using Names = std::vector<std::string>;

TEST(ProviderChoice, TriesAProviderAloneAndWithMessagesOfOfiRxm) {
  EXPECT_EQ(provider_choice("tcp"), (Names{"tcp", "tcp;ofi_rxm"}));
  EXPECT_EQ(provider_choice("tcp;ofi_rxm"), (Names{"tcp;ofi_rxm"}));
}

TEST(ProviderChoice, PrefersTheFabricAndLeavesOutWhatStaysInTheNode) {
  const Names choice = provider_choice("");
  ASSERT_FALSE(choice.empty());
  EXPECT_EQ(choice.front(), "efa");
  for (const std::string& each : choice) EXPECT_NE(each, "shm");
}

TEST(ProviderChoice, ComparesWhatIsMeant) {
  EXPECT_TRUE(is_provider("", "efa"));
  EXPECT_TRUE(is_provider("tcp", "tcp"));
  EXPECT_TRUE(is_provider("tcp", "tcp;ofi_rxm"));
  EXPECT_FALSE(is_provider("tcp;ofi_rxm", "tcp"));
  EXPECT_FALSE(is_provider("tc", "tcp"));
  EXPECT_FALSE(is_provider("tcp", ""));
}

TEST(ProviderChoice, IsLeftToTheOtherSideOnlyAmongTheUsual) {
  for (const char* usual : {"efa", "tcp", "tcp;ofi_rxm", "shm"})
    EXPECT_TRUE(is_usual_provider(usual)) << usual;
  for (const char* other : {"", "psm2", "^tcp", "tcp,psm2", "tcp;ofi_hook_perf"})
    EXPECT_FALSE(is_usual_provider(other)) << other;
}

}  // namespace
}  // namespace muster::probe
