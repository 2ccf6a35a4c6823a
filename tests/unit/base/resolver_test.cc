#include "base/resolver.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/fake_clock.h"
#include "tests/support/fake_dns_server.h"

namespace muster {
namespace {

using std::chrono::seconds;
using testing::FakeClock;
using testing::FakeDnsServer;
using Behaviour = FakeDnsServer::Behaviour;
using Hosts = std::vector<std::string>;

class ResolverTest : public ::testing::Test {
 protected:
  ResolverTest() {
    write_resolv_conf("search jobs.svc.cluster.local svc.cluster.local\noptions ndots:5\n");
  }
  ~ResolverTest() override { (void)std::remove(path_.c_str()); }

  void write_resolv_conf(const std::string& text) { std::ofstream(path_) << text; }
  DnsOptions options() const {
    return {{server_->address()}, path_, std::chrono::milliseconds(1000)};
  }

  // The answer, or none when the loop is idle without one.
  std::optional<LookupAnswer> resolve(DnsResolver& resolver, const std::string& name) {
    std::optional<LookupAnswer> got;
    const Lookup lookup = resolver.resolve(
        name, seconds(5), [&got](LookupAnswer answer) { got = std::move(answer); });
    EXPECT_FALSE(got.has_value()) << "called back before resolve returned";
    EXPECT_TRUE(loop_->run_until_idle().has_value());
    return got;
  }
  LookupAnswer resolve(const std::string& name) {
    DnsResolver resolver(*loop_, options());
    return resolve(resolver, name).value_or(LookupAnswer{LookupStatus::kFound, {}, "none"});
  }

  FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  std::unique_ptr<FakeDnsServer> server_ = FakeDnsServer::start(*loop_);
  std::string path_ = ::testing::TempDir() + "resolv.conf." + std::to_string(getpid());
};

TEST_F(ResolverTest, ANumericHostNeedsNoServer) {
  EXPECT_EQ(resolve("10.1.2.3").addresses, Hosts{"10.1.2.3"});
  EXPECT_EQ(resolve("[fd00::1]").addresses, Hosts{"fd00::1"});
  EXPECT_TRUE(server_->queries().empty());
}

TEST_F(ResolverTest, FindsBothFamiliesIpv4FirstAndEachOnce) {
  server_->set("w.example", {"fd00::7", "10.0.0.9", "10.0.0.7", "10.0.0.9"});
  const LookupAnswer answer = resolve("w.example.");
  EXPECT_EQ(answer.status, LookupStatus::kFound);
  EXPECT_EQ(answer.addresses, (Hosts{"10.0.0.9", "10.0.0.7", "fd00::7"}));
  EXPECT_EQ(answer.reason, "");
}

TEST_F(ResolverTest, TriesTheSearchDomainsBeforeANameWithFewDots) {
  server_->set("job-0.job.jobs.svc.cluster.local", {"10.0.0.1"});
  EXPECT_EQ(resolve("job-0.job").addresses, Hosts{"10.0.0.1"});
  EXPECT_EQ(server_->queries().size(), 2U) << "one A and one AAAA, the first domain hits";
  server_->set("job-1.job.svc.cluster.local", {"10.0.0.2"});
  EXPECT_EQ(resolve("job-1.job").addresses, Hosts{"10.0.0.2"});
}

TEST_F(ResolverTest, TriesANameWithEnoughDotsAsItIsFirst) {
  write_resolv_conf("search svc.cluster.local\noptions ndots:1\n");
  server_->set("job-0.job", {"10.0.0.1"});
  EXPECT_EQ(resolve("job-0.job").addresses, Hosts{"10.0.0.1"});
  EXPECT_EQ(server_->queries().size(), 2U);
}

// A network that comes after the process brings its own.
TEST_F(ResolverTest, ReadsResolvConfAgainWhenItHasChanged) {
  (void)std::remove(path_.c_str());
  DnsResolver resolver(*loop_, options());
  server_->set("worker-5.jobs.cluster", {"10.0.0.1"});
  EXPECT_EQ(resolve(resolver, "worker-5")->status, LookupStatus::kNoName);
  write_resolv_conf("search jobs.cluster\noptions ndots:5\n");
  EXPECT_EQ(resolve(resolver, "worker-5")->addresses, Hosts{"10.0.0.1"});
}

TEST_F(ResolverTest, TellsAMissingName) {
  const LookupAnswer answer = resolve("worker-5");
  EXPECT_EQ(answer.status, LookupStatus::kNoName);
  EXPECT_EQ(answer.reason, "look up worker-5: NXDOMAIN");
  EXPECT_EQ(server_->queries().size(), 6U) << "two domains and the name itself, two families";
}

TEST_F(ResolverTest, TellsANameWithoutAddresses) {
  write_resolv_conf("search .\n");
  server_->set("empty.example", {});
  const LookupAnswer answer = resolve("empty.example.");
  EXPECT_EQ(answer.status, LookupStatus::kNoName);
  EXPECT_EQ(answer.reason, "look up empty.example.: the name has no address");
}

TEST_F(ResolverTest, ASilentServerEndsAtTheDeadline) {
  server_->set_behaviour(Behaviour::kSilent);
  DnsResolver resolver(*loop_, options());
  std::vector<LookupAnswer> answers;
  const Lookup lookup =
      resolver.resolve("worker-5", seconds(5),
                       [&answers](const LookupAnswer& answer) { answers.push_back(answer); });
  ASSERT_TRUE(loop_->run_until_idle().has_value());
  clock_.advance(seconds(4));
  ASSERT_TRUE(loop_->run_until_idle().has_value());
  EXPECT_TRUE(answers.empty());
  clock_.advance(seconds(1));
  ASSERT_TRUE(loop_->run_until_idle().has_value());
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].status, LookupStatus::kNoAnswer);
  EXPECT_EQ(answers[0].reason, "look up worker-5: no answer within 5 s");
}

