#include "launcher/output/worker_stream.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "tests/support/fake_clock.h"
#include "tests/support/fake_files.h"
#include "tests/support/output_fixture.h"

namespace muster::launcher {
namespace {

using muster::testing::FakeFiles;
using muster::testing::TestPipe;

class WorkerStreamTest : public ::testing::Test {
 protected:
  // A stream whose writer's end is `writer_`.
  std::unique_ptr<WorkerStream> open_stream(std::string prefix, FilteredFile* filtered = nullptr,
                                            std::optional<LogFile> file = std::nullopt) {
    Pipe pipe = std::move(make_pipe().value());
    (void)set_nonblocking(pipe.read_end.get());
    writer_ = std::move(pipe.write_end);
    return std::make_unique<WorkerStream>(Source{0, false, std::move(prefix)}, &sink_,
                                          std::move(pipe.read_end), std::move(file), filtered);
  }
  void print(std::string_view text) {
    ASSERT_EQ(::write(writer_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::string shown() {
    EXPECT_TRUE(loop_->run_until_idle());
    return console_.read();
  }

  muster::testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  TestPipe console_;
  Sink sink_{*loop_, ConsoleFd(console_.write_fd()), "stdout"};
  FakeFiles files_;
  UniqueFd writer_;
  std::array<char, 4096> buffer_{};
};

TEST_F(WorkerStreamTest, LinesGoToConsoleAndFile) {
  auto stream = open_stream("[0] ", nullptr, LogFile(std::move(*files_.create("/log")), "/log"));
  print("one\ntw");
  EXPECT_EQ(stream->read_once(buffer_), 6u);
  EXPECT_EQ(shown(), "[0] one\n");
  EXPECT_EQ(files_.content("/log"), "one\ntw");
  print("o\n");
  (void)stream->read_once(buffer_);
  EXPECT_EQ(shown(), "[0] two\n");
  EXPECT_EQ(files_.content("/log"), "one\ntwo\n");
  EXPECT_EQ(stream->recent(), "one\ntwo\n");
}

TEST_F(WorkerStreamTest, AReadOfAnEmptyPipeIsNotTheEnd) {
  auto stream = open_stream("");
  EXPECT_EQ(stream->read_once(buffer_), 0u);
  EXPECT_TRUE(stream->is_open());
}

TEST_F(WorkerStreamTest, TheUnfinishedLineComesAtTheEnd) {
  auto stream = open_stream("[0] ");
  print("no newline");
  writer_.reset();
  stream->drain(buffer_);
  EXPECT_FALSE(stream->is_open());
  EXPECT_EQ(shown(), "[0] no newline");
  stream->close();
  EXPECT_EQ(shown(), "");
}

TEST_F(WorkerStreamTest, AnUnfinishedLineIsShownAfterASilence) {
  auto stream = open_stream("[0] ");
  std::string listened;
  stream->set_listener([&listened](std::string_view lines) { listened += lines; });
  ASSERT_TRUE(stream->watch(*loop_, [&] { (void)stream->read_once(buffer_); }));
  print("Loading");
  EXPECT_EQ(shown(), "");
  clock_.advance(kUnfinishedShownAfter / 2);
  print("...");
  EXPECT_EQ(shown(), "");
  clock_.advance(kUnfinishedShownAfter / 2);
  EXPECT_EQ(shown(), "");  // not silent for so long yet
  clock_.advance(kUnfinishedShownAfter / 2);
  EXPECT_EQ(shown(), "[0] Loading...");
  EXPECT_EQ(listened, "");
  print(" done\nnext\n");
  EXPECT_EQ(shown(), " done\n[0] next\n");
  EXPECT_EQ(listened, "Loading... done\nnext\n");
}

TEST_F(WorkerStreamTest, AProgressBarStaysLive) {
  auto stream = open_stream("[0] ");
  ASSERT_TRUE(stream->watch(*loop_, [&] { (void)stream->read_once(buffer_); }));
  const auto shown_later = [this] {
    const std::string at_once = shown();
    clock_.advance(kUnfinishedShownAfter);
    return at_once + "|" + shown();
  };
  print("\r10%");  // as tqdm writes it
  EXPECT_EQ(shown_later(), "|[0] 10%");
  print("\r20%");
  EXPECT_EQ(shown_later(), "\r|[0] 20%");
  print("\n30%\r");  // as curl does
  EXPECT_EQ(shown_later(), "\n|[0] 30%\r");
  print("40%\r");
  EXPECT_EQ(shown_later(), "|[0] 40%\r");
  print("\nend\n");
  EXPECT_EQ(shown_later(), "\n[0] end\n|");
}

TEST_F(WorkerStreamTest, AStreamThatMayNotBeReadIsNotSilent) {
  auto stream = open_stream("[0] ");
  ASSERT_TRUE(stream->watch(*loop_, [&] { (void)stream->read_once(buffer_); }));
  print("half");
  EXPECT_EQ(shown(), "");
  stream->pause();
  print(" line\n");
  clock_.advance(kUnfinishedShownAfter);
  EXPECT_EQ(shown(), "");
  stream->resume();
  EXPECT_EQ(shown(), "[0] half line\n");
}

TEST_F(WorkerStreamTest, DrainingTakesAllThatIsThereAndWaitsForNobody) {
  auto stream = open_stream("[0] ");
  const std::string line(1000, 'x');
  std::string expected;
  for (int i = 0; i < 20; ++i) {
    print(line + "\n");
    expected += "[0] " + line + "\n";
  }
  print("rest");
  stream->drain(buffer_);  // the writer's end is still open, as a grandchild's would be
  EXPECT_TRUE(stream->is_open());
  EXPECT_EQ(shown(), expected);
  stream->close();
  EXPECT_EQ(shown(), "[0] rest");
}

TEST_F(WorkerStreamTest, WithoutPrefixLinesPassInBlocks) {
  auto stream = open_stream("");
  print(std::string_view("a\0b\n\xff\r\nc", 8));
  (void)stream->read_once(buffer_);
  EXPECT_EQ(shown(), std::string("a\0b\n\xff\r\n", 7));
  stream->close();
  EXPECT_EQ(shown(), "c");
}

TEST_F(WorkerStreamTest, MatchingLinesAlsoGoToTheFilteredFile) {
  FilteredFile filtered(LogFile(std::move(*files_.create("/filtered")), "/filtered"),
                        {"loss", "ERROR"});
  auto stream = open_stream("[0] ", &filtered);
  print("loss=1\nnothing\r\nan ERROR\rrest of loss");
  (void)stream->read_once(buffer_);
  stream->close();
  EXPECT_EQ(files_.content("/filtered"), "[0] loss=1\n[0] an ERROR\r\n[0] rest of loss\n");
  EXPECT_EQ(shown(), "[0] loss=1\n[0] nothing\r\n[0] an ERROR\r[0] rest of loss");
}

TEST_F(WorkerStreamTest, OnlyTheLastBytesAreRemembered) {
  auto stream = open_stream("");
  std::string all;
  for (int i = 0; i < 300; ++i) {
    const std::string line = "line " + std::to_string(i) + std::string(90, '.') + "\n";
    print(line);
    (void)stream->read_once(buffer_);
    all += line;
  }
  EXPECT_GE(stream->recent().size(), kRecentBytes);
  EXPECT_LE(stream->recent().size(), 2 * kRecentBytes);
  EXPECT_TRUE(all.ends_with(stream->recent()));
}

TEST_F(WorkerStreamTest, APausedStreamIsToldOnlyThatItsWriterIsGone) {
  auto stream = open_stream("");
  int calls = 0;
  ASSERT_TRUE(stream->watch(*loop_, [&] {
    ++calls;
    if (stream->is_paused()) stream->close();
  }));
  stream->pause();
  print("x\n");
  EXPECT_EQ(shown(), "");
  EXPECT_EQ(calls, 0);
  writer_.reset();
  EXPECT_EQ(shown(), "");
  EXPECT_EQ(calls, 1);
}

TEST(LastLines, EndingsAndBlankLinesAreLeftOut) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(last_lines_of("a\n\n  \nb\r\n\tc"), (Texts{"a", "b", "\tc"}));
  EXPECT_EQ(last_lines_of(""), Texts{});
  EXPECT_EQ(last_lines_of("\n\r\n \n"), Texts{});
  EXPECT_EQ(last_lines_of("50%\r100%\r"), (Texts{"50%", "100%"}));
}

TEST(LastLines, AreFewAndShort) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += std::to_string(i) + "\n";
  const auto lines = last_lines_of(text);
  ASSERT_EQ(lines.size(), kMaxLastLines);
  EXPECT_EQ(lines.front(), "150");
  EXPECT_EQ(lines.back(), "199");
}

TEST(LastLines, ALineCutAtTheFrontIsLeftOutUnlessItIsTheOnlyOne) {
  const std::string long_line(2 * kRecentBytes, 'x');
  EXPECT_EQ(last_lines_of(long_line + "\nend\n"), std::vector<std::string>{"end"});
  EXPECT_EQ(last_lines_of(long_line), std::vector<std::string>{long_line.substr(kRecentBytes)});
}

TEST(LastLines, HoldNothingThatATerminalObeys) {
  EXPECT_EQ(last_lines_of("a\x1b[2J\n\tb\u009b\u202e\xff\n"),
            (std::vector<std::string>{"a\\x1b[2J", "\tb\\x9b\\u202e\uFFFD"}));
}

}  // namespace
}  // namespace muster::launcher
