#include "rendezvous/etcd/etcd_client.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "rendezvous/etcd/etcd_campaign.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_etcd.h"
#include "tests/support/fake_resolver.h"

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;

constexpr const char* kHeader = R"({"header":{"revision":"7"})";

class EtcdClientTest : public ::testing::Test {
 protected:
  EtcdClientTest() {
    resolver_.set("etcd-0", {kFirst.host});
    resolver_.set("etcd-1", {kSecond.host});
  }
  void begin(const std::vector<std::string>& hosts) {
    std::vector<Candidate> endpoints;
    for (const std::string& host : hosts) {
      Candidate endpoint;
      endpoint.host = host;
      endpoint.port = 2379;
      endpoints.push_back(endpoint);
    }
    client_ = std::make_unique<EtcdClient>(*loop_, resolver_, network_,
                                           EtcdServers{std::move(endpoints), nullptr}, 1s);
  }
  void call(const std::string& body) {
    client_->call({"/v3/kv/range", body},
                  [this](const Result<HttpResponse>& response) { got_.push_back(response); });
  }
  void turn() { ASSERT_TRUE(loop_->run_until_idle()); }

  const Address kFirst{"10.0.0.1", 2379};
  const Address kSecond{"10.0.0.2", 2379};
  testing::FakeClock clock_;
  testing::FakeNetwork network_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  testing::FakeResolver resolver_{*loop_};
  std::unique_ptr<EtcdClient> client_;
  std::vector<Result<HttpResponse>> got_;
};

TEST_F(EtcdClientTest, OneConnectionServesAllRequestsInOrder) {
  testing::FakeEtcd etcd(*loop_, network_, kFirst);
  begin({"etcd-0"});
  for (const char* body : {"1", "2", "3"}) {
    etcd.answer(body);
    call(body);
  }
  EXPECT_TRUE(got_.empty());
  turn();
  ASSERT_EQ(got_.size(), 3U);
  EXPECT_EQ(got_[2]->body, "3");
  EXPECT_EQ(etcd.requests()[1], "/v3/kv/range 2");
  EXPECT_EQ(etcd.connections(), 1);
  EXPECT_EQ(client_->reached(), kFirst);
}

TEST_F(EtcdClientTest, EndpointsAreTriedInTurn) {
  testing::FakeEtcd etcd(*loop_, network_, kSecond);
  begin({"etcd-0", "etcd-1"});
  etcd.answer("1");
  call("1");
  turn();
  ASSERT_TRUE(got_.size() == 1 && got_[0]);
  EXPECT_EQ(client_->reached(), kSecond);
  EXPECT_EQ(client_->name(), "http://etcd-0:2379,http://etcd-1:2379");
}

TEST_F(EtcdClientTest, WhenNoneIsReachedEveryReasonIsTold) {
  begin({"etcd-0", "etcd-9"});
  call("1");
  turn();
  ASSERT_TRUE(got_.size() == 1 && !got_[0]);
  EXPECT_EQ(got_[0].error().code, Code::kPeer);
  EXPECT_NE(got_[0].error().text.find("http://etcd-0:2379: connect 10.0.0.1:2379: "),
            std::string::npos);
  EXPECT_NE(got_[0].error().text.find("http://etcd-9:2379: look up etcd-9: NXDOMAIN"),
            std::string::npos);
}

TEST_F(EtcdClientTest, ASilentServerIsLeftForTheNextButNothingIsSentTwice) {
  testing::FakeEtcd silent(*loop_, network_, kFirst);
  testing::FakeEtcd etcd(*loop_, network_, kSecond);
  begin({"etcd-0", "etcd-1"});
  call("1");
  turn();
  clock_.advance(1s);
  turn();
  ASSERT_TRUE(got_.size() == 1 && !got_[0]);
  EXPECT_EQ(got_[0].error().code, Code::kTimeout);
  EXPECT_TRUE(etcd.requests().empty());
  etcd.answer("2");
  call("2");
  turn();
  ASSERT_TRUE(got_.size() == 2 && got_[1]);
  EXPECT_EQ(silent.requests().size(), 1U);
}

TEST_F(EtcdClientTest, AServerWithoutQuorumIsLeftForTheNext) {
  testing::FakeEtcd alone(*loop_, network_, kFirst);
  testing::FakeEtcd etcd(*loop_, network_, kSecond);
  begin({"etcd-0", "etcd-1"});
  alone.answer_with(503, "no leader");
  etcd.answer("2");
  call("1");
  call("2");
  turn();
  ASSERT_EQ(got_.size(), 2U);
  EXPECT_EQ(got_[0]->status, 503);
  EXPECT_EQ(got_[1]->body, "2");
}

TEST_F(EtcdClientTest, AConnectionThatTheServerClosedIsDialledAnew) {
  testing::FakeEtcd etcd(*loop_, network_, kFirst);
  begin({"etcd-0"});
  etcd.answer("1");
  call("1");
  turn();
  etcd.hang_up();
  turn();
  etcd.answer("2");
  call("2");
  turn();
  ASSERT_TRUE(got_.size() == 2 && got_[1]);
  EXPECT_EQ(etcd.connections(), 2);
}

TEST_F(EtcdClientTest, NothingIsHeardOfWhatWasCancelled) {
  testing::FakeEtcd etcd(*loop_, network_, kFirst);
  begin({"etcd-0"});
  call("1");
  call("2");
  turn();
  client_->cancel_all();
  etcd.answer("3");
  call("3");
  turn();
  ASSERT_EQ(got_.size(), 1U);
  EXPECT_EQ(got_[0]->body, "3");
}

