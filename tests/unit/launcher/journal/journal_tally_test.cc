#include "launcher/journal/journal_tally.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

TEST(JournalTally, CountsEventsByName) {
  JournalTally tally;
  tally.add(R"({"id":"a-3","seq":3,"time":"x","event":"worker.exit","rank":1})");
  tally.add(R"({"id":"a-4","seq":4,"time":"x","event":"progress","step":1})");
  tally.add(R"({"id":"a-5","seq":5,"time":"x","event":"progress","step":2})");
  EXPECT_EQ(tally.first_seq, 3U);
  EXPECT_EQ(tally.last_seq, 5U);
  EXPECT_EQ(tally.events_as_json(), R"({"progress":2,"worker.exit":1})");
}

TEST(JournalTally, WhatWasDroppedBeforeCountsToo) {
  JournalTally tally;
  tally.add(R"({"id":"a-5","seq":5,"event":"progress"})");
  tally.add_told(R"({"id":"a-9","seq":9,"event":"journal.dropped","first_seq":1,"last_seq":4,)"
                 R"("events":{"progress":3,"job.start":1}})");
  tally.add_told(R"({"id":"a-10","seq":10,"event":"job.end"})");
  EXPECT_EQ(tally.first_seq, 1U);
  EXPECT_EQ(tally.last_seq, 5U);
  EXPECT_EQ(tally.events_as_json(), R"({"job.start":1,"progress":4})");
}

TEST(JournalTally, WhatIsNoLineIsNothing) {
  JournalTally tally;
  for (const char* other : {"", "{}", R"({"seq":x,"event":"a"})", R"({"seq":1,"even)",
                            R"({"seq":99999999999999999999,"event":"a"})"})
    tally.add(other);
  EXPECT_EQ(tally.first_seq, 0U);
  EXPECT_TRUE(tally.events.empty());
}

}  // namespace
}  // namespace muster::launcher
