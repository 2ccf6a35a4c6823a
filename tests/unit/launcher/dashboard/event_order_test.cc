#include "launcher/dashboard/event_order.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

StoredEvent event(const char* node, const char* name, int64_t time_ms, int64_t seq,
                  int64_t arrival) {
  return {node, name, time_ms, "{}", seq, arrival};
}

std::string order_of(std::vector<StoredEvent> events) {
  put_in_order(events);
  std::string text;
  for (const StoredEvent& one : events)
    text += (text.empty() ? "" : " ") + one.name + "@" + std::to_string(one.time_ms);
  return text;
}

TEST(EventOrder, AClockThatStepsBackChangesNoOrder) {
  EXPECT_EQ(order_of({event("a", "one", 5000, 1, 1), event("a", "two", 3000, 2, 2),
                      event("a", "three", 6000, 3, 3), event("b", "other", 5500, 1, 4)}),
            "one@5000 two@5000 other@5500 three@6000");
}

TEST(EventOrder, WhatCameLateIsInItsPlace) {
  EXPECT_EQ(order_of({event("a", "three", 3000, 3, 1), event("a", "two", 3000, 2, 2)}),
            "two@3000 three@3000");
}

TEST(EventOrder, ANewJournalIsBehindTheOldOne) {
  EXPECT_EQ(order_of({event("a", "one", 1000, 1, 1), event("a", "two", 2000, 2, 2),
                      event("a", "again", 9000, 1, 3), event("a", "more", 9500, 2, 4)}),
            "one@1000 two@2000 again@9000 more@9500");
}

TEST(EventOrder, WithoutSeqItIsTheTime) {
  EXPECT_EQ(order_of({event("a", "late", 9000, 0, 1), event("a", "early", 1000, 0, 2)}),
            "early@1000 late@9000");
}

}  // namespace
}  // namespace muster::launcher
