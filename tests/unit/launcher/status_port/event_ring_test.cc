#include "launcher/status_port/event_ring.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

TEST(EventRingTest, AnEventIsItsIdAndOneLineOfData) {
  EXPECT_EQ(server_sent("a-1", "{\"event\":\"x\"}\n"), "id: a-1\ndata: {\"event\":\"x\"}\n\n");
}

TEST(EventRingTest, WhoComesAgainGetsWhatFollowed) {
  EventRing ring;
  for (const char* id : {"a-1", "a-2", "a-3"}) ring.add(id, id);
  EXPECT_EQ(ring.since("a-2"), server_sent("a-3", "a-3"));
  EXPECT_EQ(ring.since("a-3"), "");
}

TEST(EventRingTest, WhoHadNothingOrIsFromElsewhereGetsAll) {
  EventRing ring;
  for (const char* id : {"a-1", "a-2"}) ring.add(id, id);
  const std::string all = server_sent("a-1", "a-1") + server_sent("a-2", "a-2");
  EXPECT_EQ(ring.since(""), all);
  EXPECT_EQ(ring.since("b-7"), all);
}

TEST(EventRingTest, WhoListensHearsEachOnce) {
  EventRing ring;
  std::string heard;
  ring.on_event([&heard](std::string_view text) { heard += text; });
  ring.add("a-1", "x");
  ring.add("a-2", "y");
  EXPECT_EQ(heard, ring.since(""));
  ring.on_event({});
  ring.add("a-3", "z");
  EXPECT_EQ(heard.find("a-3"), std::string::npos);
}

TEST(EventRingTest, ItKeepsSoManyAndSoMuch) {
  EventRing ring;
  for (size_t i = 0; i < kMaxRingEvents + 10; ++i) ring.add("n-" + std::to_string(i), "x");
  EXPECT_EQ(ring.since("").substr(0, 9), "id: n-10\n");
  for (size_t i = 0; i < 20; ++i) ring.add("big", std::string(100 << 10, 'x'));
  EXPECT_LE(ring.since("none").size(), kMaxRingBytes);
  ring.add("huge", std::string(2 * kMaxRingBytes, 'x'));
  EXPECT_EQ(ring.since("none").substr(0, 9), "id: huge\n") << "the last one stays whatever it has";
}

}  // namespace
}  // namespace muster::launcher
