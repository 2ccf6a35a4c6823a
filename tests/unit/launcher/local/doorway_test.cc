#include "launcher/local/doorway.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tests/support/fake_clock.h"

namespace muster::launcher {
namespace {

// An agent that listens, a doorway in front of it, and a client that goes through the doorway.
class DoorwayTest : public ::testing::Test {
 protected:
  void SetUp() override {
    loop_ = std::move(*Loop::create(clock_));
    agent_ = std::move(*network_.listen({"127.0.0.1", 0}));
    auto probe = network_.listen({"127.0.0.1", 0});
    outside_ = *network_.local_address(probe->get());
    probe->reset();
    const Address inside = *network_.local_address(agent_.get());
    door_ = std::move(*Doorway::make(*loop_, network_, outside_,
                                     [this, inside] { return network_.connect(inside); }));
    client_ = std::move(*network_.connect(outside_));
  }

  // Loopback delivers at once, but the kernel may need more than one turn to tell.
  void settle() {
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(loop_->run_until_idle());
  }
  static std::string received(const UniqueFd& fd) {
    char bytes[64];
    pollfd readable{fd.get(), POLLIN, 0};
    if (poll(&readable, 1, 0) == 0) return "nothing";
    const ssize_t got = recv(fd.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    return got < 0 ? "error" : got == 0 ? "end" : std::string(bytes, static_cast<size_t>(got));
  }
  static void say(const UniqueFd& fd, std::string_view text) {
    ASSERT_EQ(send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }

  muster::testing::FakeClock clock_;
  RealNetwork network_;
  std::unique_ptr<Loop> loop_;
  Address outside_;
  UniqueFd agent_;
  std::unique_ptr<Doorway> door_;
  UniqueFd client_;
};

TEST_F(DoorwayTest, BytesAndEndsPassBothWays) {
  settle();
  UniqueFd server = std::move(*network_.accept(agent_.get()));
  say(client_, "hello");
  settle();
  EXPECT_EQ(received(server), "hello");
  say(server, "you too");
  settle();
  EXPECT_EQ(received(client_), "you too");
  server.reset();
  settle();
  EXPECT_EQ(received(client_), "end");
}

TEST_F(DoorwayTest, AConnectionEndsWhereNoAgentRuns) {
  agent_.reset();
  say(client_, "hello");
  settle();
  EXPECT_EQ(received(client_), "end");
}

}  // namespace
}  // namespace muster::launcher
