#include "rendezvous/finding/discovery.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <set>

#include "base/log.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_dns_server.h"
#include "tests/support/fake_network.h"
#include "tests/support/fake_resolver.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Hosts = std::vector<std::string>;

// Hosts that never answer, or that cannot be reached at all, beside those of FakeNetwork.
class PartialNetwork final : public Network {
 public:
  Result<UniqueFd> listen(const Address& address) override { return hosts_.listen(address); }
  Result<UniqueFd> accept(int listener) override { return hosts_.accept(listener); }
  Result<Address> local_address(int socket) override { return hosts_.local_address(socket); }
  Result<UniqueFd> connect(const Address& address) override {
    dialled.push_back(address.host);
    if (unreachable.contains(address.host)) return os_error("connect", ENETUNREACH);
    if (!silent.contains(address.host)) return hosts_.connect(address);
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
      return os_error("socketpair");
    }
    peers_.emplace_back(ends[1]);
    // A full socket is not writable, like one that is still connecting.
    const std::string bytes(65536, 'x');
    while (send(ends[0], bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0) {
    }
    return UniqueFd(ends[0]);
  }

  std::set<std::string> silent;
  std::set<std::string> unreachable;
  Hosts dialled;

 private:
  testing::FakeNetwork hosts_;
  std::vector<UniqueFd> peers_;
};

class DiscoveryTest : public ::testing::Test {
 protected:
  ~DiscoveryTest() override { log::set_sink({}); }

  Discovery& make(std::vector<Candidate> candidates) {
    discovery_ = std::make_unique<Discovery>(*loop_, resolver_, network_, std::move(candidates));
    return *discovery_;
  }
  void run() { ASSERT_TRUE(loop_->run_until_idle().has_value()); }
  void advance(Duration duration) {
    clock_.advance(duration);
    run();
  }
  void listen(const std::string& host) {
    listeners_.push_back(std::move(*network_.listen({host, 1})));
  }
  DialCallback record() {
    return [this](DialAnswer answer) { answers_.push_back(std::move(answer)); };
  }
  DialAnswer dial(int candidate) {
    discovery_->dial(candidate, record());
    EXPECT_TRUE(answers_.empty()) << "called back before dial returned";
    run();
    EXPECT_EQ(answers_.size(), 1U);
    DialAnswer answer = answers_.empty() ? DialAnswer{} : std::move(answers_.front());
    answers_.clear();
    return answer;
  }

  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  testing::FakeResolver resolver_{*loop_};
  PartialNetwork network_;
  std::vector<UniqueFd> listeners_;
  std::vector<DialAnswer> answers_;
  std::unique_ptr<Discovery> discovery_;
};

const std::vector<Candidate> kThree = {
    {"w-0", 1, 0, false}, {"w-1", 1, 0, false}, {"w-2", 1, 0, false}};

TEST_F(DiscoveryTest, ReachesANode) {
  resolver_.set("w-0", {"10.0.0.1"});
  listen("10.0.0.1");
  make(kThree);
  const DialAnswer answer = dial(0);
  EXPECT_EQ(answer.state, Reachability::kReached) << answer.reason;
  EXPECT_TRUE(answer.socket.is_open());
  EXPECT_EQ(answer.address.to_string(), "10.0.0.1:1");
  EXPECT_EQ(discovery_->states()[0].state, Reachability::kReached);
}

TEST_F(DiscoveryTest, TellsWhyANodeIsNotReached) {
  make(kThree);
  EXPECT_EQ(dial(0).state, Reachability::kNoName);
  resolver_.fail("w-0", LookupStatus::kServerFailed);
  EXPECT_EQ(dial(0).state, Reachability::kDnsFailed);
  resolver_.set("w-0", {"10.0.0.1"});
  const DialAnswer refused = dial(0);
  EXPECT_EQ(refused.state, Reachability::kRefused);
  EXPECT_EQ(refused.reason, "connect 10.0.0.1:1: Connection refused");
  EXPECT_FALSE(refused.socket.is_open());
}