TEST_F(ResolverTest, ASilentNameDoesNotHoldUpAnother) {
  server_->set_behaviour("slow.example", Behaviour::kSilent);
  server_->set("fast.example", {"10.0.0.3"});
  DnsResolver resolver(*loop_, options());
  bool slow_answered = false;
  const Lookup slow = resolver.resolve(
      "slow.example.", seconds(5), [&slow_answered](const LookupAnswer&) { slow_answered = true; });
  EXPECT_EQ(resolve(resolver, "fast.example.")->addresses, Hosts{"10.0.0.3"});
  EXPECT_FALSE(slow_answered);
}

TEST_F(ResolverTest, TellsAServerThatRefusesFailsOrIsNotThere) {
  for (const Behaviour behaviour : {Behaviour::kRefuse, Behaviour::kServerFailure}) {
    server_->set_behaviour(behaviour);
    EXPECT_EQ(resolve("w.example.").status, LookupStatus::kServerFailed);
  }
  DnsOptions closed = options();
  server_.reset();  // its port is closed now
  DnsResolver resolver(*loop_, closed);
  const auto answer = resolve(resolver, "w.example.");
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, LookupStatus::kServerFailed);
  EXPECT_EQ(answer->reason, "look up w.example.: the DNS server refused, failed or is not there");
}

TEST_F(ResolverTest, AsksAgainOverTcpWhenTheAnswerWasTruncated) {
  Hosts hosts;
  for (int i = 1; i <= 250; ++i) hosts.push_back("10.0.1." + std::to_string(i));
  server_->set("svc.example", hosts);
  server_->set_behaviour(Behaviour::kTruncate);
  EXPECT_EQ(resolve("svc.example.").addresses, hosts);
}

TEST_F(ResolverTest, AsksTheNextServerWhenOneRefuses) {
  const auto second = FakeDnsServer::start(*loop_);
  server_->set_behaviour(Behaviour::kRefuse);
  second->set("w.example", {"10.0.0.4"});
  DnsOptions both = options();
  both.servers.push_back(second->address());
  DnsResolver resolver(*loop_, both);
  EXPECT_EQ(resolve(resolver, "w.example.")->addresses, Hosts{"10.0.0.4"});
}

