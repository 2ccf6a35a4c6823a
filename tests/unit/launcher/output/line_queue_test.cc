#include "launcher/output/line_queue.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace muster::launcher {
namespace {

const Source kZero{0, false, "[0] "};
const Source kOne{1, false, "[1] "};
const Source kPlainZero{0, false, ""};
const Source kPlainOne{1, false, ""};

// Everything that waits, as if it were written now.
std::string sent(LineQueue& queue) {
  std::string all(queue.unsent());
  queue.mark_sent(all.size());
  return all;
}

TEST(LineQueue, EveryLineGetsThePrefixOfItsWriter) {
  LineQueue queue;
  queue.append(kZero, "a\nb\r\nc\n");
  queue.append(kOne, "d\n");
  queue.append(kZero, "\n");
  EXPECT_EQ(queue.size(), 30u);
  EXPECT_EQ(sent(queue), "[0] a\n[0] b\r\n[0] c\n[1] d\n[0] \n");
  EXPECT_EQ(queue.size(), 0u);
}

TEST(LineQueue, StdoutAndStderrOfARankAreTwoWriters) {
  LineQueue queue;
  queue.append({0, false, "[0] "}, "out");
  queue.append({0, true, "[0] "}, "err\n");
  EXPECT_EQ(sent(queue), "[0] out\n[0] err\n");
}

TEST(LineQueue, AnUnfinishedLineIsEndedBeforeAnothersPrefix) {
  LineQueue queue;
  queue.append(kZero, "no newline");
  queue.end_source(kZero);
  EXPECT_EQ(sent(queue), "[0] no newline");
  queue.append(kOne, "b\n");
  EXPECT_EQ(sent(queue), "\n[1] b\n");
}

TEST(LineQueue, TheSameWriterMayGoOnWithItsPiece) {
  LineQueue queue;
  queue.append(kZero, "piece ");
  queue.append(kZero, "");
  queue.append(kZero, "rest\n");
  queue.append(kZero, "next\n");
  EXPECT_EQ(sent(queue), "[0] piece rest\n[0] next\n");
}

TEST(LineQueue, ANewlineThatComesLaterBelongsToItsReturn) {
  LineQueue queue;
  queue.append(kZero, "50%\r");
  queue.append(kZero, "\nnext\n");
  EXPECT_EQ(sent(queue), "[0] 50%\r\n[0] next\n");
}

TEST(LineQueue, APieceInterruptedByAnotherRankGoesOnAsALineOfItsOwn) {
  LineQueue queue;
  queue.append(kZero, "piece ");
  queue.append(kOne, "b\n");
  queue.append(kZero, "rest\n");
  EXPECT_EQ(sent(queue), "[0] piece \n[1] b\n[0] rest\n");
}

TEST(LineQueue, TheNextAttemptOfARankDoesNotGoOnWithItsUnfinishedLine) {
  LineQueue queue;
  queue.append(kZero, "died here");
  queue.end_source(kZero);
  queue.append(kZero, "again\n");
  EXPECT_EQ(sent(queue), "[0] died here\n[0] again\n");
}

TEST(LineQueue, AProgressBarKeepsItsLineUntilAnotherRankSpeaks) {
  LineQueue queue;
  queue.append(kZero, "10%\r20%\r");
  queue.append(kZero, "30%\r");
  queue.append(kOne, "b\n");
  EXPECT_EQ(sent(queue), "[0] 10%\r[0] 20%\r[0] 30%\r\n[1] b\n");
}

TEST(LineQueue, AStepOfAProgressBarIsOneLineAlsoBetweenThoseOfOthers) {
  LineQueue queue;
  for (const Source& source : {kZero, kOne}) queue.append(source, "\r");
  for (const Source& source : {kZero, kOne}) queue.append(source, "  0%|");
  for (const std::string step : {" 50%|", "100%|"}) {
    for (const Source& source : {kZero, kOne}) {
      queue.append(source, "\r");  // the end of a line that was shown when it had none
      queue.append(source, step);
    }
  }
  for (const Source& source : {kZero, kOne}) queue.append(source, "\n");
  EXPECT_EQ(sent(queue), "[0]   0%|\n[1]   0%|\n[0]  50%|\n[1]  50%|\n[0] 100%|\n[1] 100%|\n");
}

TEST(LineQueue, AReturnWithNothingToReturnOnIsNoLine) {
  LineQueue queue;
  queue.append(kZero, "loading\n\r 50%|\r\r100%|\n\r");
  EXPECT_EQ(sent(queue), "[0] loading\n[0]  50%|\r[0] 100%|\n");
  queue.append(kOne, "next\n\r\n");
  EXPECT_EQ(sent(queue), "[1] next\n[1] \r\n");
}

TEST(LineQueue, OnlyTheEndOfAnInterruptedLineIsLeftOut) {
  LineQueue queue;
  queue.append(kZero, "asking...");
  EXPECT_EQ(sent(queue), "[0] asking...");
  queue.append_own("ours\n");
  queue.append(kZero, "\r\n\nanswer\n");
  EXPECT_EQ(sent(queue), "\nours\n[0] \n[0] answer\n");
}

TEST(LineQueue, WithoutPrefixesBytesPassUnchanged) {
  LineQueue queue;
  queue.append(kPlainZero, "a\nb\n");
  queue.append(kPlainZero, "unfinished");
  queue.end_source(kPlainZero);
  queue.append(kPlainOne, "c\n");
  EXPECT_EQ(sent(queue), "a\nb\nunfinishedc\n");
}

TEST(LineQueue, AnUnfinishedLineIsEndedWhenOnlyOneOfTheTwoHasAPrefix) {
  LineQueue queue;
  queue.append(kZero, "tee'd");
  queue.append(kPlainOne, "not tee'd\nunfinished");
  queue.append(kZero, "b\n");
  EXPECT_EQ(sent(queue), "[0] tee'd\nnot tee'd\nunfinished\n[0] b\n");
}

TEST(LineQueue, WhatComesAfterAGapIsALineOfItsOwn) {
  LineQueue queue;
  queue.append(kPlainZero, "piece of a very long line");
  queue.note_gap(kPlainOne);
  queue.note_gap(kPlainZero);
  queue.append(kPlainZero, "next\n");
  EXPECT_EQ(sent(queue), "piece of a very long line\nnext\n");
}

TEST(LineQueue, OurOwnLineStandsBeforeThoseThatWait) {
  LineQueue queue;
  queue.append(kZero, "a\n");
  queue.append_own("own 1\n");
  queue.append_own("own 2\n");
  EXPECT_EQ(queue.own_size(), 12u);
  queue.append(kOne, "b\n");
  EXPECT_EQ(sent(queue), "own 1\nown 2\n[0] a\n[1] b\n");
  EXPECT_EQ(queue.own_size(), 0u);
}

TEST(LineQueue, OurOwnLineNeverStandsWithinALine) {
  LineQueue queue;
  queue.append(kZero, "half written\nb\n");
  queue.mark_sent(6);
  queue.append_own("own 1\n");
  queue.append_own("own 2\n");
  EXPECT_EQ(sent(queue), "lf written\nown 1\nown 2\n[0] b\n");

  queue.append(kPlainZero, "unfinished");
  EXPECT_EQ(sent(queue), "unfinished");
  queue.append_own("own 3\n");
  queue.append(kPlainZero, "more\n");
  EXPECT_EQ(sent(queue), "\nown 3\nmore\n");
}

TEST(LineQueue, AClearedQueueBeginsANewLineOnlyWhereOneWasCut) {
  LineQueue queue;
  queue.append(kPlainZero, "a\nbcd\n");
  queue.mark_sent(4);
  queue.clear();
  EXPECT_EQ(queue.size(), 0u);
  queue.append(kPlainZero, "e\n");
  EXPECT_EQ(sent(queue), "\ne\n");
  queue.append(kPlainZero, "f\n");
  queue.clear();
  queue.append(kPlainZero, "g\n");
  EXPECT_EQ(sent(queue), "g\n");
}

// Any order of adding and sending: every line comes out whole, those of one writer in their order.
TEST(LineQueue, HoweverItIsSentLinesStayWholeAndInOrder) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 generator(seed);
    const auto random = [&generator] { return static_cast<unsigned>(generator()); };
    LineQueue queue;
    std::string out;
    std::vector<int> next(3, 0);
    for (int step = 0; step < 300; ++step) {
      const unsigned who = random() % 3;
      const std::string line =
          std::to_string(next[who]++) + std::string(random() % 40, '.') + "|\n";
      if (who == 2) {
        queue.append_own("own " + line);
      } else {
        queue.append(who == 0 ? kZero : kOne, line);
      }
      const size_t count = random() % (queue.size() + 1);
      out += queue.unsent().substr(0, count);
      queue.mark_sent(count);
    }
    out += sent(queue);
    std::vector<int> seen(3, 0);
    for (size_t from = 0; from < out.size(); from = out.find('\n', from) + 1) {
      const size_t who = out[from] == 'o' ? 2 : static_cast<size_t>(out[from + 1] - '0');
      const std::string expected = std::to_string(seen[who]++);
      ASSERT_EQ(out.substr(from + 4, expected.size()), expected) << "seed " << seed;
      ASSERT_EQ(out[out.find('\n', from) - 1], '|') << "seed " << seed;
    }
    EXPECT_EQ(seen, next) << "seed " << seed;
  }
}

}  // namespace
}  // namespace muster::launcher
