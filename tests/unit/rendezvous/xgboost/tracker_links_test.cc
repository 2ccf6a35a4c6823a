#include "rendezvous/xgboost/tracker_links.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

namespace muster::rendezvous {
namespace {

std::set<int> neighbours_of(int rank, int size) {
  const TrackerPlace place = place_of(rank, size);
  std::set<int> all(place.tree.begin(), place.tree.end());
  for (const int other : {place.previous, place.next}) {
    if (other >= 0) all.insert(other);
  }
  return all;
}

TEST(TrackerLinks, ThePlacesFitTogether) {
  for (const int size : {1, 2, 3, 4, 5, 8, 17, 100}) {
    for (int rank = 0; rank < size; ++rank) {
      const TrackerPlace place = place_of(rank, size);
      EXPECT_EQ(place.parent >= 0, rank > 0);
      for (const int other : place.tree) {
        const auto back = place_of(other, size).tree;
        EXPECT_NE(std::find(back.begin(), back.end(), rank), back.end());
      }
      if (size == 1) continue;
      EXPECT_EQ(place_of(place.next, size).previous, rank);
    }
  }
  EXPECT_EQ(place_of(0, 1).next, -1);
  EXPECT_EQ(place_of(0, 1).previous, -1);
}

// Every worker dials those who listen, and waits for as many as dial it: so every link is made once
// and nobody waits for ever, whoever asks first.
TEST(TrackerLinks, EveryLinkIsMadeOnceInAnyOrder) {
  std::minstd_rand random(1);
  for (const int size : {1, 2, 3, 4, 5, 7, 8, 16, 33, 1000}) {
    TrackerLinks links(size);
    std::vector<int> order(static_cast<size_t>(size));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    std::set<int> listening;
    std::map<int, int> dialled;
    std::map<int, int> accepts;
    std::set<std::pair<int, int>> made;
    std::vector<int> served;
    const auto serve = [&](int rank, const TrackerLinks::Order& given) {
      for (const int other : given.dial) {
        EXPECT_TRUE(listening.contains(other));
        EXPECT_TRUE(made.insert(std::minmax(rank, other)).second);
        ++dialled[other];
      }
      accepts[rank] = given.accept;
      listening.insert(rank);
      served.push_back(rank);
    };
    for (const int rank : order) {
      if (const auto given = links.ask(rank, {})) serve(rank, *given);
      while (!served.empty()) {
        const int done = served.back();
        served.pop_back();
        for (const int next : links.listens(done)) serve(next, links.order(next));
      }
      EXPECT_LT(links.colour(rank), 4);
    }
    EXPECT_EQ(listening.size(), static_cast<size_t>(size));
    EXPECT_EQ(dialled.size(), static_cast<size_t>(std::count_if(
                                  accepts.begin(), accepts.end(),
                                  [](const auto& entry) { return entry.second > 0; })));
    size_t wanted = 0;
    for (int rank = 0; rank < size; ++rank) {
      EXPECT_EQ(accepts[rank], dialled[rank]);
      wanted += neighbours_of(rank, size).size();
    }
    EXPECT_EQ(made.size(), wanted / 2);
  }
}

TEST(TrackerLinks, AsksAgainForWhatIsMissing) {
  TrackerLinks links(4);  // 0-1, 0-2, 1-3 as a tree, 0-1-2-3-0 as a ring
  ASSERT_TRUE(links.ask(0, {}));
  EXPECT_TRUE(links.listens(0).empty());
  const auto first = links.ask(1, {});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->dial, std::vector<int>{0});
  const auto again = links.ask(1, {0});
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->dial.empty());
  EXPECT_EQ(again->accept, first->accept);
}

TEST(TrackerLinks, WaitsForThoseThatMustBeDialled) {
  TrackerLinks links(2);
  EXPECT_FALSE(links.ask(1, {}));
  ASSERT_TRUE(links.ask(0, {}));
  EXPECT_EQ(links.listens(0), std::vector<int>{1});
  EXPECT_EQ(links.order(1).dial, std::vector<int>{0});
  EXPECT_TRUE(links.listens(0).empty());  // told once
}

}  // namespace
}  // namespace muster::rendezvous
