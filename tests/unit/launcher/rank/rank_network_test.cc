#include "launcher/rank/rank_network.h"

#include <gtest/gtest.h>

#include "mpi/rank/rank_variables.h"

namespace muster::launcher {
namespace {

std::string planned() {
  return encode_network({{"GLOO_SOCKET_IFNAME", "eth0", "", ""},
                         {"NCCL_IB_HCA", "=mlx5_0,\"odd\"\n", "", ""},
                         {"TAKEN_AWAY", std::nullopt, "", ""}});
}

Environment rank_with(const std::string& value) {
  Environment rank;
  rank.set(mpi::kLauncherNetworkVariable, value);
  return rank;
}

TEST(RankNetwork, ArrivesAsItWasPlanned) {
  const auto rank = with_network(rank_with(planned()));
  ASSERT_TRUE(rank.has_value());
  EXPECT_EQ(rank->get("GLOO_SOCKET_IFNAME"), "eth0");
  EXPECT_EQ(rank->get("NCCL_IB_HCA"), "=mlx5_0,\"odd\"\n");
  EXPECT_FALSE(rank->has("TAKEN_AWAY"));
}

TEST(RankNetwork, YieldsToWhatTheRankHas) {
  Environment users = rank_with(planned());
  users.set("GLOO_SOCKET_IFNAME", "");
  EXPECT_EQ(with_network(users)->get("GLOO_SOCKET_IFNAME"), "");
}

TEST(RankNetwork, IsThatOfTheLaunchersNodeAlone) {
  Environment elsewhere = rank_with(planned());
  elsewhere.set(mpi::kRankNodeVariable, "node-2");
  EXPECT_FALSE(with_network(elsewhere)->has("GLOO_SOCKET_IFNAME"));
  EXPECT_FALSE(with_network(Environment())->has("GLOO_SOCKET_IFNAME"));
}

TEST(RankNetwork, AnythingElseIsAnErrorThatNamesTheVariable) {
  for (const char* value : {"", "{", "[]", "\"A\"", R"({"A": 1})", R"({"A": null})"}) {
    const auto rank = with_network(rank_with(value));
    ASSERT_FALSE(rank.has_value()) << value;
    EXPECT_EQ(rank.error().code, Code::kConfig);
    EXPECT_NE(rank.error().text.find("MUSTER_LAUNCHER_NETWORK"), std::string::npos);
  }
}

}  // namespace
}  // namespace muster::launcher