class EtcdCampaignTest : public EtcdClientTest {
 protected:
  EtcdCampaignTest() : etcd_(*loop_, network_, kFirst) { begin({"etcd-0"}); }
  void campaign() {
    campaign_ = std::make_unique<EtcdCampaign>(
        *loop_, *client_, etcd_keys("/muster", "job"), etcd_times(30s), "me",
        [this](EtcdCampaignResult result) { result_ = std::move(result); });
    turn();
  }
  void grant(const std::string& id, const std::string& ttl) {
    etcd_.answer(std::string(kHeader) + R"(,"ID":")" + id + R"(","TTL":")" + ttl + R"("})");
  }
  void won(const std::string& mark) {
    etcd_.answer(std::string(kHeader) +
                 R"(,"succeeded":true,"responses":[{"response_put":{}},{"response_range":{)" +
                 mark + "}}]}");
  }
  EtcdOffice office() {
    EXPECT_TRUE(result_ && *result_) << (result_ ? result_->error().text : "no result");
    return std::get<EtcdOffice>(**result_);
  }
  const std::string kMark =
      R"("kvs":[{"key":"","create_revision":"2","value":"aGk=","lease":"23"}])";

  testing::FakeEtcd etcd_;
  std::unique_ptr<EtcdCampaign> campaign_;
  std::optional<EtcdCampaignResult> result_;
};

TEST_F(EtcdCampaignTest, TheFirstLeaderLeavesAMark) {
  grant("11", "30");
  won("");
  grant("12", "90");
  etcd_.answer(std::string(kHeader) + "}");
  campaign();
  EXPECT_TRUE(office().first);
  EXPECT_EQ(office().lease, 11);
  EXPECT_EQ(office().mark_lease, 12);
  EXPECT_EQ(office().revision, 7);
  EXPECT_EQ(office().ttl, 30s);
  EXPECT_EQ(office().since, loop_->now());
  ASSERT_EQ(etcd_.requests().size(), 4U);
  EXPECT_EQ(etcd_.requests()[2], R"(/v3/lease/grant {"TTL":"90"})");
  EXPECT_TRUE(etcd_.requests()[3].starts_with("/v3/kv/put ")) << etcd_.requests()[3];
  EXPECT_NE(etcd_.requests()[3].find(to_base64("7")), std::string::npos) << "its revision";
  EXPECT_EQ(office().after, 0);
}

TEST_F(EtcdCampaignTest, ALaterLeaderKeepsTheMarkAlive) {
  grant("11", "30");
  won(kMark);
  etcd_.answer(R"({"result":)" + std::string(kHeader) + R"(,"ID":"23","TTL":"90"}})");
  etcd_.answer(std::string(kHeader) + "}");
  campaign();
  EXPECT_FALSE(office().first);
  EXPECT_EQ(office().mark_lease, 23);
  EXPECT_EQ(office().after, 0) << "it says nothing of whose it was";
  EXPECT_TRUE(etcd_.requests().back().starts_with("/v3/kv/put ")) << etcd_.requests().back();
}

TEST_F(EtcdCampaignTest, AMarkTellsWhoLedBefore) {
  grant("11", "30");
  won(R"("kvs":[{"key":"","create_revision":"2","value":")" + to_base64("5") +
      R"(","lease":"23"}])");
  etcd_.answer(R"({"result":)" + std::string(kHeader) + R"(,"ID":"23","TTL":"90"}})");
  etcd_.answer(std::string(kHeader) + "}");
  campaign();
  EXPECT_EQ(office().after, 5);
}

TEST_F(EtcdCampaignTest, AMarkThatEndsMeanwhileIsMadeAnew) {
  grant("11", "30");
  won(kMark);
  etcd_.answer(R"({"result":)" + std::string(kHeader) + R"(,"ID":"23"}})");
  grant("12", "90");
  etcd_.answer(std::string(kHeader) + "}");
  campaign();
  EXPECT_FALSE(office().first);
  EXPECT_EQ(office().mark_lease, 12);
}

TEST_F(EtcdCampaignTest, WhoIsLateLearnsWhoWasFirstAndGivesItsLeaseBack) {
  grant("11", "30");
  etcd_.answer(std::string(kHeader) + R"(,"responses":[{"response_range":{)" + kMark + "}}]}");
  etcd_.answer(std::string(kHeader) + "}");
  campaign();
  ASSERT_TRUE(result_ && *result_);
  EXPECT_EQ(std::get<EtcdEntry>(**result_).value, "hi");
  EXPECT_EQ(etcd_.requests().back(), R"(/v3/lease/revoke {"ID":"11"})");
}

TEST_F(EtcdCampaignTest, AFailureOnTheWayGivesTheLeaseBack) {
  grant("11", "30");
  won("");
  etcd_.answer_with(503, "no leader");
  etcd_.answer(std::string(kHeader) + "}");
  campaign();
  ASSERT_TRUE(result_ && !*result_);
  EXPECT_EQ(result_->error().text, "lease of the mark: HTTP 503: no leader");
  EXPECT_EQ(etcd_.requests().back(), R"(/v3/lease/revoke {"ID":"11"})");
}

}  // namespace
}  // namespace muster::rendezvous
