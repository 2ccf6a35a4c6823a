#include "base/process/terminal_table.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using enum TerminalState;
using enum TerminalEvent;

// Everything that may happen to a program, from its start on.
class TerminalTableTest : public ::testing::Test {
 protected:
  TerminalAction after(TerminalEvent event) {
    const TerminalTransition& row = transition(state_, event);
    state_ = row.next;
    return row.action;
  }

  TerminalState state_ = kIdle;
};

TEST_F(TerminalTableTest, EveryPairDoesSomethingOrSaysWhyNot) {
  EXPECT_EQ(terminal_transitions().size(), kTerminalStates * kTerminalEvents);
  for (const TerminalTransition& row : terminal_transitions()) {
    const bool acts = row.action != TerminalAction::kNothing && row.action != TerminalAction::kBug;
    EXPECT_EQ(row.why.empty(), acts) << to_string(row.state) << " " << to_string(row.event);
  }
}

TEST_F(TerminalTableTest, WhoeverStopsGivesThePromptToTheOuterShell) {
  after(kStartInFront);
  EXPECT_EQ(after(kStopped), TerminalAction::kStopOurs);
  EXPECT_EQ(after(kSuspended), TerminalAction::kNothing) << "our own SIGTSTP";
  EXPECT_EQ(after(kContinuedInFront), TerminalAction::kGive);
  EXPECT_EQ(state_, kFront);
  EXPECT_EQ(after(kEnded), TerminalAction::kTakeBack);
}

TEST_F(TerminalTableTest, InTheBackgroundTheTerminalIsTheShells) {
  after(kStartInFront);
  after(kStopped);
  EXPECT_EQ(after(kContinuedBehind), TerminalAction::kNothing);
  EXPECT_EQ(after(kEnded), TerminalAction::kNothing);
  EXPECT_EQ(state_, kIdle);
}

TEST_F(TerminalTableTest, ARunningJobIsNotToldThatItCameToTheForeground) {
  after(kStartBehind);
  EXPECT_EQ(after(kWantsTerminal), TerminalAction::kGiveAndWake);
  EXPECT_EQ(state_, kFront);
}

TEST_F(TerminalTableTest, WithoutAShellAStoppedProgramGoesOn) {
  after(kStartInFront);
  EXPECT_EQ(after(kStoppedAlone), TerminalAction::kGiveAndWake);
  EXPECT_EQ(state_, kFront);
}

// As long as a program runs in front, whatever it ends with gives the foreground back.
TEST_F(TerminalTableTest, NobodyKeepsTheForeground) {
  for (const TerminalTransition& row : terminal_transitions()) {
    if (row.state != kFront || row.next == kFront || row.action == TerminalAction::kBug) continue;
    EXPECT_TRUE(row.action == TerminalAction::kTakeBack || row.action == TerminalAction::kStopOurs)
        << to_string(row.event);
  }
}

TEST_F(TerminalTableTest, NoProgramRunsBetweenAttempts) {
  after(kStartInFront);
  after(kEnded);
  EXPECT_EQ(after(kContinuedInFront), TerminalAction::kNothing);
  EXPECT_EQ(after(kStartBehind), TerminalAction::kNothing);
  EXPECT_EQ(state_, kBehind);
}

}  // namespace
}  // namespace muster
