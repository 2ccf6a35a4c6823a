#include "base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>

namespace muster {
namespace {

TEST(MakeTerminal, BehavesAsTheOtherOneAndPassesBytesUnchanged) {
  const UniqueFd other(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_EQ(unlockpt(other.get()), 0);
  const UniqueFd like(ioctl(other.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  const winsize wanted{.ws_row = 12, .ws_col = 34, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(ioctl(like.get(), TIOCSWINSZ, &wanted), 0);

  auto terminal = make_terminal(like.get());
  ASSERT_TRUE(terminal.has_value());
  EXPECT_EQ(isatty(terminal->write_end.get()), 1);
  winsize size{};
  ASSERT_EQ(ioctl(terminal->write_end.get(), TIOCGWINSZ, &size), 0);
  EXPECT_EQ(size.ws_col, 34);
  ASSERT_EQ(write(terminal->write_end.get(), "a\tb\n", 4), 4);
  char text[8] = {};
  EXPECT_EQ(read(terminal->read_end.get(), text, sizeof text), 4);
  EXPECT_STREQ(text, "a\tb\n");
  terminal->write_end.reset();
  EXPECT_EQ(read(terminal->read_end.get(), text, sizeof text), -1);
  EXPECT_EQ(errno, EIO);
}

TEST(MakeTerminal, APipeIsNone) {
  const auto pipe = make_pipe();
  ASSERT_TRUE(pipe.has_value());
  const auto terminal = make_terminal(pipe->write_end.get());
  ASSERT_FALSE(terminal.has_value());
  EXPECT_EQ(terminal.error().os_errno, ENOTTY);
}

}  // namespace
}  // namespace muster
