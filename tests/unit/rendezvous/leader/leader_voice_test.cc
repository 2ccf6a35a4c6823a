#include "rendezvous/leader/leader_voice.h"

#include <gtest/gtest.h>

namespace muster::rendezvous {
namespace {

using Lines = std::vector<std::string>;

class LeaderVoiceTest : public ::testing::Test {
 protected:
  // "LEVEL EVENT: REASON" of what was put.
  Lines taken() {
    Lines lines;
    for (const auto& output : voice_.take()) {
      const auto* line = std::get_if<leader_output::Log>(&output);
      EXPECT_NE(line, nullptr);
      if (line == nullptr) continue;
      std::string level = "?";
      if (line->level == log::Level::kDebug) level = "debug";
      if (line->level == log::Level::kInfo) level = "info";
      if (line->level == log::Level::kWarning) level = "warning";
      if (line->level == log::Level::kError) level = "error";
      lines.push_back(level + " " + std::string(line->event) + ": " + line->reason);
    }
    return lines;
  }

  LeaderVoice voice_{false};
};

TEST_F(LeaderVoiceTest, AReasonIsSaidWhenItChangesAndNoSecondTime) {
  EXPECT_TRUE(voice_.say_when_changed("round.waiting", "1 of 3 nodes"));
  EXPECT_FALSE(voice_.say_when_changed("round.waiting", "1 of 3 nodes"));
  EXPECT_TRUE(voice_.say_when_changed("round.waiting", "2 of 3 nodes"));
  EXPECT_TRUE(voice_.say_when_changed("round.waiting", "1 of 3 nodes", true));
  EXPECT_EQ(taken(), (Lines{"info round.waiting: 1 of 3 nodes", "info round.waiting: 2 of 3 nodes",
                            "warning round.waiting: 1 of 3 nodes"}));
  EXPECT_EQ(taken(), Lines());
}

TEST_F(LeaderVoiceTest, ATimeThatGoesOnIsNoNews) {
  EXPECT_TRUE(voice_.say_when_changed("round.waiting", "last call for 2 s"));
  EXPECT_FALSE(voice_.say_when_changed("round.waiting", "last call for 1 s"));
  EXPECT_TRUE(voice_.say_when_changed("round.waiting", "pause for 1 s"));
  EXPECT_EQ(voice_.said().at("round.waiting"), "pause");  // the time would not be true for long
}

TEST_F(LeaderVoiceTest, EventsAreToldApartAndOneThatIsForgottenIsSaidAgain) {
  EXPECT_TRUE(voice_.say_when_changed("a", "why"));
  EXPECT_TRUE(voice_.say_when_changed("b", "why"));
  voice_.forget("a");
  EXPECT_TRUE(voice_.say_when_changed("a", "why"));
  EXPECT_FALSE(voice_.say_when_changed("b", "why"));
}

TEST_F(LeaderVoiceTest, AQuietOneSaysErrorsAloneUntilItSpeaksUp) {
  voice_ = LeaderVoice(true);
  voice_.log(log::Level::kWarning, "a", "one");
  voice_.log(log::Level::kError, "a", "two");
  EXPECT_TRUE(voice_.speak_up());
  EXPECT_FALSE(voice_.speak_up());
  voice_.log(log::Level::kWarning, "a", "three");
  EXPECT_EQ(taken(), (Lines{"debug a: one", "error a: two", "warning a: three"}));
}

TEST_F(LeaderVoiceTest, WhoPerformsGetsAllAtOnce) {
  size_t performed = 0;
  const Leader::Perform perform = [&](LeaderOutput) { ++performed; };
  voice_.pass_to(&perform);
  voice_.log(log::Level::kInfo, "a", "one");
  EXPECT_EQ(performed, 1U);
  EXPECT_EQ(taken(), Lines());
}

}  // namespace
}  // namespace muster::rendezvous
