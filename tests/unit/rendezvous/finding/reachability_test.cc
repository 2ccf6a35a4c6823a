#include "rendezvous/finding/reachability.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(WaitingLine, NamesWhoIsMissingAndWhy) {
  std::vector<Contact> candidates(8, {"worker", Reachability::kReached});
  candidates[4] = {"worker-4", Reachability::kUnreachable};
  candidates[5] = {"worker-5", Reachability::kNoName};
  candidates[6] = {"worker-6", Reachability::kRefused};
  candidates[7] = {"worker-7", Reachability::kNoAnswer};
  EXPECT_EQ(waiting_line(candidates),
            "waiting for 4 of 8: worker-4 (unreachable), worker-5 (NXDOMAIN), worker-6 (refused), "
            "worker-7 (no answer)");
}

TEST(WaitingLine, IsEmptyWhenAllAreReached) {
  const std::vector<Contact> all(3, {"worker", Reachability::kReached});
  EXPECT_EQ(waiting_line(all), "");
  EXPECT_EQ(waiting_line({}), "");
}

TEST(WaitingLine, IsBounded) {
  const std::vector<Contact> many(1000, {"w", Reachability::kUnasked});
  const std::string line = waiting_line(many);
  EXPECT_TRUE(line.starts_with("waiting for 1000 of 1000: w (no answer yet), ")) << line;
  EXPECT_TRUE(line.ends_with(" and 992 more")) << line;
}

TEST(WaitingInterval, GrowsToAMinute) {
  EXPECT_EQ(waiting_interval(0), seconds(3));
  EXPECT_EQ(waiting_interval(1), seconds(6));
  EXPECT_EQ(waiting_interval(4), seconds(48));
  EXPECT_EQ(waiting_interval(5), seconds(60));
  EXPECT_EQ(waiting_interval(1'000'000), seconds(60));
}

}  // namespace
}  // namespace muster::rendezvous
