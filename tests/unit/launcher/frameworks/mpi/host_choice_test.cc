#include "launcher/frameworks/mpi/host_choice.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

using Hosts = std::vector<mpi::HostSlots>;
using Names = std::vector<std::string>;

TEST(ChooseHosts, WhoWasThereKeepsItsPlaceAndNewcomersFollow) {
  const auto choice =
      choose_hosts({{"c", 1}, {"a", 1}}, {{"a", 1}, {"b", 2}, {"c", 1}, {"d", 1}}, 3);
  EXPECT_EQ(choice.hosts, (Hosts{{"c", 1}, {"a", 1}, {"b", 2}}));
  EXPECT_EQ(choice.added, Names{"b"});
  EXPECT_EQ(choice.removed, Names{});
  EXPECT_EQ(choice.spares, 1u);
  EXPECT_TRUE(choice.changed());
}

TEST(ChooseHosts, ASpareTakesTheFreePlace) {
  const auto choice = choose_hosts({{"a", 1}, {"b", 1}}, {{"a", 1}, {"c", 1}}, 2);
  EXPECT_EQ(choice.hosts, (Hosts{{"a", 1}, {"c", 1}}));
  EXPECT_EQ(choice.removed, Names{"b"});
  EXPECT_EQ(choice.spares, 0u);
}

TEST(ChooseHosts, SlotsChangeAndHostsWithoutThemAreNone) {
  const auto choice = choose_hosts({{"a", 1}}, {{"a", 2}, {"launcher", 0}}, 5);
  EXPECT_EQ(choice.hosts, (Hosts{{"a", 2}}));
  EXPECT_TRUE(choice.changed());
  EXPECT_FALSE(choose_hosts(choice.hosts, {{"a", 2}}, 5).changed());
}

TEST(ChooseHosts, FewerThanBefore) {
  const auto choice = choose_hosts({{"a", 1}, {"b", 1}}, {{"a", 1}, {"b", 1}}, 1);
  EXPECT_EQ(choice.hosts, (Hosts{{"a", 1}}));
  EXPECT_EQ(choice.removed, Names{"b"});
  EXPECT_EQ(choice.spares, 1u);
  EXPECT_EQ(choose_hosts({{"a", 1}}, {}, 2).hosts, Hosts{});
}

}  // namespace
}  // namespace muster::launcher
