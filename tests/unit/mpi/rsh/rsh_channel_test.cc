#include "mpi/rsh/rsh_channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

#include "tests/support/fake_clock.h"

namespace muster::mpi {
namespace {

TEST(RshChannel, WhoeverNeverGreetsIsGivenUpAtTheDeadline) {
  testing::FakeClock clock;
  const auto loop = std::move(*Loop::create(clock));
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
  const UniqueFd silent(ends[1]);
  std::string why;
  const auto channel = RshChannel::adopt(*loop, {UniqueFd(ends[0]), ""}, nullptr,
                                         {.on_open = [] {},
                                          .on_message = [](RshMessage) {},
                                          .on_closed =
                                              [&why](const Error& error) {
                                                EXPECT_EQ(error.code, Code::kTimeout);
                                                why = error.text;
                                              }});
  clock.advance(kRshOpenDeadline - std::chrono::milliseconds(1));
  ASSERT_TRUE(loop->run_until_idle());
  EXPECT_EQ(why, "");
  clock.advance(std::chrono::milliseconds(1));
  ASSERT_TRUE(loop->run_until_idle());
  EXPECT_EQ(why, channel->peer() + ": no answer within 10 s");
}

}  // namespace
}  // namespace muster::mpi
