// Both ends of a stream over real pipes, with the messages between them in our hands.
#include "mpi/rsh/rsh_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/fake_clock.h"

namespace muster::mpi {
namespace {

class RshStreamTest : public ::testing::Test {
 protected:
  RshStreamTest() {
    EXPECT_TRUE(set_nonblocking(pipe_.read_end.get()));
    EXPECT_TRUE(set_nonblocking(pipe_.write_end.get()));
  }
  void idle() { ASSERT_TRUE(loop_->run_until_idle()); }
  void take(const RshMessage& message) {
    if (const auto* data = std::get_if<rsh::Data>(&message)) received_ += data->bytes;
    if (const auto* credit = std::get_if<rsh::Credit>(&message)) credited_ += credit->bytes;
    ends_ += std::holds_alternative<rsh::End>(message) ? 1 : 0;
    gone_ += std::holds_alternative<rsh::Gone>(message) ? 1 : 0;
  }
  // Fills the pipe; how much it took.
  size_t fill(size_t bytes) {
    const std::string text(bytes, 'x');
    const ssize_t took = write(pipe_.write_end.get(), text.data(), text.size());
    return took < 0 ? 0 : static_cast<size_t>(took);
  }
  size_t drain() {
    std::string buffer(1 << 20, ' ');
    const ssize_t got = read(pipe_.read_end.get(), buffer.data(), buffer.size());
    return got < 0 ? 0 : static_cast<size_t>(got);
  }

  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  Pipe pipe_ = std::move(*make_pipe());
  std::string received_;
  size_t credited_ = 0;
  int ends_ = 0;
  int gone_ = 0;
  int ended_ = 0;
  RshSource source_{*loop_, RshStream::kStdout, [this](const RshMessage& m) { take(m); }};
  RshSink sink_{*loop_, RshStream::kStdin, [this](const RshMessage& m) { take(m); }};
};

TEST_F(RshStreamTest, ASourceSendsWhatThereIsAndThenTheEnd) {
  source_.begin(std::move(pipe_.read_end), [this] { ++ended_; });
  ASSERT_EQ(write(pipe_.write_end.get(), "ab", 2), 2);
  idle();
  EXPECT_EQ(received_, "ab");
  pipe_.write_end.reset();
  idle();
  EXPECT_EQ(ends_, 1);
  EXPECT_EQ(ended_, 1);
  EXPECT_TRUE(source_.has_ended());
}

TEST_F(RshStreamTest, ASourceStopsWhereItsCreditEnds) {
  source_.begin(std::move(pipe_.read_end), [this] { ++ended_; });
  size_t written = 0;
  while (written <= kRshWindowBytes) {
    const size_t took = fill(65536);
    if (took == 0) break;
    written += took;
    idle();
  }
  EXPECT_EQ(received_.size(), kRshWindowBytes);
  const size_t waiting = written - received_.size() + fill(1 << 20);
  ASSERT_GT(waiting, 100U);
  // The end of the writer does not wake it either: that would spin.
  pipe_.write_end.reset();
  idle();
  EXPECT_EQ(ends_, 0);
  source_.credit(100);
  idle();
  EXPECT_EQ(received_.size(), kRshWindowBytes + 100);
  source_.credit(kRshWindowBytes);
  idle();
  EXPECT_EQ(received_.size(), kRshWindowBytes + waiting);
  EXPECT_EQ(ends_, 1);
}

TEST_F(RshStreamTest, AFinishedSourceTakesWhatIsThereThoughWritersAreLeft) {
  source_.begin(std::move(pipe_.read_end), [this] { ++ended_; });
  ASSERT_EQ(fill(5000), 5000U);
  source_.finish();
  idle();
  EXPECT_EQ(received_.size(), 5000U);
  EXPECT_EQ(ended_, 1);
}

TEST_F(RshStreamTest, AStoppedSourceGivesItsWriterSigpipe) {
  source_.begin(std::move(pipe_.read_end), [this] { ++ended_; });
  source_.stop();
  idle();
  (void)signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(write(pipe_.write_end.get(), "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  EXPECT_EQ(ends_, 0);
  EXPECT_EQ(ended_, 1);
}

TEST_F(RshStreamTest, CreditThatComesLateDoesNotTakeTheEndFromAStoppedSource) {
  source_.begin(std::move(pipe_.read_end), [this] { ++ended_; });
  source_.stop();
  source_.credit(1);
  idle();
  EXPECT_EQ(ended_, 1);
}

TEST_F(RshStreamTest, ADiscardingSourceReadsOnWithoutCredit) {
  source_.begin(std::move(pipe_.read_end), [this] { ++ended_; });
  source_.discard();
  size_t written = 0;
  for (int i = 0; i < 20; ++i) {
    written += fill(65536);
    idle();
  }
  EXPECT_GT(written, 2U * kRshWindowBytes);
  EXPECT_EQ(received_, "");
}

TEST_F(RshStreamTest, LastWordsAreWhatWasWrittenLastAlsoIfNobodyHasReadItYet) {
  source_.begin(std::move(pipe_.read_end), [this] { ++ended_; });
  EXPECT_EQ(source_.last_words(), "");
  ASSERT_EQ(write(pipe_.write_end.get(), "ab", 2), 2);
  EXPECT_EQ(source_.last_words(), "ab");
  EXPECT_EQ(received_, "ab");
  EXPECT_EQ(fill(kRshLastWordsBytes), kRshLastWordsBytes);
  EXPECT_EQ(source_.last_words(), std::string(kRshLastWordsBytes, 'x'));
}

TEST_F(RshStreamTest, AFileIsReadThoughItCannotBeWaitedFor) {
  UniqueFd file(open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(file.is_open());
  source_.begin(std::move(file), [this] { ++ended_; });
  idle();
  EXPECT_NE(received_, "");
  EXPECT_EQ(ended_, 1);
}

TEST_F(RshStreamTest, ASinkWritesAndGivesCreditBack) {
  sink_.begin(pipe_target(std::move(pipe_.write_end)));
  ASSERT_TRUE(sink_.data(std::string(1000, 'a')));
  idle();
  EXPECT_TRUE(sink_.is_idle());
  EXPECT_EQ(drain(), 1000U);
  EXPECT_EQ(credited_, 0U);  // a small message for many: not yet
  size_t sent = 1000;
  while (sent < 4U * kRshWindowBytes) {
    ASSERT_TRUE(sink_.data(std::string(30000, 'a')));
    sent += 30000;
    idle();
    (void)drain();
    idle();
  }
  EXPECT_GT(credited_, 3U * kRshWindowBytes);
}

TEST_F(RshStreamTest, ASinkWhoseReaderWaitsKeepsTheRestAndGivesNoCredit) {
  sink_.begin(pipe_target(std::move(pipe_.write_end)));
  ASSERT_TRUE(sink_.data(std::string(kRshWindowBytes, 'a')));
  idle();
  EXPECT_FALSE(sink_.is_idle());
  const auto over = sink_.data(std::string(credited_ + 1, 'x'));
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().text, "more data than there was credit for");
  size_t got = 0;
  while (got < kRshWindowBytes) {
    got += drain();
    idle();
  }
  EXPECT_EQ(got, kRshWindowBytes);
  EXPECT_TRUE(sink_.is_idle());
}

TEST_F(RshStreamTest, TheEndComesAfterEverything) {
  sink_.begin(pipe_target(std::move(pipe_.write_end)));
  ASSERT_TRUE(sink_.data("last"));
  sink_.end();
  idle();
  EXPECT_EQ(drain(), 4U);
  char byte = 0;
  EXPECT_EQ(read(pipe_.read_end.get(), &byte, 1), 0);
  EXPECT_EQ(sink_.data("more").error().text, "data after the end of a stream");
}

TEST_F(RshStreamTest, ASinkWithoutAReaderSaysSoOnce) {
  (void)signal(SIGPIPE, SIG_IGN);
  sink_.begin(pipe_target(std::move(pipe_.write_end)));
  pipe_.read_end.reset();
  ASSERT_TRUE(sink_.data("x"));
  ASSERT_TRUE(sink_.data("y"));
  idle();
  EXPECT_EQ(gone_, 1);
  EXPECT_TRUE(sink_.is_idle());
}

}  // namespace
}  // namespace muster::mpi
