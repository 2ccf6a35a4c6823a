// Answers to exchanges over a ControlLink whose peer reads when the test says so.
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/log.h"
#include "rendezvous/agreement/exchange.h"
#include "rendezvous/wire/control_link.h"
#include "rendezvous/wire/control_protocol.h"
#include "tests/support/fake_clock.h"
#include "tests/support/link_log.h"

namespace muster::rendezvous {
namespace {

constexpr int kSocketBytes = 64 << 10;  // some parts fit, and by far not all
constexpr size_t kParts = 12;
constexpr auto kStopEvent = "stop";

ExchangeAnswer answer_of(uint64_t sequence) {
  std::string bytes;
  for (size_t i = 0; i < kParts; ++i) bytes += std::string(kAnswerChunkBytes, static_cast<char>(i));
  return std::make_shared<const std::vector<Exchanged>>(
      in_chunks<Exchanged>(1, sequence, bytes, kAnswerChunkBytes));
}

// With a job secret, and without.
class ControlLinkAnswerTest : public ::testing::TestWithParam<bool> {
 protected:
  ControlLinkAnswerTest() {
    log::set_sink([](std::string_view) {});
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    EXPECT_EQ(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &kSocketBytes, sizeof kSocketBytes), 0);
    peer_ = UniqueFd(ends[1]);
    if (GetParam()) {
      tls_ = std::move(*TlsContext::create(*derive_tls_key("the secret of this job")));
      session_ = std::move(*tls_->session(TlsRole::kClient));
    }
    link_ = ControlLink::adopt(
        *loop_, {UniqueFd(ends[0]), session_ ? session_->take_output() : encode(Heartbeat{})},
        tls_.get(), log_.handlers());
    link_->begin();
    turn();
    if (!session_) return;
    (void)read();
    EXPECT_TRUE(session_->established());
    EXPECT_TRUE(session_->write(encode(Heartbeat{})));
    const std::string bytes = session_->take_output();
    EXPECT_EQ(send(peer_.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    turn();
  }
  ~ControlLinkAnswerTest() override { log::set_sink({}); }

  void turn() { ASSERT_TRUE(loop_->run_until_idle()); }
  // As LeaderHost does.
  void give(const ExchangeAnswer& answer) {
    link_->put_answer(answer);
    link_->flush();
    turn();
  }
  size_t unread() const {
    int bytes = 0;
    EXPECT_EQ(ioctl(peer_.get(), FIONREAD, &bytes), 0);
    return static_cast<size_t>(bytes);
  }
  // What is there now, decrypted. False: nothing is.
  bool read() {
    std::string bytes(1U << 20, '\0');
    const ssize_t count = recv(peer_.get(), bytes.data(), bytes.size(), 0);
    ended_ = ended_ || count == 0;
    if (count <= 0) return false;
    bytes.resize(static_cast<size_t>(count));
    seen_ += session_ ? session_->receive(bytes).value() : bytes;
    return true;
  }
  // All that comes as soon as the peer reads, in order.
  std::vector<Message> read_all() {
    while (read()) turn();
    std::vector<Message> messages;
    for (size_t at = 0; at < seen_.size(); at += sizes_.back()) {
      auto decoded = decode(std::span<const char>(seen_).subspan(at));
      EXPECT_TRUE(decoded && decoded->message) << "after " << messages.size();
      if (!decoded || !decoded->message) break;
      sizes_.push_back(decoded->consumed);
      messages.push_back(std::move(*decoded->message));
    }
    return messages;
  }
  static std::vector<Exchanged> parts_of(const std::vector<Message>& messages) {
    std::vector<Exchanged> parts;
    for (const Message& message : messages) {
      if (const auto* part = std::get_if<Exchanged>(&message)) parts.push_back(*part);
    }
    return parts;
  }
  static void expect_whole(const std::vector<Exchanged>& parts, const ExchangeAnswer& answer,
                           size_t begin = 0) {
    ASSERT_GE(parts.size(), begin + answer->size());
    for (size_t i = 0; i < answer->size(); ++i) {
      EXPECT_EQ(parts[begin + i].sequence, answer->at(i).sequence);
      EXPECT_EQ(parts[begin + i].offset, answer->at(i).offset);
      EXPECT_EQ(parts[begin + i].data, answer->at(i).data);
      EXPECT_EQ(parts[begin + i].last, answer->at(i).last);
    }
  }

  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  std::unique_ptr<TlsContext> tls_;
  std::unique_ptr<TlsSession> session_;  // the peer's
  UniqueFd peer_;
  std::string seen_;
  std::vector<size_t> sizes_;  // of its frames
  bool ended_ = false;         // it has seen the end
  testing::LinkLog log_;
  std::unique_ptr<ControlLink> link_;
};

// What is not in the socket, and not made yet either, comes after the stop.
TEST_P(ControlLinkAnswerTest, OnePartIsMadeWhileThePeerDoesNotRead) {
  const ExchangeAnswer answer = answer_of(0);
  give(answer);
  const size_t sent = unread();
  EXPECT_GT(sent, kAnswerChunkBytes);
  link_->send(Stop{1, 0, "now"});
  turn();
  EXPECT_EQ(unread(), sent);
  const auto messages = read_all();
  const auto stop = std::ranges::find_if(
      messages, [](const Message& message) { return name_of(message) == kStopEvent; });
  ASSERT_NE(stop, messages.end());
  size_t before = 0;
  for (auto i = stop - messages.begin(); i > 0; --i) before += sizes_[static_cast<size_t>(i) - 1];
  EXPECT_LE(before, sent + encode(answer->at(1)).size());
  EXPECT_EQ(messages.size(), kParts + 1);
  expect_whole(parts_of(messages), answer);
}

TEST_P(ControlLinkAnswerTest, WithItsLastPartAnAnswerIsLetGo) {
  const ExchangeAnswer answer = answer_of(0);
  give(answer);
  EXPECT_EQ(answer.use_count(), 2);
  EXPECT_EQ(read_all().size(), kParts);
  EXPECT_EQ(answer.use_count(), 1);
  const size_t before = seen_.size();
  link_->send(Ack{});
  turn();
  EXPECT_TRUE(read());
  EXPECT_EQ(seen_.substr(before), encode(Ack{}));
}

TEST_P(ControlLinkAnswerTest, AnswersFollowEachOther) {
  const ExchangeAnswer first = answer_of(0);
  const ExchangeAnswer second = answer_of(1);
  give(first);
  give(second);
  const auto parts = parts_of(read_all());
  EXPECT_EQ(parts.size(), 2 * kParts);
  expect_whole(parts, first);
  expect_whole(parts, second, kParts);
}

TEST_P(ControlLinkAnswerTest, BehindWhatIsUnsentNoPartIsMade) {
  const Message large = Goodbye{std::string(kMaxTextBytes, 'x')};
  for (int i = 0; i < 100; ++i) link_->put(large);
  const ExchangeAnswer answer = answer_of(0);
  give(answer);
  link_->send(Stop{1, 0, "now"});
  const auto messages = read_all();
  ASSERT_GT(messages.size(), 100U);
  EXPECT_EQ(name_of(messages[100]), kStopEvent);
  expect_whole(parts_of(messages), answer);
}

TEST_P(ControlLinkAnswerTest, CloseDropsWhatIsLeft) {
  const ExchangeAnswer answer = answer_of(0);
  give(answer);
  link_->close("joined again");
  EXPECT_EQ(answer.use_count(), 1);
  link_->put_answer(answer);  // too late
  EXPECT_EQ(answer.use_count(), 1);
  const auto messages = read_all();  // whole ones
  EXPECT_GT(messages.size(), 0U);
  EXPECT_LT(messages.size(), kParts);
  EXPECT_TRUE(ended_);
}

TEST_P(ControlLinkAnswerTest, APeerThatIsGoneGetsNoMore) {
  const ExchangeAnswer answer = answer_of(0);
  peer_.reset();
  link_->put_answer(answer);
  link_->flush();
  EXPECT_EQ(answer.use_count(), 1);
}

TEST_P(ControlLinkAnswerTest, AnswersThatNobodyReadsCountForTheLimit) {
  const ExchangeAnswer answer = answer_of(0);
  const size_t fit = kMaxLinkQueueBytes / (kParts * kAnswerChunkBytes);
  for (size_t i = 0; i < fit; ++i) give(answer);
  EXPECT_EQ(log_.events.back(), "heartbeat 0");
  for (size_t i = 0; i < 2; ++i) link_->put_answer(answer);
  EXPECT_EQ(log_.events.back(), "heartbeat 0");
  turn();
  EXPECT_EQ(log_.error.code, Code::kLimit);
  EXPECT_NE(log_.error.text.find("33554432"), std::string::npos) << log_.error.text;
}

// They hold memory, too, and a peer may ask for any number of them.
TEST_P(ControlLinkAnswerTest, SoDoThoseWithoutData) {
  const auto answer = std::make_shared<const std::vector<Exchanged>>(
      std::vector<Exchanged>{{1, 0, 0, "", true, "too much"}});
  give(answer_of(0));
  for (size_t i = 0; i < kMaxLinkQueueBytes / sizeof(Exchanged); ++i) link_->put_answer(answer);
  turn();
  EXPECT_EQ(log_.error.code, Code::kLimit);
}

INSTANTIATE_TEST_SUITE_P(WithASecretAndWithout, ControlLinkAnswerTest, ::testing::Bool());

}  // namespace
}  // namespace muster::rendezvous
