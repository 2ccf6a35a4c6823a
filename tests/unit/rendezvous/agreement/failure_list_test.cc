#include "rendezvous/agreement/failure_list.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster::rendezvous {
namespace {

using std::chrono::seconds;

Failure failure_of(int rank, int second) {
  Failure failure;
  failure.rank = rank;
  failure.node = "worker-1";
  failure.happened = TimePoint(seconds(second));
  return failure;
}

std::vector<int> ranks(const std::vector<Failure>& failures) {
  std::vector<int> ranks;
  for (const Failure& failure : failures) ranks.push_back(failure.rank);
  return ranks;
}

TEST(FailureList, WhatIsToldAgainIsKeptOnce) {
  FailureList list(4);
  list.add(failure_of(1, 10));
  list.add(failure_of(1, 11));
  EXPECT_EQ(ranks(list.take()), std::vector{1});
  EXPECT_TRUE(list.empty());
}

TEST(FailureList, OfTwoAttemptsNodesAndProcessesEachCounts) {
  FailureList list(8);
  Failure failure = failure_of(1, 10);
  list.add(failure);
  failure.attempt = 1;
  list.add(failure);
  failure.pid = 7;
  list.add(failure);
  failure.node = "worker-2";
  list.add(failure);
  EXPECT_EQ(list.take().size(), 4u);
}

TEST(FailureList, TheEarliestStay) {
  FailureList list(2);
  for (const int second : {30, 20, 40, 10}) list.add(failure_of(second, second));
  EXPECT_EQ(ranks(list.take()), (std::vector{10, 20}));
}

// The first cause is looked for among those of one moment in the order they were reported.
TEST(FailureList, OfOneMomentTheFirstReportedGoesFirst) {
  FailureList list(2);
  for (const int rank : {3, 1, 2}) list.add(failure_of(rank, 10));
  EXPECT_EQ(ranks(list.take()), (std::vector{3, 1}));
}

TEST(FailureList, WhatWasGivenUpMayComeBackEarlier) {
  FailureList list(1);
  list.add(failure_of(1, 20));
  list.add(failure_of(2, 10));
  list.add(failure_of(1, 5));
  EXPECT_EQ(ranks(list.take()), std::vector{1});
  list.add(failure_of(1, 5));
  EXPECT_FALSE(list.empty()) << "what was taken may be told of the next round";
}

}  // namespace
}  // namespace muster::rendezvous
