#include "rendezvous/port/job_port.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <vector>

#include "base/log.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_network.h"
#include "tests/support/store_wire.h"

namespace muster::rendezvous {
namespace {

namespace wire = muster::testing::wire;
using namespace std::string_literals;

struct DetectionCase {
  std::string bytes;
  Protocol protocol;
};

const std::vector<DetectionCase> kOpenings = {
    {wire::kHello, Protocol::kStoreCurrent},
    {wire::byte(3) + wire::text("init/") + wire::i64(1), Protocol::kStoreLegacy},
    {wire::byte(0) + wire::text("/k") + wire::text("v"), Protocol::kStoreLegacy},
    {wire::byte(6), Protocol::kStoreLegacy},
    {"\x99\xff\0\0"s, Protocol::kXgboost},
    {"GET /scope/key HTTP/1.1\r\n", Protocol::kHttp},
    {"PUT /global/0 HTTP/1.1\r\n", Protocol::kHttp},
    {"DELETE /x HTTP/1.1\r\n", Protocol::kHttp},
    {"OPTIONS * HTTP/1.1\r\n", Protocol::kHttp},
    {"\0\0\0\x2a{\"version\""s, Protocol::kControl},
    {"\0\x10\0\0{\"version\""s, Protocol::kControl},
    {"\x16\x03\x01\x02"s, Protocol::kTls},
    {"MRSH1C\r\n", Protocol::kCommands},
    {"MRST", Protocol::kUnknown},
    {"\0\x10\0\x01{a frame too long"s, Protocol::kUnknown},
    {"\0\0\0\x2a[1]"s, Protocol::kUnknown},
    {"\0\xCE\xF7\x85\x3D"s, Protocol::kUnknown},
    {"\x99\xff\0\x01"s, Protocol::kUnknown},
    {"\x16\x02"s, Protocol::kUnknown},
    {"SSH-2.0-OpenSSH", Protocol::kUnknown},
    {"get / HTTP/1.1", Protocol::kUnknown},
    {"\x09", Protocol::kUnknown},
};

TEST(DetectProtocol, TellsProtocolsByTheirFirstBytes) {
  for (const auto& [bytes, protocol] : kOpenings) {
    EXPECT_EQ(to_string(detect_protocol(bytes)), to_string(protocol)) << bytes;
  }
}

TEST(DetectProtocol, MoreBytesNeverChangeADecision) {
  for (const auto& [bytes, protocol] : kOpenings) {
    for (size_t length = 0; length <= bytes.size(); ++length) {
      const auto so_far = detect_protocol(bytes.substr(0, length));
      EXPECT_TRUE(so_far == protocol || so_far == Protocol::kUndecided) << bytes;
      if (length < kMaxUndecidedBytes) continue;
      EXPECT_EQ(so_far, protocol) << bytes;
    }
  }
}

class JobPortTest : public ::testing::Test {
 protected:
  JobPortTest() {
    log::set_sink([this](std::string_view line) { log_ += line; });
    for (const Protocol protocol : {Protocol::kStoreCurrent, Protocol::kHttp}) {
      port_.serve(protocol, [this, protocol](Arrival arrival) {
        served_.push_back(
            {protocol, std::move(arrival.connection), std::move(arrival.first_bytes)});
      });
    }
  }
  ~JobPortTest() override { log::set_sink({}); }

