#include "launcher/output/line_splitter.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster::launcher {
namespace {

using namespace std::string_literals;

// Lines of a stream that arrives as `chunks`; the unfinished rest last, when there is one.
std::vector<std::string> lines_of(const std::vector<std::string>& chunks) {
  LineSplitter splitter;
  std::vector<std::string> lines;
  for (const std::string& chunk : chunks) {
    splitter.feed(chunk);
    while (const auto line = splitter.next()) lines.emplace_back(*line);
  }
  const std::string unfinished = splitter.finish();
  if (!unfinished.empty()) lines.push_back(unfinished);
  return lines;
}

using Lines = std::vector<std::string>;

TEST(LineSplitter, EveryKindOfEndingEndsALineAndStaysWithIt) {
  EXPECT_EQ(lines_of({"a\nb\r\nc\rd"}), (Lines{"a\n", "b\r\n", "c\r", "d"}));
}

TEST(LineSplitter, EmptyLinesAreLines) {
  EXPECT_EQ(lines_of({"\n\n\r\n\r\r"}), (Lines{"\n", "\n", "\r\n", "\r", "\r"}));
}

TEST(LineSplitter, ALineIsPutTogetherFromManyChunks) {
  EXPECT_EQ(lines_of({"ab", "", "cd", "ef\ngh", "\n"}), (Lines{"abcdef\n", "gh\n"}));
}

TEST(LineSplitter, ReturnAndNewlineAreOneEndingEvenWhenCutApart) {
  EXPECT_EQ(lines_of({"a\r", "\nb\n"}), (Lines{"a\r\n", "b\n"}));
  EXPECT_EQ(lines_of({"a\r", "b\n"}), (Lines{"a\r", "b\n"}));
  EXPECT_EQ(lines_of({"a\r", "", "\r", "\n"}), (Lines{"a\r", "\r\n"}));
}

TEST(LineSplitter, AReturnAtTheVeryEndIsKept) { EXPECT_EQ(lines_of({"50%\r"}), (Lines{"50%\r"})); }

TEST(LineSplitter, NulAndBrokenUtf8PassUnchanged) {
  const std::string odd = "\0\xff\xc3"s;
  EXPECT_EQ(lines_of({odd + "\n" + odd}), (Lines{odd + "\n", odd}));
}

TEST(LineSplitter, WholeLinesAreViewsOfTheChunk) {
  const std::string chunk = "one\ntwo\n";
  LineSplitter splitter;
  splitter.feed(chunk);
  EXPECT_EQ(splitter.next()->data(), chunk.data());
  EXPECT_EQ(splitter.next()->data(), chunk.data() + 4);
  EXPECT_FALSE(splitter.next().has_value());
}

TEST(LineSplitter, ALineBeyondTheLimitComesInPieces) {
  const std::string piece(kMaxLineBytes, 'x');
  EXPECT_EQ(lines_of({piece + piece + "y\nz\n"}), (Lines{piece, piece, "y\n", "z\n"}));
  Lines chunks;
  for (int i = 0; i < 40; ++i) chunks.emplace_back(60'000, 'x');
  chunks.emplace_back("\n");
  EXPECT_EQ(lines_of(chunks),
            (Lines{piece, piece, std::string(2'400'000 - 2 * kMaxLineBytes, 'x') + "\n"}));
}

TEST(LineSplitter, TheEndingDoesNotCountTowardsTheLimit) {
  const std::string just_below(kMaxLineBytes - 1, 'x');
  EXPECT_EQ(lines_of({just_below + "\r", "\nb"}), (Lines{just_below + "\r\n", "b"}));
  const std::string exact(kMaxLineBytes, 'x');
  EXPECT_EQ(lines_of({exact, "\n"}), (Lines{exact, "\n"}));
  EXPECT_EQ(lines_of({exact + "\n"}), (Lines{exact, "\n"}));
}

TEST(LineSplitter, ABlockHoldsEveryCompleteLine) {
  const std::string chunk = "a\nb\r\nc\rd";
  LineSplitter splitter;
  splitter.feed(chunk);
  EXPECT_EQ(splitter.next_block(), "a\nb\r\nc\r");
  EXPECT_EQ(splitter.next_block(), std::nullopt);
  const std::string more = "\ne\nf\r";
  splitter.feed(more);
  EXPECT_EQ(splitter.next_block(), "d\n");
  EXPECT_EQ(splitter.next_block(), "e\n");
  EXPECT_EQ(splitter.next_block(), std::nullopt);
  EXPECT_EQ(splitter.finish(), "f\r");
  EXPECT_EQ(splitter.finish(), "");
}

TEST(LineSplitter, ABlockOfOneEndlessLineComesInPieces) {
  const std::string chunk(kMaxLineBytes + 5, 'x');
  LineSplitter splitter;
  splitter.feed(chunk);
  EXPECT_EQ(splitter.next_block()->size(), kMaxLineBytes);
  EXPECT_EQ(splitter.next_block(), std::nullopt);
  EXPECT_EQ(splitter.finish(), "xxxxx");
}

}  // namespace
}  // namespace muster::launcher