TEST_F(DiscoveryTest, ASilentHostEndsAtTheConnectTimeout) {
  resolver_.set("w-0", {"10.0.0.1"});
  network_.silent = {"10.0.0.1"};
  make(kThree);
  discovery_->dial(0, record());
  run();
  advance(milliseconds(2999));
  EXPECT_TRUE(answers_.empty());
  advance(milliseconds(1));
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].state, Reachability::kNoAnswer);
  EXPECT_EQ(answers_[0].reason, "connect 10.0.0.1:1: no answer within 3 s");
}

TEST_F(DiscoveryTest, ASilentDnsServerEndsAtTheLookupTimeout) {
  resolver_.fail("w-0", LookupStatus::kNoAnswer);
  make(kThree);
  discovery_->dial(0, record());
  run();
  EXPECT_TRUE(answers_.empty());
  advance(seconds(5));
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].state, Reachability::kDnsSilent);
}

TEST_F(DiscoveryTest, TriesTheNextAddressWhenOneFails) {
  resolver_.set("w-0", {"10.0.0.1", "10.0.0.2", "fd00::1"});
  network_.silent = {"10.0.0.2"};
  listen("fd00::1");
  make(kThree);
  discovery_->dial(0, record());
  run();
  advance(seconds(3));
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].state, Reachability::kReached) << answers_[0].reason;
  EXPECT_EQ(answers_[0].address.host, "fd00::1");
}

TEST_F(DiscoveryTest, TriesABoundedNumberOfAddresses) {
  Hosts many;
  for (int i = 0; i < 100; ++i) many.push_back("10.0.0." + std::to_string(i));
  resolver_.set("w-0", many);
  make(kThree);
  EXPECT_EQ(dial(0).state, Reachability::kRefused);
  EXPECT_EQ(network_.dialled.size(), kMaxAddressesTried);
}

TEST(VerdictOf, RefusedOnlyWhenNoAddressMayStillBeAlive) {
  EXPECT_EQ(verdict_of({ECONNREFUSED}), Reachability::kRefused);
  EXPECT_EQ(verdict_of({ECONNREFUSED, ENETUNREACH}), Reachability::kRefused);
  EXPECT_EQ(verdict_of({ECONNREFUSED, ETIMEDOUT}), Reachability::kNoAnswer);
  EXPECT_EQ(verdict_of({EHOSTUNREACH, ECONNREFUSED}), Reachability::kNoAnswer);
  EXPECT_EQ(verdict_of({ENETUNREACH}), Reachability::kUnreachable);
  EXPECT_EQ(verdict_of({EADDRNOTAVAIL, ENETUNREACH}), Reachability::kUnreachable);
  EXPECT_EQ(verdict_of({ENETUNREACH, ETIMEDOUT}), Reachability::kNoAnswer);
  EXPECT_EQ(verdict_of({}), Reachability::kNoAnswer);
}

TEST_F(DiscoveryTest, AsksForTheAddressAgainWhenItReconnects) {
  resolver_.set("w-0", {"10.0.0.1"});
  listen("10.0.0.1");
  make(kThree);
  EXPECT_EQ(dial(0).address.host, "10.0.0.1");
  resolver_.set("w-0", {"10.0.0.2"});  // the pod was replaced
  listen("10.0.0.2");
  EXPECT_EQ(dial(0).address.host, "10.0.0.2");
}

TEST_F(DiscoveryTest, ANewDialCancelsTheOneUnderWay) {
  resolver_.set("w-0", {"10.0.0.1"});
  network_.silent = {"10.0.0.1"};
  make(kThree);
  discovery_->dial(0, [](DialAnswer) { FAIL() << "cancelled"; });
  run();
  network_.silent.clear();
  EXPECT_EQ(dial(0).state, Reachability::kRefused);
  advance(seconds(10));
  EXPECT_TRUE(answers_.empty());
}

TEST_F(DiscoveryTest, ACancelledDialNeverCallsBack) {
  resolver_.set("w-0", {"10.0.0.1"});
  make(kThree);
  discovery_->dial(0, record());
  discovery_->cancel(0);
  advance(seconds(10));
  EXPECT_TRUE(answers_.empty());
  EXPECT_EQ(discovery_->states()[0].state, Reachability::kUnasked);
}

