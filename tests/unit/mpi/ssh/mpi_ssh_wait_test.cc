#include "mpi/ssh/mpi_ssh_wait.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <map>
#include <string>
#include <vector>

#include "tests/support/fake_clock.h"
#include "tests/support/fake_network.h"
#include "tests/support/fake_resolver.h"

namespace muster::mpi {
namespace {

using std::chrono::seconds;
using testing::FakeClock;
using testing::FakeNetwork;
using testing::FakeResolver;

class SshWaitTest : public ::testing::Test {
 protected:
  void wait_for(std::vector<rendezvous::Candidate> hosts) {
    wait_.emplace(*loop_, resolver_, network_, std::move(hosts), seconds(60), 1,
                  [this](Status status) { answers_.push_back(std::move(status)); });
    idle();
  }
  void idle() { ASSERT_TRUE(loop_->run_until_idle()); }
  void advance(Duration time) {
    for (const TimePoint end = clock_.now() + time; clock_.now() < end;) {
      clock_.advance(std::min<Duration>(seconds(1), end - clock_.now()));
      idle();
    }
  }
  // From now on `host` has a server that says `words` to everyone, or hangs up.
  void serve(const std::string& host, const std::string& words) {
    auto listener = network_.listen({host, 22});
    ASSERT_TRUE(listener);
    const int fd = listener->get();
    listeners_.push_back(std::move(*listener));
    auto watch = loop_->watch(fd, Interest::kRead, [this, fd, host, words](Ready) {
      while (auto connection = network_.accept(fd)) {
        ++looks_[host];
        if (words.empty()) continue;
        ASSERT_EQ(send(connection->get(), words.data(), words.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(words.size()));
        open_.push_back(std::move(*connection));
      }
    });
    ASSERT_TRUE(watch);
    watches_.push_back(std::move(*watch));
  }
  std::string problem() {
    if (answers_.size() != 1) return std::to_string(answers_.size()) + " answers";
    return answers_[0] ? "" : answers_[0].error().text;
  }

  FakeClock clock_;
  std::unique_ptr<Loop> loop_ = *Loop::create(clock_);
  FakeNetwork network_;
  FakeResolver resolver_{*loop_};
  std::vector<UniqueFd> listeners_, open_;
  std::vector<Watch> watches_;
  std::map<std::string, int> looks_;
  std::vector<Status> answers_;
  std::optional<SshWait> wait_;
};

TEST_F(SshWaitTest, ServersThatAreThereAreLookedAtOnce) {
  serve("10.0.0.1", "SSH-2.0-OpenSSH_9.2\r\n");
  serve("10.0.0.2", "hello\r\nSSH-2.0-x\r\n");
  resolver_.set("b", {"10.0.0.2"});
  wait_for({{"10.0.0.1", 22}, {"b", 22}});
  EXPECT_EQ(problem(), "");
  EXPECT_EQ(looks_["10.0.0.1"], 1);
  EXPECT_EQ(looks_["10.0.0.2"], 1);
}

TEST_F(SshWaitTest, NobodyIsWaitedForWhenThereIsNobody) {
  wait_for({});
  EXPECT_EQ(problem(), "");
}

TEST_F(SshWaitTest, AServerThatComesLaterIsFound) {
  serve("10.0.0.1", "SSH-2.0-x\r\n");
  wait_for({{"10.0.0.1", 22}, {"b", 22}});
  advance(seconds(3));
  EXPECT_TRUE(answers_.empty());
  resolver_.set("b", {"10.0.0.2"});
  advance(seconds(8));
  EXPECT_TRUE(answers_.empty());
  serve("10.0.0.2", "SSH-2.0-x\r\n");
  advance(seconds(8));
  EXPECT_EQ(problem(), "");
  EXPECT_EQ(looks_["10.0.0.1"], 1);
}

TEST_F(SshWaitTest, TheDeadlineNamesWhoIsMissingAndWhy) {
  serve("10.0.0.1", "SSH-2.0-x\r\n");
  serve("10.0.0.3", "HTTP/1.1 400 Bad Request\r\n");
  serve("10.0.0.4", "Not allowed at this time\r\n");
  serve("10.0.0.5", "");
  wait_for({{"10.0.0.1", 22},
            {"b", 22},
            {"10.0.0.2", 22},
            {"10.0.0.3", 22},
            {"10.0.0.4", 22},
            {"10.0.0.5", 22}});
  advance(seconds(61));
  EXPECT_EQ(
      problem(),
      "SSH after 60 s: 5 of 6 servers do not answer: b (NXDOMAIN), 10.0.0.2 (refused), "
      "10.0.0.3 (does not greet as an SSH server), 10.0.0.4 (does not greet as an SSH server), "
      "10.0.0.5 (does not greet as an SSH server)");
  EXPECT_EQ(answers_[0].error().code, Code::kTimeout);
  // OpenSSH 9.8 locks out for 15 s who looks more than once a second.
  EXPECT_LE(looks_["10.0.0.5"], 20);
  EXPECT_GE(looks_["10.0.0.5"], 8);
}

TEST_F(SshWaitTest, ManyServersInTheirTurn) {
  std::vector<rendezvous::Candidate> hosts;
  for (int i = 0; i < 300; ++i) {
    const std::string host = "10.0." + std::to_string(i / 200) + "." + std::to_string(i % 200);
    serve(host, "SSH-2.0-x\r\n");
    hosts.push_back({host, 22});
  }
  wait_for(hosts);
  EXPECT_EQ(problem(), "");
  EXPECT_EQ(looks_.size(), hosts.size());
}

}  // namespace
}  // namespace muster::mpi
