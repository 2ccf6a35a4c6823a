#include "launcher/local/chaos.h"

#include <gtest/gtest.h>

#include <csignal>

namespace muster::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string complaint(std::string_view text) {
  const auto faults = parse_chaos(text, 3);
  return faults ? "accepted" : faults.error().text;
}

TEST(ChaosTest, EveryFaultHasANodeAndATime) {
  const auto faults =
      parse_chaos("kill-node:2@5s, stop-node:1@500ms,cont-node:1@2,term-node:3@1m", 3);
  ASSERT_TRUE(faults);
  EXPECT_EQ(*faults, (std::vector<Fault>{{SIGKILL, 2, seconds(5)},
                                         {SIGSTOP, 1, milliseconds(500)},
                                         {SIGCONT, 1, seconds(2)},
                                         {SIGTERM, 3, seconds(60)}}));
  EXPECT_TRUE(parse_chaos("", 3)->empty());
}

TEST(ChaosTest, WhatIsWrongIsNamed) {
  EXPECT_EQ(complaint("kill-node:4@5s"), "--chaos 'kill-node:4@5s': the nodes are 1 to 3");
  EXPECT_EQ(complaint("kill-node:0@5s"), "--chaos 'kill-node:0@5s': the nodes are 1 to 3");
  EXPECT_EQ(complaint("kill-node:1@soon"),
            "--chaos 'kill-node:1@soon': the time must be like 5s or 500ms");
  EXPECT_EQ(complaint("burn-node:1@5s"),
            "--chaos 'burn-node:1@5s': not WHAT-node:N@TIME with kill, term, stop or cont");
  EXPECT_EQ(complaint("kill-node:1@5s,"),
            "--chaos '': not WHAT-node:N@TIME, such as kill-node:2@5s");
}

}  // namespace
}  // namespace muster::launcher
