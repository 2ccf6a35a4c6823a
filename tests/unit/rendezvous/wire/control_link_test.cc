#include "rendezvous/wire/control_link.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "rendezvous/port/job_port.h"
#include "rendezvous/wire/control_protocol.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_network.h"
#include "tests/support/link_log.h"
#include "tests/support/silent_network.h"

namespace muster::rendezvous {
namespace {

using namespace std::string_literals;
using muster::testing::LinkLog;
using Events = std::vector<std::string>;

const Address kAddress{"10.0.0.7", 29400};
const Message kBeat = Heartbeat{7, 3, -1};

std::unique_ptr<TlsContext> context_of(std::string_view secret) {
  auto key = derive_tls_key(secret);
  EXPECT_TRUE(key);
  auto context = TlsContext::create(*key);
  EXPECT_TRUE(context);
  return std::move(*context);
}

// A job port whose control connections become links, as an agent has it.
class ControlLinkTest : public ::testing::Test {
 protected:
  ControlLinkTest() {
    log::set_sink([this](std::string_view line) { log_ += line; });
    for (const Protocol protocol : {Protocol::kControl, Protocol::kTls}) {
      port_.serve(protocol, [this](Arrival arrival) {
        accepted_ =
            ControlLink::adopt(*loop_, std::move(arrival), here_.get(), acceptor_.handlers());
        accepted_->begin();
      });
    }
    EXPECT_TRUE(port_.listen(kAddress));
  }
  ~ControlLinkTest() override { log::set_sink({}); }

