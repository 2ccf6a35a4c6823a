#include "launcher/sidecar/stdout_target.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "base/text.h"
#include "tests/support/fake_clock.h"

namespace muster::launcher {
namespace {

using muster::testing::FakeClock;

TEST(StdoutTargetTest, AReaderThatIsSlowGetsEveryLineWhole) {
  FakeClock clock;
  auto loop = std::move(*Loop::create(clock));
  auto pipe = *make_pipe();
  ASSERT_TRUE(set_nonblocking(pipe.read_end.get()));
  StdoutTarget target(*loop, pipe.write_end.get());
  uint64_t settled = 0;
  target.begin({}, [&settled](const JournalMark& mark) { settled = mark.seq; });
  constexpr uint64_t kEvents = 30;
  for (uint64_t seq = 1; seq <= kEvents; ++seq)
    target.take({{seq, "a"}, "e", "job", "node", std::to_string(seq) + std::string(9000, '.'), ""});
  target.caught_up();
  std::string read;
  std::array<char, 16384> bytes{};
  for (int i = 0; i < 1000 && !target.is_idle(); ++i) {
    ASSERT_TRUE(loop->run_until_idle());
    const ssize_t count = ::read(pipe.read_end.get(), bytes.data(), bytes.size());
    if (count > 0) read.append(bytes.data(), static_cast<size_t>(count));
    clock.advance(std::chrono::milliseconds(50));
  }
  for (ssize_t count = 1; count > 0;) {
    count = ::read(pipe.read_end.get(), bytes.data(), bytes.size());
    if (count > 0) read.append(bytes.data(), static_cast<size_t>(count));
  }
  EXPECT_TRUE(target.is_idle());
  EXPECT_EQ(settled, kEvents);
  const auto lines = split(read, '\n');
  ASSERT_EQ(lines.size(), kEvents + 1);
  for (uint64_t seq = 1; seq <= kEvents; ++seq)
    EXPECT_EQ(lines[seq - 1], std::to_string(seq) + std::string(9000, '.'));
}

}  // namespace
}  // namespace muster::launcher
