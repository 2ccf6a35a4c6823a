#include "rendezvous/agreement/place_index.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace muster::rendezvous {
namespace {

TEST(PlaceIndex, FindsTheLowestOfTheSamePlace) {
  const std::vector<NodeIdentity> places = {
      {"a", 3, 1}, {"b", std::nullopt, 2}, {"a", 1, 3}, {"b", std::nullopt, 4}};
  PlaceIndex index;
  for (const NodeIdentity& place : places) index.add(place);
  EXPECT_EQ(index.find({"other", 1, 9}), 2u);
  EXPECT_EQ(index.find({"a", std::nullopt, 9}), 0u);
  EXPECT_EQ(index.find({"b", 7, 9}), 1u);
  index.remove(1);
  EXPECT_EQ(index.find({"b", 7, 9}), 3u);
  EXPECT_FALSE(index.find({"a", 7, 9})) << "both know their index";
  EXPECT_FALSE(index.find({"c", std::nullopt, 9}));
}

TEST(PlaceIndex, SaysWhatSamePlaceSays) {
  std::mt19937 random(4);
  const auto any = [&random] {
    NodeIdentity identity{std::string(1, static_cast<char>('a' + random() % 4)), {}, 0};
    if (random() % 2 == 0) identity.index = static_cast<int>(random() % 4);
    return identity;
  };
  for (int job = 0; job < 200; ++job) {
    std::vector<NodeIdentity> places(8);
    PlaceIndex index;
    for (NodeIdentity& place : places) index.add(place = any());
    std::vector<bool> there(places.size(), true);
    for (int step = 0; step < 8; ++step) {
      const NodeIdentity wanted = any();
      std::optional<size_t> lowest;
      int found = 0;
      for (size_t i = places.size(); i > 0; --i) {
        if (there[i - 1] && same_place(places[i - 1], wanted)) {
          lowest = i - 1;
          ++found;
        }
      }
      ASSERT_EQ(index.find(wanted), lowest);
      ASSERT_EQ(index.find_only(wanted), found == 1 ? lowest : std::nullopt);
      if (!lowest) continue;
      index.remove(*lowest);
      there[*lowest] = false;
    }
  }
}

}  // namespace
}  // namespace muster::rendezvous