  void turn() { ASSERT_TRUE(loop_->run_until_idle()); }
  void dial(const TlsContext* tls = nullptr) {
    dialed_ = ControlLink::dial(*loop_, network_, kAddress, tls, dialer_.handlers());
  }
  // With the first message, without which a job port cannot tell what a plain connection is.
  void dial_and_greet(const TlsContext* tls = nullptr) {
    dialer_.on_open = [this] { dialed_->send(kBeat); };
    dial(tls);
    turn();
  }
  UniqueFd raw_client() {
    auto client = network_.connect(kAddress);
    EXPECT_TRUE(client);
    return std::move(*client);
  }
  void write(const UniqueFd& client, std::string_view bytes) {
    ASSERT_EQ(send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    turn();
  }
  static std::string read_all(const UniqueFd& client) {
    std::string all;
    char bytes[4096];
    for (ssize_t count = 0; (count = recv(client.get(), bytes, sizeof bytes, 0)) > 0;) {
      all.append(bytes, static_cast<size_t>(count));
    }
    return all;
  }
  size_t lines_with(std::string_view text) const {
    size_t count = 0;
    for (size_t at = log_.find(text); at != std::string::npos; at = log_.find(text, at + 1)) {
      ++count;
    }
    return count;
  }

  std::string log_;
  testing::FakeClock clock_;
  testing::FakeNetwork network_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  JobPort port_{*loop_, network_};
  std::unique_ptr<TlsContext> here_;  // of the accepting side; null = no secret
  LinkLog dialer_;
  LinkLog acceptor_;
  std::unique_ptr<ControlLink> dialed_;
  std::unique_ptr<ControlLink> accepted_;
};

TEST_F(ControlLinkTest, CarriesMessagesBothWays) {
  acceptor_.on_message = [this](const Message&) { accepted_->send(Ack{7, 3}); };
  dial_and_greet();
  EXPECT_EQ(acceptor_.events, (Events{"open", "heartbeat 7"}));
  EXPECT_EQ(dialer_.events, (Events{"open", "ack"}));
  EXPECT_EQ(std::get<Heartbeat>(acceptor_.messages[0]).round, 3U);
  EXPECT_EQ(dialed_->peer(), "10.0.0.7:29400");
  EXPECT_EQ(log_, "");
}

TEST_F(ControlLinkTest, CarriesMessagesBothWaysWithASecret) {
  here_ = context_of("the secret of this job");
  const auto there = context_of("the secret of this job");
  acceptor_.on_message = [this](const Message&) { accepted_->send(Ack{7, 3}); };
  dial_and_greet(there.get());
  EXPECT_EQ(acceptor_.events, (Events{"open", "heartbeat 7"}));
  EXPECT_EQ(dialer_.events, (Events{"open", "ack"}));
  EXPECT_EQ(log_, "");
}

TEST_F(ControlLinkTest, TellsNothingBeforeTheLoopTurns) {
  dial();
  EXPECT_EQ(dialer_.events, Events{});
  port_.close();
  dial();
  EXPECT_EQ(dialer_.events, Events{});
}

TEST_F(ControlLinkTest, WorksOverTcp) {
  RealNetwork real;
  JobPort port(*loop_, real);
  here_ = context_of("the secret of this job");
  port.serve(Protocol::kTls, [this](Arrival arrival) {
    accepted_ = ControlLink::adopt(*loop_, std::move(arrival), here_.get(), acceptor_.handlers());
    accepted_->begin();
  });
  const auto address = port.listen({"127.0.0.1", 0});
  ASSERT_TRUE(address);
  dialer_.on_open = [this] { dialed_->send(kBeat); };
  dialed_ = ControlLink::dial(*loop_, real, *address, here_.get(), dialer_.handlers());
  turn();
  EXPECT_EQ(acceptor_.events, (Events{"open", "heartbeat 7"}));
  EXPECT_TRUE(accepted_->peer().starts_with("127.0.0.1:")) << accepted_->peer();
}

TEST_F(ControlLinkTest, AnotherSecretEndsBothEndsWithOneLine) {
  here_ = context_of("the secret of this job");
  const auto there = context_of("the secret of another job");
  dial_and_greet(there.get());
  EXPECT_EQ(dialer_.events, Events{"closed: 10.0.0.7:29400: job secret differs"});
  EXPECT_EQ(dialer_.error.code, Code::kConfig);
  EXPECT_EQ(dial_failure(dialer_.error), DialFailure::kRejected);
  EXPECT_EQ(acceptor_.events, Events{"closed: unknown: job secret differs"});
  EXPECT_EQ(acceptor_.error.code, Code::kConfig);
  EXPECT_EQ(lines_with("link.dropped"), 1U);
  EXPECT_EQ(lines_with("the secret"), 0U);
}

TEST_F(ControlLinkTest, WhoComesWithoutTheSecretIsToldInAMessage) {
  here_ = context_of("the secret of this job");
  dial_and_greet();
  ASSERT_EQ(dialer_.messages.size(), 1U);
  const auto& refuse = std::get<Refuse>(dialer_.messages[0]);
  EXPECT_EQ(refuse.code, RefuseCode::kSecret);
  EXPECT_NE(refuse.text.find("MUSTER_JOB_SECRET_FILE"), std::string::npos) << refuse.text;
  EXPECT_EQ(dialer_.events.back(), "closed: 10.0.0.7:29400 closed the connection");
  EXPECT_EQ(acceptor_.events.size(), 1U);  // never open: only closed
  EXPECT_EQ(acceptor_.error.code, Code::kConfig);
  EXPECT_EQ(lines_with("link.dropped"), 1U);
}

TEST_F(ControlLinkTest, WhoOnlyLooksWithoutTheSecretIsNoNodeThatDoesNotFit) {
  here_ = context_of("the secret of this job");
  Hello look;
  look.purpose = Purpose::kObserver;
  dialer_.on_open = [&] { dialed_->send(look); };
  dial();
  turn();
  EXPECT_EQ(acceptor_.events.size(), 1U);
  EXPECT_EQ(acceptor_.error.code, Code::kPeer);
  EXPECT_EQ(lines_with("link.dropped"), 1U);
}

TEST_F(ControlLinkTest, WhoBringsASecretToAJobWithoutIsToldByAnAlert) {
  const auto there = context_of("the secret of this job");
  dial_and_greet(there.get());
  EXPECT_EQ(dialer_.events, Events{"closed: 10.0.0.7:29400: the other side has no job secret"});
  EXPECT_EQ(dial_failure(dialer_.error), DialFailure::kRejected);
  EXPECT_EQ(acceptor_.events.size(), 1U);
  EXPECT_EQ(acceptor_.error.code, Code::kConfig);
  EXPECT_EQ(lines_with("link.dropped"), 1U);
}

TEST_F(ControlLinkTest, NobodyListens) {
  port_.close();
  dial();
  turn();
  ASSERT_EQ(dialer_.events.size(), 1U);
  EXPECT_EQ(dial_failure(dialer_.error), DialFailure::kRefused);
  EXPECT_EQ(log_, "");
}

TEST_F(ControlLinkTest, ADialWithoutAnswerEndsAtItsDeadline) {
  testing::SilentNetwork silent;
  dialed_ = ControlLink::dial(*loop_, silent, kAddress, nullptr, dialer_.handlers(),
                              std::chrono::seconds(3));
  clock_.advance(std::chrono::milliseconds(2999));
  turn();
  EXPECT_EQ(dialer_.events, Events{});
  clock_.advance(std::chrono::milliseconds(1));
  turn();
  EXPECT_EQ(dialer_.events, Events{"closed: 10.0.0.7:29400: no answer within 3 s"});
  EXPECT_EQ(dial_failure(dialer_.error), DialFailure::kNoAnswer);
}

TEST_F(ControlLinkTest, AHandshakeThatStopsEndsAtTheDeadline) {
  here_ = context_of("the secret of this job");
  const auto client = raw_client();
  const auto session = here_->session(TlsRole::kClient);
  write(client, (*session)->take_output().substr(0, 50));
  EXPECT_EQ(acceptor_.events, Events{});
  clock_.advance(kGreetingDeadline);
  turn();
  EXPECT_EQ(acceptor_.events, Events{"closed: unknown: no message within 10 s"});
  EXPECT_EQ(lines_with("link.dropped"), 1U);
}

TEST_F(ControlLinkTest, APeerThatGoesDuringTheHandshakeProvesNothingAboutTheSecret) {
  here_ = context_of("the secret of this job");
  port_.close();
  auto listener = network_.listen(kAddress);
  dial(here_.get());
  turn();
  ASSERT_TRUE(network_.accept(listener->get()));  // and hangs up
  turn();
  ASSERT_EQ(dialer_.events.size(), 1U);
  EXPECT_EQ(dial_failure(dialer_.error), DialFailure::kNoAnswer) << dialer_.error.text;
}

TEST_F(ControlLinkTest, AConnectionWithoutAWholeMessageEndsAtTheDeadline) {
  const auto client = raw_client();
  write(client, encode(kBeat).substr(0, 12));
  EXPECT_EQ(acceptor_.events, Events{"open"});
  clock_.advance(kGreetingDeadline);
  turn();
  EXPECT_EQ(acceptor_.error.code, Code::kTimeout);
  EXPECT_EQ(read_all(client), "");
}

TEST_F(ControlLinkTest, AfterTheFirstMessageSilenceIsNotItsMatter) {
  dial_and_greet();
  clock_.advance(std::chrono::hours(1));
  turn();
  EXPECT_EQ(acceptor_.events.back(), "heartbeat 7");
  EXPECT_EQ(dialer_.events, Events{"open"});
}

TEST_F(ControlLinkTest, MessagesInPiecesAndManyInOneAreTheSame) {
  const auto client = raw_client();
  const std::string bytes = encode(kBeat) + encode(Ack{1, 1}) + encode(kBeat);
  for (const char byte : bytes) write(client, {&byte, 1});
  EXPECT_EQ(acceptor_.events, (Events{"open", "heartbeat 7", "ack", "heartbeat 7"}));
  write(client, bytes);
  EXPECT_EQ(acceptor_.events.size(), 7U);
}

TEST_F(ControlLinkTest, GarbageEndsTheLinkWithOneLineThatNamesThePeer) {
  const auto client = raw_client();
  write(client, encode(kBeat) + "\0\0\0\x05{what"s);
  EXPECT_EQ(acceptor_.events[1], "heartbeat 7");
  EXPECT_EQ(acceptor_.events.size(), 3U);
  EXPECT_EQ(acceptor_.error.code, Code::kProtocol);
  EXPECT_EQ(lines_with("link.dropped"), 1U);
  EXPECT_EQ(lines_with("peer=unknown"), 1U);  // a socket pair has no address
}

TEST_F(ControlLinkTest, AFrameOverTheLimitEndsTheLinkBeforeItIsThere) {
  const auto client = raw_client();
  write(client, encode(kBeat));
  write(client, "\0\x10\0\x01"s);
  EXPECT_EQ(acceptor_.error.code, Code::kLimit);
  EXPECT_NE(acceptor_.error.text.find("1048576"), std::string::npos) << acceptor_.error.text;
}

TEST_F(ControlLinkTest, TheFirstFrameOfAStrangerIsShort) {
  const auto client = raw_client();
  const std::string head("\x00\x00\x40\x01{", 5);
  ASSERT_EQ(send(client.get(), head.data(), head.size(), MSG_NOSIGNAL), 5);
  turn();
  EXPECT_NE(log_.find("control frame of 16385 bytes; at most 16384 are taken"), std::string::npos);
}

// Who has not said a whole message goes, whoever has belongs to the job.
TEST_F(ControlLinkTest, AStrangerMakesRoomForAnother) {
  Strangers strangers(*loop_, 1);
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
  const UniqueFd other_end(ends[1]);
  accepted_ = ControlLink::adopt(*loop_, {UniqueFd(ends[0]), std::string(1, 0), strangers.enter()},
                                 nullptr, acceptor_.handlers());
  accepted_->begin();
  turn();
  const auto place = strangers.enter();
  EXPECT_EQ(acceptor_.events.size(), 2U) << "open, closed";
  EXPECT_EQ(strangers.size(), 1U);
}

TEST_F(ControlLinkTest, BrokenTlsEndsTheLinkWithOneLine) {
  here_ = context_of("the secret of this job");
  const auto client = raw_client();
  write(client, "\x16\x03\x01\x00\x05hello"s);
  EXPECT_EQ(lines_with("link.dropped"), 1U);
  EXPECT_TRUE(read_all(client).starts_with('\x15'));  // an alert says why
  shutdown(client.get(), SHUT_RDWR);
  turn();
  EXPECT_EQ(acceptor_.error.code, Code::kProtocol);
}

TEST_F(ControlLinkTest, APeerThatDoesNotReadIsDroppedAtTheLimitAndNotWithinSend) {
  const auto client = raw_client();
  write(client, encode(kBeat));
  const Message large = Goodbye{std::string(kMaxTextBytes, 'x')};
  const size_t enough = kMaxLinkQueueBytes / kMaxTextBytes + 1;
  for (size_t i = 0; i < enough; ++i) accepted_->send(large);
  EXPECT_EQ(acceptor_.events.back(), "heartbeat 7");
  turn();
  EXPECT_EQ(acceptor_.error.code, Code::kLimit);
  EXPECT_NE(acceptor_.error.text.find("33554432"), std::string::npos) << acceptor_.error.text;
  EXPECT_EQ(lines_with("link.dropped"), 1U);
}

TEST_F(ControlLinkTest, ASlowReaderGetsEverything) {
  const auto client = raw_client();
  write(client, encode(kBeat));
  const Message large = Goodbye{std::string(kMaxTextBytes, 'x')};
  std::string expected;
  for (int i = 0; i < 100; ++i) {
    accepted_->send(large);
    expected += encode(large);
  }
  turn();
  std::string seen;
  while (seen.size() < expected.size()) {
    const std::string part = read_all(client);
    ASSERT_FALSE(part.empty());
    seen += part;
    turn();
  }
  EXPECT_EQ(seen, expected);
}

TEST_F(ControlLinkTest, WritesOnceInATurn) {
  int ends[2];
  // Keeps the borders of each write.
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd client(ends[1]);
  accepted_ =
      ControlLink::adopt(*loop_, {UniqueFd(ends[0]), encode(kBeat)}, nullptr, acceptor_.handlers());
  accepted_->begin();
  for (int i = 0; i < 3; ++i) accepted_->send(kBeat);
  turn();
  char bytes[4096];
  EXPECT_EQ(recv(client.get(), bytes, sizeof bytes, 0),
            static_cast<ssize_t>(3 * encode(kBeat).size()));
}

TEST_F(ControlLinkTest, APeerThatVanishesIsNoLineOfOurs) {
  dial_and_greet();
  dialed_.reset();
  turn();
  EXPECT_EQ(acceptor_.events.back(), "closed: unknown closed the connection");
  EXPECT_EQ(acceptor_.error.code, Code::kPeer);
  EXPECT_EQ(log_, "");
}

TEST_F(ControlLinkTest, ThePeersLastWordIsReadThoughOurWriteFails) {
  dial_and_greet();
  accepted_->send(Refuse{RefuseCode::kClosed, "the job is over", {}, {}});
  accepted_->close("the job is over");
  dialer_.on_message = [this](const Message&) { dialed_->send(kBeat); };
  turn();
  EXPECT_EQ(dialer_.events,
            (Events{"open", "refuse", "closed: 10.0.0.7:29400 closed the connection"}));
}

TEST_F(ControlLinkTest, CloseSendsWhatWasQueuedAndThenEnds) {
  const auto client = raw_client();
  write(client, encode(kBeat));
  accepted_->send(Ack{7, 0});
  accepted_->close("left the job");
  accepted_->send(Ack{8, 0});  // too late
  turn();
  EXPECT_EQ(read_all(client), encode(Ack{7, 0}));
  EXPECT_EQ(acceptor_.events.back(), "heartbeat 7");  // until the peer closes, too
  shutdown(client.get(), SHUT_WR);
  turn();
  EXPECT_EQ(acceptor_.events.back(), "closed: left the job");
}

TEST_F(ControlLinkTest, CloseDoesNotWaitLongForThePeer) {
  const auto client = raw_client();
  write(client, encode(kBeat));
  accepted_->close("left the job");
  turn();
  write(client, encode(kBeat));  // nobody hears it
  clock_.advance(kCloseDeadline);
  turn();
  EXPECT_EQ(acceptor_.events, (Events{"open", "heartbeat 7", "closed: left the job"}));
}

TEST_F(ControlLinkTest, AHandlerThatClosesHearsNoMore) {
  acceptor_.on_message = [this](const Message&) { accepted_->close("enough"); };
  const auto client = raw_client();
  write(client, encode(kBeat) + encode(kBeat));
  shutdown(client.get(), SHUT_WR);
  turn();
  EXPECT_EQ(acceptor_.events, (Events{"open", "heartbeat 7", "closed: enough"}));
}

TEST_F(ControlLinkTest, ADialThatIsClosedNeverOpens) {
  dial();
  dialed_->close("no longer needed");
  turn();
  EXPECT_EQ(dialer_.events, Events{"closed: no longer needed"});
}

TEST_F(ControlLinkTest, AnAcceptedLinkClosedBeforeItBeganNeverOpens) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd client(ends[1]);
  accepted_ =
      ControlLink::adopt(*loop_, {UniqueFd(ends[0]), encode(kBeat)}, nullptr, acceptor_.handlers());
  accepted_->close("too many");
  accepted_->begin();
  turn();
  EXPECT_EQ(acceptor_.events, Events{"closed: too many"});
}

}  // namespace
}  // namespace muster::rendezvous
