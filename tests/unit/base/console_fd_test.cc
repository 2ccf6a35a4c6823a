#include "base/console_fd.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <climits>

#include "tests/support/output_fixture.h"

namespace muster {
namespace {

using muster::testing::TestPipe;

bool is_nonblocking(int fd) { return (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0; }

TEST(ConsoleFd, APipeIsReopenedAndTheSharedOneStaysBlocking) {
  TestPipe pipe;
  ConsoleFd console(pipe.write_fd());
  EXPECT_EQ(console.kind(), ConsoleFd::Kind::kReopened);
  EXPECT_NE(console.fd(), pipe.write_fd());
  EXPECT_TRUE(is_nonblocking(console.fd()));
  EXPECT_FALSE(is_nonblocking(pipe.write_fd()));
  EXPECT_EQ(console.write("hello\n").bytes, 6u);
  EXPECT_EQ(pipe.read(), "hello\n");
}

TEST(ConsoleFd, AFullPipeTakesAPartAndThenNothing) {
  TestPipe pipe(4096);
  ConsoleFd console(pipe.write_fd());
  const std::string text(pipe.capacity() + 10, 'x');
  const auto first = console.write(text);
  EXPECT_EQ(first.bytes, pipe.capacity());
  EXPECT_EQ(first.os_errno, EAGAIN);
  const auto second = console.write("y");
  EXPECT_EQ(second.bytes, 0u);
  EXPECT_EQ(second.os_errno, EAGAIN);
}

TEST(ConsoleFd, APipeThatCannotBeReopenedIsAskedFirst) {
  TestPipe pipe;
  ConsoleFd console(pipe.write_fd(), false);
  EXPECT_EQ(console.kind(), ConsoleFd::Kind::kPolled);
  EXPECT_EQ(console.fd(), pipe.write_fd());
  const std::string text(pipe.capacity() + 100, 'x');
  size_t taken = 0;
  while (taken < text.size()) {
    const auto written = console.write(std::string_view(text).substr(taken));
    taken += written.bytes;
    if (written.bytes == 0) {
      EXPECT_EQ(written.os_errno, EAGAIN);
      break;
    }
  }
  EXPECT_EQ(taken, pipe.capacity());
  EXPECT_FALSE(is_nonblocking(pipe.write_fd()));
  EXPECT_EQ(pipe.read(PIPE_BUF).size(), static_cast<size_t>(PIPE_BUF));
  EXPECT_EQ(console.write("z").bytes, 1u);
}

TEST(ConsoleFd, APipeWithoutReaderIsEpipeHoweverItIsWritten) {
  for (const bool may_reopen : {true, false}) {
    TestPipe pipe;
    ConsoleFd console(pipe.write_fd(), may_reopen);
    pipe.close_reader();
    EXPECT_EQ(console.write("x").os_errno, EPIPE);
  }
}

TEST(ConsoleFd, ANamedPipeThatLostItsReaderIsRefusedAndThenEpipe) {
  const muster::testing::TempDir directory;
  const std::string path = directory.path() + "/fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  UniqueFd reader(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const UniqueFd writer(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(writer.is_open());
  reader.reset();
  ConsoleFd console(writer.get());
  EXPECT_EQ(console.kind(), ConsoleFd::Kind::kPolled);  // opening it anew is ENXIO
  EXPECT_EQ(console.write("x").os_errno, EPIPE);
}

TEST(ConsoleFd, ASocketIsWrittenWithoutWaitingAndStaysBlocking) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  ConsoleFd console(ours.get());
  EXPECT_EQ(console.kind(), ConsoleFd::Kind::kSocket);
  const std::string text(1 << 20, 'x');
  int error_number = 0;
  while (error_number == 0) error_number = console.write(text).os_errno;
  EXPECT_EQ(error_number, EAGAIN);
  EXPECT_FALSE(is_nonblocking(ours.get()));
  theirs.reset();
  EXPECT_EQ(console.write("x").os_errno, EPIPE);
}

TEST(ConsoleFd, ATerminalIsReopenedAndKnownAsOne) {
  const UniqueFd controller(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_TRUE(controller.is_open());
  ASSERT_EQ(grantpt(controller.get()), 0);
  ASSERT_EQ(unlockpt(controller.get()), 0);
  const UniqueFd terminal(open(ptsname(controller.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_TRUE(terminal.is_open());
  ConsoleFd console(terminal.get());
  EXPECT_TRUE(console.is_terminal());
  EXPECT_EQ(console.kind(), ConsoleFd::Kind::kReopened);
  EXPECT_FALSE(is_nonblocking(terminal.get()));
  EXPECT_EQ(console.write("hi\n").bytes, 3u);
  char text[8] = {};
  EXPECT_EQ(::read(controller.get(), text, sizeof text), 4);
  EXPECT_STREQ(text, "hi\r\n");
}

TEST(ConsoleFd, FilesAndDevicesAreJustWritten) {
  const muster::testing::TempDir directory;
  const std::string path = directory.path() + "/log";
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ConsoleFd console(file.get());
  EXPECT_EQ(console.kind(), ConsoleFd::Kind::kPlain);
  EXPECT_EQ(console.write("one").bytes, 3u);
  EXPECT_EQ(muster::testing::content_of(path), "one");

  const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(ConsoleFd(full.get()).write("x").os_errno, ENOSPC);
  EXPECT_EQ(ConsoleFd(-1).write("x").os_errno, EBADF);
}

TEST(ConsoleFd, KnowsWhenTwoDescriptorsAreOneObject) {
  TestPipe pipe;
  TestPipe other;
  const UniqueFd duplicate(fcntl(pipe.write_fd(), F_DUPFD_CLOEXEC, 0));
  EXPECT_TRUE(ConsoleFd(pipe.write_fd()).same_object(ConsoleFd(duplicate.get())));
  EXPECT_FALSE(ConsoleFd(pipe.write_fd()).same_object(ConsoleFd(other.write_fd())));
  EXPECT_FALSE(ConsoleFd(-1).same_object(ConsoleFd(-1)));
}

}  // namespace
}  // namespace muster