  UniqueFd dial() {
    auto connection = network_.connect(kAddress);
    EXPECT_TRUE(connection);
    return std::move(*connection);
  }
  void turn() { ASSERT_TRUE(loop_->run_until_idle()); }
  void write(const UniqueFd& client, std::string_view bytes) {
    ASSERT_EQ(send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    turn();
  }
  static bool is_closed(const UniqueFd& client) {
    char byte = 0;
    const ssize_t got = recv(client.get(), &byte, 1, 0);
    return got == 0 || (got < 0 && errno == ECONNRESET);
  }
  size_t lines_with(std::string_view text) const {
    size_t count = 0;
    for (size_t at = log_.find(text); at != std::string::npos; at = log_.find(text, at + 1)) {
      ++count;
    }
    return count;
  }

  struct Served {
    Protocol protocol;
    UniqueFd connection;
    std::string first_bytes;
  };
  const Address kAddress{"127.0.0.1", 29400};
  std::string log_;
  testing::FakeClock clock_;
  testing::FakeNetwork network_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  std::vector<Served> served_;
  JobPort port_{*loop_, network_};
};

TEST_F(JobPortTest, HandsAConnectionOverWithWhatWasReadFromIt) {
  ASSERT_TRUE(port_.listen(kAddress));
  const auto client = dial();
  write(client, wire::kHello + wire::ping(1));
  ASSERT_EQ(served_.size(), 1U);
  EXPECT_EQ(served_[0].protocol, Protocol::kStoreCurrent);
  EXPECT_EQ(served_[0].first_bytes, wire::kHello + wire::ping(1));
  write(client, "later");
  char later[5] = {};
  EXPECT_EQ(recv(served_[0].connection.get(), later, sizeof later, 0), 5);
}

TEST_F(JobPortTest, WaitsForADecidingByteThatComesLate) {
  ASSERT_TRUE(port_.listen(kAddress));
  const auto client = dial();
  turn();
  for (const char byte : wire::kHello) {
    EXPECT_TRUE(served_.empty());
    EXPECT_EQ(port_.undecided(), 1U);
    write(client, {&byte, 1});
  }
  ASSERT_EQ(served_.size(), 1U);
  EXPECT_EQ(served_[0].first_bytes, wire::kHello);
  EXPECT_EQ(port_.undecided(), 0U);
}

TEST_F(JobPortTest, AConnectionThatSaysNothingStaysOpenSilently) {
  ASSERT_TRUE(port_.listen(kAddress));
  const auto idle = dial();
  turn();
  clock_.advance(std::chrono::hours(24));
  turn();
  EXPECT_FALSE(is_closed(idle));
  EXPECT_EQ(port_.undecided(), 1U);
  EXPECT_EQ(log_, "");
}

TEST_F(JobPortTest, AConnectionThatComesAndGoesLeavesNothingBehind) {
  ASSERT_TRUE(port_.listen(kAddress));
  (void)dial();  // closed at once, as a liveness probe does
  turn();
  auto client = dial();
  turn();
  client.reset();
  turn();
  EXPECT_EQ(port_.undecided(), 0U);
  EXPECT_EQ(log_, "");
}

TEST_F(JobPortTest, AnUnknownProtocolIsClosedWithOneLine) {
  ASSERT_TRUE(port_.listen(kAddress));
  const auto client = dial();
  write(client, "SSH-2.0-OpenSSH_9.2\r\n");
  EXPECT_TRUE(is_closed(client));
  EXPECT_EQ(lines_with("port.client_dropped"), 1U);
  EXPECT_NE(log_.find("first_bytes=SSH-2.0-OpenSSH_"), std::string::npos) << log_;
}

TEST_F(JobPortTest, AKnownProtocolThatNobodyServesIsClosedWithOneLine) {
  ASSERT_TRUE(port_.listen(kAddress));
  const auto client = dial();
  write(client, "\x99\xff\0\0"s);
  EXPECT_TRUE(is_closed(client));
  EXPECT_EQ(lines_with("XGBoost tracker is not served here"), 1U);
}

TEST_F(JobPortTest, PortZeroAnswersTheRealPort) {
  const auto bound = port_.listen({"127.0.0.1", 0});
  ASSERT_TRUE(bound);
  EXPECT_EQ(bound->port, 40000);
}

TEST_F(JobPortTest, ATakenPortIsAnErrorThatNamesIt) {
  ASSERT_TRUE(port_.listen(kAddress));
  JobPort second(*loop_, network_);
  const auto bound = second.listen(kAddress);
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().text, "bind 127.0.0.1:29400: Address already in use");
}

TEST_F(JobPortTest, WithoutDescriptorsItPausesSaysSoOnceAndResumes) {
  ASSERT_TRUE(port_.listen(kAddress));
  network_.fail_accepts(EMFILE, 3);
  const auto client = dial();
  write(client, wire::kHello);
  EXPECT_EQ(network_.accept_calls(), 1);  // not in a busy loop
  for (int retry = 2; retry <= 3; ++retry) {
    clock_.advance(kAcceptPause);
    turn();
    EXPECT_EQ(network_.accept_calls(), retry);
  }
  EXPECT_TRUE(served_.empty());
  EXPECT_EQ(lines_with("port.accept_paused"), 1U);
  clock_.advance(kAcceptPause);
  turn();
  EXPECT_EQ(served_.size(), 1U);
  EXPECT_EQ(lines_with("port.accept_resumed"), 1U);
}

TEST_F(JobPortTest, AConnectionAbortedBeforeItWasAcceptedIsSkipped) {
  ASSERT_TRUE(port_.listen(kAddress));
  network_.fail_accepts(ECONNABORTED, 1);
  const auto client = dial();
  write(client, wire::kHello);
  EXPECT_EQ(served_.size(), 1U);
  EXPECT_EQ(log_, "");
}

TEST_F(JobPortTest, AWholeWorldArrivingAtOnceIsAccepted) {
  ASSERT_TRUE(port_.listen(kAddress));
  std::vector<UniqueFd> world;
  for (int i = 0; i < 3 * kAcceptsPerTurn + 1; ++i) {
    world.push_back(dial());
    ASSERT_EQ(send(world.back().get(), wire::kHello.data(), 5, 0), 5);
  }
  turn();
  EXPECT_EQ(served_.size(), world.size());
}

TEST_F(JobPortTest, CloseEndsListeningAndUndecidedConnections) {
  ASSERT_TRUE(port_.listen(kAddress));
  const auto idle = dial();
  turn();
  port_.close();
  turn();
  EXPECT_TRUE(is_closed(idle));
  EXPECT_EQ(network_.connect(kAddress).error().os_errno, ECONNREFUSED);
  EXPECT_TRUE(port_.listen(kAddress));
}

TEST_F(JobPortTest, AHandlerMayCloseThePort) {
  port_.serve(Protocol::kHttp, [this](const Arrival&) { port_.close(); });
  ASSERT_TRUE(port_.listen(kAddress));
  const auto first = dial();
  const auto second = dial();
  ASSERT_EQ(send(first.get(), "GET / ", 6, 0), 6);
  ASSERT_EQ(send(second.get(), "GET / ", 6, 0), 6);
  turn();
  EXPECT_TRUE(is_closed(first));
  EXPECT_EQ(port_.undecided(), 0U);
}

// Case of a port whose strangers took the descriptors that the job's restart needed.
TEST_F(JobPortTest, OfThoseWhoSayNothingTheOldestIsDropped) {
  ASSERT_TRUE(port_.listen(kAddress));
  std::vector<UniqueFd> silent;
  for (size_t i = 0; i <= strangers_allowed(); ++i) {
    silent.push_back(dial());
    turn();
  }
  EXPECT_EQ(port_.undecided(), strangers_allowed());
  EXPECT_TRUE(is_closed(silent.front()));
  EXPECT_EQ(lines_with("port.client_dropped"), 1U);
  write(silent.back(), wire::kHello);
  EXPECT_EQ(served_.size(), 1U);
}

TEST_F(JobPortTest, ManyStrangersMakeFewLines) {
  ASSERT_TRUE(port_.listen(kAddress));
  for (int i = 0; i < 100; ++i) write(dial(), "nonsense");
  EXPECT_EQ(lines_with("port.client_dropped"), static_cast<size_t>(kMaxLines));
  clock_.advance(kLineWindow);
  write(dial(), "nonsense");
  EXPECT_EQ(lines_with("untold=90"), 1U);
}

TEST(JobPort, ServesRealSocketsThatNoticeDeadPeersAndSendAtOnce) {
  SystemClock clock;
  auto loop = std::move(*Loop::create(clock));
  RealNetwork network;
  JobPort port(*loop, network);
  UniqueFd served;
  port.serve(Protocol::kStoreCurrent, [&served, &loop](Arrival arrival) {
    served = std::move(arrival.connection);
    loop->stop();
  });
  const auto bound = port.listen({"127.0.0.1", 0});
  ASSERT_TRUE(bound);
  const auto client = network.connect(*bound);
  ASSERT_TRUE(client);
  auto greeter = loop->watch(client->get(), Interest::kWrite, [&client](Ready) {
    (void)send(client->get(), wire::kHello.data(), wire::kHello.size(), MSG_NOSIGNAL);
  });
  ASSERT_TRUE(greeter);
  ASSERT_TRUE(loop->run());
  int keep_alive = 0;
  socklen_t length = sizeof keep_alive;
  ASSERT_EQ(getsockopt(served.get(), SOL_SOCKET, SO_KEEPALIVE, &keep_alive, &length), 0);
  EXPECT_EQ(keep_alive, 1);
  int no_delay = 0;
  ASSERT_EQ(getsockopt(served.get(), IPPROTO_TCP, TCP_NODELAY, &no_delay, &length), 0);
  EXPECT_EQ(no_delay, 1);
}

}  // namespace
}  // namespace muster::rendezvous
