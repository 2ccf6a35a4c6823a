#include "rendezvous/store/store_server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/log.h"
#include "tests/support/fake_clock.h"
#include "tests/support/store_wire.h"

namespace muster::rendezvous {
namespace {

namespace wire = muster::testing::wire;

class StoreServerTest : public ::testing::Test {
 protected:
  static constexpr size_t kLimit = 8 << 20;

  StoreServerTest() {
    log::set_sink([this](std::string_view line) { log_ += line; });
  }
  ~StoreServerTest() override { log::set_sink({}); }

  // A socket pair: one end is the server's, the other is returned.
  UniqueFd connect(std::string_view first_bytes = "", int type = SOCK_STREAM) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    server_.adopt(UniqueFd(ends[1]), first_bytes);
    return UniqueFd(ends[0]);
  }
  UniqueFd greet() { return connect(wire::kHello); }

  void turn() { ASSERT_TRUE(loop_->run_until_idle()); }

  void write(const UniqueFd& client, std::string_view bytes) {
    ASSERT_EQ(send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    turn();
  }
  // As much as the kernel takes; returns how much that was.
  size_t write_some(const UniqueFd& client, std::string_view bytes) {
    const ssize_t sent = send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    turn();
    return sent < 0 ? 0 : static_cast<size_t>(sent);
  }
  // One receive: everything there is for a stream, one message for a packet socket.
  static std::string read_once(const UniqueFd& client) {
    std::string buffer(1 << 20, '\0');
    const ssize_t got = recv(client.get(), buffer.data(), buffer.size(), 0);
    buffer.resize(got < 0 ? 0 : static_cast<size_t>(got));
    return buffer;
  }
  std::string read_all(const UniqueFd& client) {
    std::string all;
    for (;;) {
      const std::string some = read_once(client);
      if (some.empty()) return all;
      all += some;
      turn();
    }
  }
  std::string ask(const UniqueFd& client, std::string_view bytes) {
    write(client, bytes);
    return read_all(client);
  }
  static bool is_closed(const UniqueFd& client) {
    char byte = 0;
    const ssize_t got = recv(client.get(), &byte, 1, 0);
    return got == 0 || (got < 0 && errno == ECONNRESET);
  }

  std::string log_;
  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  StoreServer server_{*loop_, kLimit};
};

// What PyTorch 2.6 says and is told, from a capture: PING, ADD init/, SET, WAIT, GET, ADD,
// CANCEL_WAIT.
const std::string kConversation = wire::kHello + wire::ping(0x2974) + wire::add("init/", 1) +
                                  wire::set("/k", "v") + wire::wait_for({"/k"}) + wire::get("/k") +
                                  wire::add("/n", 5) + wire::add("/n", -7) +
                                  wire::wait_for({"/never"}) + wire::cancel_wait();
const std::string kAnswers = wire::u32(0x2974) + wire::i64(1) + wire::kStop + wire::text("v") +
                             wire::i64(5) + wire::i64(-2) + wire::kCanceled;

TEST_F(StoreServerTest, ServesAWholeConversationInOnePiece) {
  const auto client = connect();
  EXPECT_EQ(ask(client, kConversation), kAnswers);
  EXPECT_EQ(server_.counters().requests, 9U);
}

TEST_F(StoreServerTest, ServesTheSameConversationByteByByte) {
  const auto client = connect();
  std::string answers;
  for (const char byte : kConversation) answers += ask(client, {&byte, 1});
  EXPECT_EQ(answers, kAnswers);
}

TEST_F(StoreServerTest, ServesTheSameConversationWhenItArrivedWithTheConnection) {
  const auto client = connect(kConversation);
  turn();
  EXPECT_EQ(read_all(client), kAnswers);
}

TEST_F(StoreServerTest, ServesALegacyClientByteByByte) {
  const auto client = connect();
  const std::string requests = wire::byte(3) + wire::text("init/") + wire::i64(1) + wire::byte(0) +
                               wire::text("/k") + wire::text("v") + wire::byte(5) +
                               wire::list({"/k"}) + wire::byte(2) + wire::text("/k") +
                               wire::byte(8) + wire::text("/k") + wire::byte(6);
  std::string answers;
  for (const char byte : requests) answers += ask(client, {&byte, 1});
  EXPECT_EQ(answers, wire::i64(1) + wire::kStop + wire::text("v") + wire::i64(1) + wire::i64(1));
}

TEST_F(StoreServerTest, BothDialectsShareOneStore) {
  const auto current = greet();
  const auto legacy = connect();
  write(current, wire::set("/k", "from 2.x"));
  EXPECT_EQ(ask(legacy, wire::byte(2) + wire::text("/k")), wire::text("from 2.x"));
}

TEST_F(StoreServerTest, AnswersEverythingOneReadBroughtWithOneSend) {
  const auto client = connect(wire::kHello, SOCK_SEQPACKET);  // each send is one message
  write(client, wire::add("n", 1) + wire::set("k", "v") + wire::get("k") + wire::num_keys());
  EXPECT_EQ(read_once(client), wire::i64(1) + wire::text("v") + wire::i64(2));
}

TEST_F(StoreServerTest, AnIdleConnectionIsLeftAlone) {
  const auto idle = connect();
  clock_.advance(std::chrono::hours(24));
  turn();
  EXPECT_FALSE(is_closed(idle));
  EXPECT_EQ(log_, "");
}

TEST_F(StoreServerTest, WakesAWaiterOnAnotherConnection) {
  const auto waiter = greet();
  const auto writer = greet();
  EXPECT_EQ(ask(waiter, wire::wait_for({"k"})), "");
  write(writer, wire::set("k", "v"));
  EXPECT_EQ(read_all(waiter), wire::kStop);
  EXPECT_EQ(server_.counters().waiting_clients, 0U);
}

TEST_F(StoreServerTest, AnswersOfTheWriterComeBeforeTheWakeOfItsOwnWait) {
  const auto client = greet();
  EXPECT_EQ(ask(client, wire::wait_for({"n"}) + wire::add("n", 3)), wire::i64(3) + wire::kStop);
}

TEST_F(StoreServerTest, AWaiterThatHungUpIsForgotten) {
  auto waiter = greet();
  write(waiter, wire::wait_for({"k"}));
  waiter.reset();
  turn();
  EXPECT_EQ(server_.counters().waiting_clients, 0U);
  const auto successor = greet();  // gets the freed place
  const auto writer = greet();
  write(writer, wire::set("k", "v"));
  EXPECT_EQ(read_all(successor), "");
}

TEST_F(StoreServerTest, WhatAClientSetBeforeItHungUpIsKept) {
  auto client = greet();
  const std::string bytes = wire::set("last", "words");
  ASSERT_EQ(send(client.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  client.reset();
  turn();
  EXPECT_EQ(ask(greet(), wire::get("last")), wire::text("words"));
}

TEST_F(StoreServerTest, APartialMultiSetChangesNothing) {
  auto client = greet();
  const std::string request = wire::multi_set({"a", "1", "b", "2"});
  write(client, request.substr(0, request.size() - 1));
  EXPECT_EQ(ask(greet(), wire::num_keys()), wire::i64(0));
  client.reset();
  turn();
  EXPECT_EQ(ask(greet(), wire::num_keys()), wire::i64(0));
  EXPECT_EQ(server_.counters().memory_bytes, 0U);
}

TEST_F(StoreServerTest, AWrongMagicClosesThatConnectionOnly) {
  const auto good = greet();
  const auto bad = connect();
  write(bad, wire::byte(0) + "HELO");
  EXPECT_TRUE(is_closed(bad));
  EXPECT_EQ(ask(good, wire::ping(1)), wire::u32(1));
  EXPECT_NE(log_.find("store.client_dropped reason=\"validation magic"), std::string::npos);
  EXPECT_EQ(server_.counters().dropped, 1U);
}

TEST_F(StoreServerTest, ASecondValidateClosesTheConnection) {
  const auto client = greet();
  write(client, wire::kHello);
  EXPECT_TRUE(is_closed(client));
}

TEST_F(StoreServerTest, AnUnknownOpIsAnsweredUpToThereAndThenClosed) {
  const auto client = greet();
  EXPECT_EQ(ask(client, wire::ping(1)), wire::u32(1));
  write(client, wire::byte(77));
  EXPECT_TRUE(is_closed(client));
  EXPECT_NE(log_.find("op code 77 is unknown"), std::string::npos);
}

TEST_F(StoreServerTest, ABrokenLimitIsLoggedWithItsNameAndValue) {
  const auto client = greet();
  write(client, wire::get(std::string(8193, 'k')));
  EXPECT_TRUE(is_closed(client));
  EXPECT_NE(log_.find("key bytes 8193 over the limit of 8192"), std::string::npos) << log_;
  EXPECT_NE(log_.find(" peer="), std::string::npos);
}

TEST_F(StoreServerTest, AHangUpIsNoEventWorthALine) {
  auto client = greet();
  client.reset();
  turn();
  EXPECT_EQ(server_.counters().connections, 0U);
  EXPECT_EQ(log_, "");
}

TEST_F(StoreServerTest, ValuesOfManyMegabytesPassInPieces) {
  const auto writer = greet();
  const std::string large(3 << 20, 'x');
  std::string request = wire::set("k", large);
  for (size_t at = 0; at < request.size();) {
    const size_t sent = write_some(writer, std::string_view(request).substr(at));
    ASSERT_GT(sent, 0U);
    at += sent;
  }
  const auto reader = greet();
  EXPECT_EQ(ask(reader, wire::get("k")), wire::text(large));
}

TEST_F(StoreServerTest, AnUnfinishedRequestThatOutgrowsTheMemoryLimitIsDropped) {
  const auto client = greet();
  write(client, wire::byte(1) + wire::text("k") + wire::u64(kMaxValueBytes));
  const std::string chunk(100'000, 'x');
  size_t sent_bytes = 0;
  while (sent_bytes < kLimit + chunk.size()) {
    const size_t sent = write_some(client, chunk);
    if (sent == 0) break;
    sent_bytes += sent;
  }
  EXPECT_TRUE(is_closed(client));
  EXPECT_NE(log_.find("the store's memory limit is 8388608"), std::string::npos) << log_;
  EXPECT_EQ(server_.counters().memory_bytes, 0U);
}

class SlowReaderTest : public StoreServerTest {
 protected:
  static constexpr size_t kValueBytes = 10'000;  // small enough to be copied into the answer
  static constexpr size_t kGets = 300;           // 3 MB of answers

  // Writes all requests as fast as the server takes them, never reading.
  size_t flood(const UniqueFd& client, std::string_view requests) {
    size_t at = 0;
    while (at < requests.size()) {
      const size_t sent = write_some(client, requests.substr(at));
      if (sent == 0) break;
      at += sent;
    }
    return at;
  }
  std::string many_gets() const {
    std::string requests;
    for (size_t i = 0; i < kGets; ++i) requests += wire::get("k");
    return requests;
  }
};

TEST_F(SlowReaderTest, IsHeldBackAtABoundAndOthersAreServed) {
  const auto slow = greet();
  const auto other = greet();
  write(other, wire::set("k", std::string(kValueBytes, 'v')));
  flood(slow, many_gets());
  EXPECT_LT(server_.counters().memory_bytes, kMaxPendingReplyBytes + 200'000);
  EXPECT_LT(server_.counters().requests, kGets);
  EXPECT_EQ(ask(other, wire::ping(5)), wire::u32(5));
}

TEST_F(SlowReaderTest, GetsEveryAnswerOnceItReads) {
  const auto slow = greet();
  write(slow, wire::set("k", std::string(kValueBytes, 'v')));
  const std::string requests = many_gets();
  std::string answers;
  for (size_t at = 0; at < requests.size();) {
    at += flood(slow, std::string_view(requests).substr(at));
    answers += read_all(slow);
  }
  answers += read_all(slow);
  ASSERT_EQ(answers.size(), kGets * (8 + kValueBytes));
  EXPECT_EQ(answers.substr(answers.size() - 8 - kValueBytes),
            wire::text(std::string(kValueBytes, 'v')));
  EXPECT_LT(server_.counters().memory_bytes, kValueBytes + 5000);
}

TEST_F(SlowReaderTest, ThatHangsUpIsRemoved) {
  auto slow = greet();
  write(slow, wire::set("k", std::string(kValueBytes, 'v')));
  flood(slow, many_gets());
  slow.reset();
  turn();
  EXPECT_EQ(server_.counters().connections, 0U);
  EXPECT_LT(server_.counters().memory_bytes, kValueBytes + 5000);
}

TEST_F(SlowReaderTest, ManyOfThemStayBelowTheMemoryLimitTogether) {
  std::vector<UniqueFd> slow;
  for (int i = 0; i < 12; ++i) slow.push_back(greet());
  write(slow[0], wire::set("k", std::string(kValueBytes, 'v')));
  for (const UniqueFd& client : slow) flood(client, many_gets());
  // Over the limit each still has one answer and one read of requests.
  EXPECT_LT(server_.counters().memory_bytes, kLimit + slow.size() * (kReadBytesPerTurn + 20'000));
  EXPECT_EQ(server_.counters().dropped, 0U);
  for (const UniqueFd& client : slow) EXPECT_GT(read_all(client).size(), 8 + kValueBytes);
  EXPECT_LT(server_.counters().memory_bytes, kValueBytes + 5000);
}

TEST_F(StoreServerTest, ClearWipesTheDataAndClosesEveryConnection) {
  const auto waiter = greet();
  const auto writer = greet();
  const auto half = greet();
  write(writer, wire::set("k", "old attempt"));
  write(waiter, wire::wait_for({"never"}));
  write(half, wire::set("half", "request").substr(0, 10));
  server_.clear();
  for (const UniqueFd* client : {&waiter, &writer, &half}) EXPECT_TRUE(is_closed(*client));
  EXPECT_EQ(server_.counters().memory_bytes, 0U);
  EXPECT_EQ(server_.counters().connections, 0U);
  turn();
  EXPECT_EQ(ask(greet(), wire::get("k") + wire::num_keys()), wire::text("") + wire::i64(0));
}

TEST_F(StoreServerTest, CountsConnectionsKeysWaitersAndRequests) {
  const auto a = greet();
  const auto b = greet();
  write(a, wire::set("k", "v") + wire::add("n", 1));
  write(b, wire::wait_for({"x"}));
  const auto counters = server_.counters();
  EXPECT_EQ(counters.connections, 2U);
  EXPECT_EQ(counters.keys, 2U);
  EXPECT_EQ(counters.waiting_clients, 1U);
  EXPECT_EQ(counters.requests, 3U);
  EXPECT_GT(counters.memory_bytes, 0U);
}

TEST_F(StoreServerTest, ACrowdOfWaitersIsReleasedAtOnce) {
  std::vector<UniqueFd> ranks;
  for (int i = 0; i < 200; ++i) {
    ranks.push_back(greet());
    write(ranks.back(), wire::add("arrived", 1) + wire::wait_for({"go"}));
    read_all(ranks.back());
  }
  write(ranks[0], wire::set("go", "1"));
  for (const UniqueFd& rank : ranks) EXPECT_EQ(read_once(rank), wire::kStop);
}

}  // namespace
}  // namespace muster::rendezvous
