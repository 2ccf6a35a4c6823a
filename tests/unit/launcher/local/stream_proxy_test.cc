#include "launcher/local/stream_proxy.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tests/support/fake_clock.h"

namespace muster::launcher {
namespace {

// A program that listens, a proxy in front of it, and a client that goes through the proxy.
class StreamProxyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto loop = Loop::create(clock_);
    ASSERT_TRUE(loop);
    loop_ = std::move(*loop);
    auto listener = network_.listen({"127.0.0.1", 0});
    auto probe = network_.listen({"127.0.0.1", 0});
    ASSERT_TRUE(listener && probe);
    from_ = *network_.local_address(probe->get());
    probe->reset();
    proxy_.emplace(*loop_, network_, from_, *network_.local_address(listener->get()));
    program_ = std::move(*listener);
  }

  // Loopback delivers at once, but the kernel may need more than one turn to tell.
  void settle() {
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(loop_->run_until_idle());
  }
  static std::string received(int fd) {
    char bytes[64];
    pollfd readable{fd, POLLIN, 0};
    if (poll(&readable, 1, 0) == 0) return "nothing";
    const ssize_t got = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    return got < 0 ? "error" : got == 0 ? "end" : std::string(bytes, static_cast<size_t>(got));
  }
  static void say(const UniqueFd& fd, std::string_view text) {
    ASSERT_EQ(send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  void open_both() {
    ASSERT_TRUE(proxy_->set_alive(true));
    auto client = network_.connect(from_);
    ASSERT_TRUE(client);
    client_ = std::move(*client);
    settle();
    auto server = network_.accept(program_.get());
    ASSERT_TRUE(server);
    server_ = std::move(*server);
  }
  std::string connect_result() {
    auto client = network_.connect(from_);
    if (!client) return "refused";
    client_ = std::move(*client);
    return socket_error(client_.get(), "") ? "taken" : "refused";
  }

  muster::testing::FakeClock clock_;
  RealNetwork network_;
  std::unique_ptr<Loop> loop_;
  Address from_;
  UniqueFd program_;
  std::optional<StreamProxy> proxy_;
  UniqueFd client_;
  UniqueFd server_;
};

TEST_F(StreamProxyTest, BytesAndEndsPassBothWays) {
  open_both();
  say(client_, "hello");
  settle();
  EXPECT_EQ(received(server_.get()), "hello");
  say(server_, "you too");
  settle();
  EXPECT_EQ(received(client_.get()), "you too");
  server_.reset();
  settle();
  EXPECT_EQ(received(client_.get()), "end");
}

TEST_F(StreamProxyTest, ACutIsSilentAndWhatWaitedArrivesAfterIt) {
  open_both();
  ASSERT_TRUE(proxy_->set_cut(true));
  say(client_, "hello");
  settle();
  EXPECT_EQ(received(server_.get()), "nothing");
  EXPECT_EQ(received(client_.get()), "nothing");
  ASSERT_TRUE(proxy_->set_cut(false));
  settle();
  EXPECT_EQ(received(server_.get()), "hello");
}

TEST_F(StreamProxyTest, BehindACutNobodyHearsOfAnEnd) {
  open_both();
  ASSERT_TRUE(proxy_->set_cut(true));
  server_.reset();
  settle();
  EXPECT_EQ(received(client_.get()), "nothing");
  ASSERT_TRUE(proxy_->set_cut(false));
  settle();
  EXPECT_EQ(received(client_.get()), "end");
}

TEST_F(StreamProxyTest, WithoutAProgramWhoDialsIsRefusedUnlessTheWayIsCut) {
  EXPECT_EQ(connect_result(), "refused");
  ASSERT_TRUE(proxy_->set_cut(true));
  EXPECT_EQ(connect_result(), "taken");
  settle();
  EXPECT_EQ(received(client_.get()), "nothing");
  ASSERT_TRUE(proxy_->set_cut(false));
  EXPECT_EQ(connect_result(), "refused");
}

}  // namespace
}  // namespace muster::launcher