TEST_F(ResolverTest, ReadsTheHostsFileFirst) {
  const LookupAnswer answer = resolve("localhost");
  EXPECT_EQ(answer.status, LookupStatus::kFound);
  EXPECT_EQ(answer.addresses.front(), "127.0.0.1");
  EXPECT_TRUE(server_->queries().empty());
}

TEST_F(ResolverTest, ACancelledLookupNeverCallsBack) {
  server_->set("w.example", {"10.0.0.4"});
  DnsResolver resolver(*loop_, options());
  bool called = false;
  Lookup lookup =
      resolver.resolve("w.example.", seconds(5), [&called](const LookupAnswer&) { called = true; });
  lookup.reset();
  ASSERT_TRUE(loop_->run_until_idle().has_value());
  clock_.advance(seconds(10));
  ASSERT_TRUE(loop_->run_until_idle().has_value());
  EXPECT_FALSE(called);
  EXPECT_EQ(server_->queries().size(), 2U) << "the question was on its way";
}

TEST_F(ResolverTest, ALookupMayBeStartedFromACallback) {
  server_->set("a.example", {"10.0.0.1"});
  server_->set("b.example", {"10.0.0.2"});
  DnsResolver resolver(*loop_, options());
  Lookup second;
  Hosts got;
  const Lookup first = resolver.resolve("a.example.", seconds(5), [&](const LookupAnswer&) {
    second = resolver.resolve("b.example.", seconds(5),
                              [&got](const LookupAnswer& answer) { got = answer.addresses; });
  });
  ASSERT_TRUE(loop_->run_until_idle().has_value());
  EXPECT_EQ(got, Hosts{"10.0.0.2"});
}

TEST_F(ResolverTest, IsDestroyedWithLookupsUnderWay) {
  server_->set_behaviour(Behaviour::kSilent);
  bool called = false;
  {
    DnsResolver resolver(*loop_, options());
    std::vector<Lookup> lookups;
    for (int i = 0; i < 20; ++i) {
      lookups.push_back(resolver.resolve("w" + std::to_string(i), seconds(5),
                                         [&called](const LookupAnswer&) { called = true; }));
    }
    ASSERT_TRUE(loop_->run_until_idle().has_value());
  }
  clock_.advance(seconds(10));
  ASSERT_TRUE(loop_->run_until_idle().has_value());
  EXPECT_FALSE(called);
}

TEST_F(ResolverTest, LooksUpAThousandNamesAtOnce) {
  DnsResolver resolver(*loop_, options());
  std::vector<Lookup> lookups;
  size_t found = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "w" + std::to_string(i) + ".example";
    server_->set(name, {"10.0.0.1"});
    lookups.push_back(
        resolver.resolve(name + ".", seconds(5), [&found](const LookupAnswer& answer) {
          if (answer.status == LookupStatus::kFound) ++found;
        }));
    // Answered in between; else the size of its socket buffer would decide the outcome.
    if (i % 50 == 49) {
      ASSERT_TRUE(loop_->run_until_idle().has_value());
    }
  }
  ASSERT_TRUE(loop_->run_until_idle().has_value());
  EXPECT_EQ(found, 1000U);
}

TEST_F(ResolverTest, ANameThatIsNoneIsAnswered) {
  EXPECT_EQ(resolve(std::string("a\0b", 3)).reason,
            "look up \"a\\x00b\": the name holds a NUL byte");
  EXPECT_EQ(resolve(std::string(300, 'x')).status, LookupStatus::kNoName);
  EXPECT_EQ(resolve("a..b.").status, LookupStatus::kNoName);
}

TEST_F(ResolverTest, GarbageIsNotTakenForAnAnswer) {
  server_->set_behaviour(Behaviour::kGarbage);
  DnsResolver resolver(*loop_, options());
  std::optional<LookupAnswer> got;
  const Lookup lookup = resolver.resolve("w.example.", seconds(5),
                                         [&got](LookupAnswer answer) { got = std::move(answer); });
  ASSERT_TRUE(loop_->run_until_idle().has_value());
  clock_.advance(seconds(5));
  ASSERT_TRUE(loop_->run_until_idle().has_value());
  ASSERT_TRUE(got.has_value());
  EXPECT_NE(got->status, LookupStatus::kFound);
}

}  // namespace
}  // namespace muster
