#include "launcher/output/stream_mode.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

TEST(StreamMode, WithoutWishesLinesPassThroughUs) {
  EXPECT_EQ(choose_stream_mode({}), StreamMode::kConsole);
}

TEST(StreamMode, ATerminalIsInheritedUnlessLinesGetAPrefix) {
  EXPECT_EQ(choose_stream_mode({.terminal = true}), StreamMode::kInherit);
  EXPECT_EQ(choose_stream_mode({.prefixed = true, .terminal = true}), StreamMode::kConsole);
}

TEST(StreamMode, ARedirectedStreamIsWrittenByTheWorkerItself) {
  EXPECT_EQ(choose_stream_mode({.redirect = true}), StreamMode::kFile);
  EXPECT_EQ(choose_stream_mode({.redirect = true, .prefixed = true, .terminal = true}),
            StreamMode::kFile);
}

TEST(StreamMode, WhatIsInBothMasksIsTeed) {
  EXPECT_EQ(choose_stream_mode({.redirect = true, .tee = true}), StreamMode::kTee);
  EXPECT_EQ(choose_stream_mode({.tee = true, .terminal = true}), StreamMode::kTee);
}

TEST(StreamMode, ARankThatIsNotShownKeepsItsFilesAndItsLastLines) {
  EXPECT_EQ(choose_stream_mode({.tee = true, .shown = false}), StreamMode::kFile);
  EXPECT_EQ(choose_stream_mode({.redirect = true, .shown = false}), StreamMode::kFile);
  EXPECT_EQ(choose_stream_mode({.shown = false}), StreamMode::kKept);
  EXPECT_EQ(choose_stream_mode({.shown = false, .terminal = true}), StreamMode::kKept);
}

TEST(StreamMode, EveryModeHasAName) {
  EXPECT_EQ(to_string(StreamMode::kInherit), "inherit");
  EXPECT_EQ(to_string(StreamMode::kKept), "kept");
  EXPECT_EQ(to_string(StreamMode::kFile), "file");
  EXPECT_EQ(to_string(StreamMode::kTee), "tee");
  EXPECT_EQ(to_string(StreamMode::kConsole), "console");
}

}  // namespace
}  // namespace muster::launcher