TEST_F(DiscoveryTest, ACallbackMayDialAgain) {
  make(kThree);
  discovery_->dial(0, [this](DialAnswer) { discovery_->dial(0, record()); });
  run();
  EXPECT_EQ(answers_.size(), 1U);
  EXPECT_EQ(resolver_.asked(), (Hosts{"w-0", "w-0"}));
}

TEST_F(DiscoveryTest, LogsWhoIsMissingAtGrowingIntervals) {
  std::vector<std::string> lines;
  log::set_sink([&lines](std::string_view line) { lines.emplace_back(line); });
  resolver_.set("w-0", {"10.0.0.1"});
  listen("10.0.0.1");
  resolver_.set("w-2", {"10.0.0.3"});
  make(kThree);
  discovery_->begin_waiting(clock_.now() + seconds(600));
  for (int candidate = 0; candidate < 3; ++candidate) (void)dial(candidate);
  for (int second = 0; second < 22; ++second) advance(seconds(1));
  ASSERT_EQ(lines.size(), 3U) << "after 3, 9 and 21 s";
  EXPECT_NE(lines[0].find("discovery.waiting state=\"waiting for 2 of 3: w-1 (NXDOMAIN), "
                          "w-2 (refused)\" waited_s=3 left_s=597"),
            std::string::npos)
      << lines[0];
  EXPECT_NE(lines[0].find(" I discovery.waiting"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find(" W discovery.waiting"), std::string::npos) << lines[1];
  discovery_->set_state(1, Reachability::kReached);
  discovery_->set_state(2, Reachability::kReached);
  advance(seconds(100));
  ASSERT_GE(lines.size(), 4U) << "nobody is missing, and nobody leads";
  EXPECT_NE(lines[3].find("state=\"all 3 who may lead answer, and none does\""), std::string::npos)
      << lines[3];
  discovery_->set_state(2, Reachability::kNoAnswer);
  discovery_->end_waiting();
  const size_t said = lines.size();
  advance(seconds(100));
  EXPECT_EQ(lines.size(), said);
  discovery_->begin_waiting(clock_.now() + seconds(600));
  for (int second = 0; second < 4; ++second) advance(seconds(1));
  ASSERT_EQ(lines.size(), said + 1);
  EXPECT_EQ(lines.back().find("(no answer)"), std::string::npos) << "of long ago: " << lines.back();
}

TEST_F(DiscoveryTest, IsSilentOnceTheTimeIsOver) {
  std::vector<std::string> lines;
  log::set_sink([&lines](std::string_view line) { lines.emplace_back(line); });
  make(kThree);
  discovery_->begin_waiting(clock_.now() + seconds(9));
  for (int second = 0; second < 60; ++second) advance(seconds(1));
  EXPECT_EQ(lines.size(), 1U) << "after 3 s; the next would be due at the end";
}

// The whole way over real sockets: a DNS server that says NXDOMAIN at first, a real listener.
TEST_F(DiscoveryTest, FindsANodeThroughDns) {
  RealNetwork network;
  auto listener = network.listen({"127.0.0.1", 0});
  ASSERT_TRUE(listener.has_value());
  const uint16_t port = network.local_address(listener->get())->port;
  const auto server = testing::FakeDnsServer::start(*loop_);
  DnsResolver resolver(*loop_, {{server->address()}, "/dev/null", milliseconds(1000)});
  Discovery discovery(*loop_, resolver, network, {{"w-0.jobs.", port, 0, false}});
  discovery.dial(0, record());
  run();
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].state, Reachability::kNoName) << answers_[0].reason;
  server->set("w-0.jobs", {"127.0.0.1"});
  discovery.dial(0, record());
  run();
  ASSERT_EQ(answers_.size(), 2U);
  EXPECT_EQ(answers_[1].state, Reachability::kReached) << answers_[1].reason;
}

}  // namespace
}  // namespace muster::rendezvous
