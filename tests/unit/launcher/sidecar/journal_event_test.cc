#include "launcher/sidecar/journal_event.h"

#include <gtest/gtest.h>

#include "launcher/journal/journal_line.h"

namespace muster::launcher {
namespace {

TEST(JournalEventTest, ALineOfTheJournalIsRead) {
  const std::vector<log::Field> fields{{"attempt", 1}, {"rank", 3}, {"step", 7}};
  std::string line = journal_line({"bert", "run-1", "node-0"}, {12, "abc-12", {}, {}},
                                  {log::Level::kInfo, "progress", fields});
  line.pop_back();
  const auto event = parse_event(line);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->mark, (JournalMark{12, "abc-12"}));
  EXPECT_EQ(mark_of(line), event->mark);
  EXPECT_EQ(event->name, "progress");
  EXPECT_EQ(event->job, "bert");
  EXPECT_EQ(event->node, "node-0");
  EXPECT_EQ(event->line, line);
  EXPECT_EQ(event->replaces, "abc/1/3");
}

TEST(JournalEventTest, NothingButProgressIsReplacedByWhatFollows) {
  const auto event =
      parse_event(R"({"id":"a-1","seq":1,"event":"worker.exit","attempt":0,"rank":0})");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->replaces, "");
}

TEST(JournalEventTest, OtherLinesAreNone) {
  for (const char* wrong :
       {"", "x", "[]", "{}", R"({"id":"a-1","seq":1})", R"({"id":"a","seq":0,"event":"e"})",
        R"({"id":"a","seq":-1,"event":"e"})", R"({"seq":1,"event":"e"})",
        R"({"id":"a-1","seq":1,"event":"e")", R"({"id":7,"seq":1,"event":"e"})"}) {
    EXPECT_FALSE(parse_event(wrong)) << wrong;
  }
  for (const char* wrong : {"", R"({"id":"a)", R"({"id":"a","seq":)", R"({"seq":1,"id":"a"})",
                            R"({"id":"a","seq":x,)"}) {
    EXPECT_FALSE(mark_of(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace muster::launcher
