#include "base/socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace muster {
namespace {

class SendSomeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    sender_ = UniqueFd(ends[0]);
    receiver_ = UniqueFd(ends[1]);
  }
  UniqueFd sender_, receiver_;
};

TEST_F(SendSomeTest, WhatWasSentIsRemoved) {
  std::string bytes = "hello";
  EXPECT_TRUE(send_some(sender_.get(), bytes));
  EXPECT_EQ(bytes, "");
  std::array<char, 8> got{};
  EXPECT_EQ(recv(receiver_.get(), got.data(), got.size(), 0), 5);
}

// Also where the descriptor itself would block.
TEST_F(SendSomeTest, WhatDoesNotFitWaitsAndIsNoError) {
  const std::string all(size_t{64} << 20, 'x');
  std::string bytes = all;
  EXPECT_TRUE(send_some(sender_.get(), bytes));
  EXPECT_FALSE(bytes.empty());
  EXPECT_LT(bytes.size(), all.size());
  const size_t left = bytes.size();
  EXPECT_TRUE(send_some(sender_.get(), bytes));
  EXPECT_LE(bytes.size(), left);
}

TEST_F(SendSomeTest, WithoutAReaderItIsAnErrorAndNoSignal) {
  receiver_.reset();
  std::string bytes = "hello";
  const Status sent = send_some(sender_.get(), bytes);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().os_errno, EPIPE);
  EXPECT_EQ(bytes, "hello");
  std::string nothing;
  EXPECT_TRUE(send_some(sender_.get(), nothing));
}

}  // namespace
}  // namespace muster
