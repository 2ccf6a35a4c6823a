#include "launcher/agent/finding/etcd_candidates.h"

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tests/support/fake_etcd.h"
#include "tests/support/fake_resolver.h"

namespace muster::launcher {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kOurKey =
    R"({"header":{},"kvs":[{"create_revision":"7","lease":"11","value":""}]})";
constexpr std::string_view kStop = "stop: etcd knows nothing of our lease, or our key, any more";

class EtcdCandidatesTest : public ::testing::Test {
 protected:
  EtcdCandidatesTest() { make(); }
  void make() {
    EtcdOptions options;
    rendezvous::Candidate endpoint;
    endpoint.host = kServer.host;
    endpoint.port = kServer.port;
    options.servers.endpoints = {endpoint};
    options.prefix = "/muster";
    EtcdSelf self{"job", "node-1", "10.0.0.1", 29400, 30s};
    EtcdHooks hooks;
    hooks.may_lead = [this] { return willing_; };
    hooks.follow = [this](const Address& leader) {
      told_.push_back("follow " + leader.to_string());
    };
    hooks.lead = [this](const Address& own, const rendezvous::EtcdOffice& office) {
      told_.push_back("lead " + own.to_string() + " " + std::to_string(office.revision));
    };
    hooks.nobody = [this](const std::string& reason) { told_.push_back("nobody: " + reason); };
    hooks.stop_leading = [this](const std::string& reason) { told_.push_back("stop: " + reason); };
    hooks.ended = [this] { told_.emplace_back("ended"); };
    candidates_ = std::make_unique<EtcdCandidates>(*loop_, resolver_, network_, options,
                                                   std::move(self), std::move(hooks));
  }
  void turn() { ASSERT_TRUE(loop_->run_until_idle()); }
  void nobody_leads() { etcd_.answer(R"({"header":{"revision":"7"}})"); }
  void lead() {
    nobody_leads();
    etcd_.answer(R"({"header":{},"ID":"11","TTL":"30"})");
    etcd_.answer(R"({"header":{"revision":"7"},"succeeded":true,)"
                 R"("responses":[{"response_put":{}},{"response_range":{}}]})");
    etcd_.answer(R"({"header":{},"ID":"12","TTL":"90"})");
    nobody_leads();
    candidates_->find();
    turn();
    ASSERT_EQ(told_, std::vector<std::string>{"lead 10.0.0.1:29400 7"});
    told_.clear();
  }

  const Address kServer{"10.0.0.9", 2379};
  testing::FakeClock clock_;
  testing::FakeNetwork network_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  testing::FakeResolver resolver_{*loop_};
  testing::FakeEtcd etcd_{*loop_, network_, kServer};
  std::vector<std::string> told_;
  bool willing_ = true;
  std::unique_ptr<EtcdCandidates> candidates_;
};

TEST_F(EtcdCandidatesTest, FollowsWhoIsNamed) {
  // {"node":"a","host":"10.0.0.2","port":1}
  etcd_.answer(R"({"header":{},"kvs":[{"create_revision":"2","lease":"5",)"
               R"("value":"eyJub2RlIjoiYSIsImhvc3QiOiIxMC4wLjAuMiIsInBvcnQiOjF9"}]})");
  candidates_->find();
  turn();
  EXPECT_EQ(told_, std::vector<std::string>{"follow 10.0.0.2:1"});
}

TEST_F(EtcdCandidatesTest, LeadsRenewsAndLeavesNothingBehind) {
  lead();
  EXPECT_TRUE(candidates_->may_lead());
  etcd_.answer(R"({"result":{"header":{},"ID":"11","TTL":"30"}})");
  etcd_.answer(R"({"result":{"header":{},"ID":"12","TTL":"90"}})");
  etcd_.answer(std::string(kOurKey));
  clock_.advance(5s);
  turn();
  const auto& asked = etcd_.requests();
  EXPECT_EQ(asked.at(asked.size() - 2), R"(/v3/lease/keepalive {"ID":"12"})");
  clock_.advance(20s);
  EXPECT_TRUE(candidates_->may_lead());
  nobody_leads();
  nobody_leads();
  candidates_->settle(false, true);
  turn();
  const auto& requests = etcd_.requests();
  EXPECT_EQ(requests.at(requests.size() - 2), R"(/v3/lease/revoke {"ID":"12"})");
  EXPECT_EQ(requests.back(), R"(/v3/lease/revoke {"ID":"11"})");
  candidates_->end();
  turn();
  EXPECT_TRUE(candidates_->ended());
  EXPECT_EQ(told_, std::vector<std::string>{"ended"});
}

TEST_F(EtcdCandidatesTest, AMarkThatEtcdForgotEndsTheOffice) {
  lead();
  etcd_.answer(R"({"result":{"header":{},"ID":"11","TTL":"30"}})");
  etcd_.answer(R"({"result":{"header":{},"ID":"12"}})");
  etcd_.answer(std::string(kOurKey));
  clock_.advance(5s);
  turn();
  EXPECT_EQ(told_, std::vector<std::string>{std::string(kStop)});
}

TEST_F(EtcdCandidatesTest, AKeyThatSomebodyDeletedOrTookEndsTheOffice) {
  for (const char* key :
       {R"({"header":{}})",
        R"({"header":{},"kvs":[{"create_revision":"9","lease":"5","value":""}]})"}) {
    told_.clear();
    make();
    lead();
    etcd_.answer(R"({"result":{"header":{},"ID":"11","TTL":"30"}})");
    etcd_.answer(R"({"result":{"header":{},"ID":"12","TTL":"90"}})");
    etcd_.answer(key);
    clock_.advance(5s);
    turn();
    EXPECT_EQ(told_, std::vector<std::string>{std::string(kStop)});
  }
}

// The next leader would begin at once, beside what is left of this one's round.
TEST_F(EtcdCandidatesTest, AMarkThatIsNotRenewedEndsTheOfficeInTime) {
  lead();
  for (int second = 0; second < 24; ++second) {
    if (second % 2 == 0) etcd_.answer(R"({"result":{"header":{},"ID":"11","TTL":"30"}})");
    if (second % 2 == 0) etcd_.answer_with(503, "{}");
    if (second % 2 == 0) etcd_.answer(std::string(kOurKey));
    clock_.advance(1s);
    turn();
  }
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_NE(told_[0].find("mark not renewed"), std::string::npos) << told_[0];
}

TEST_F(EtcdCandidatesTest, AWinThatNobodyHereHeardOfYetIsNotThrownAway) {
  nobody_leads();
  etcd_.answer(R"({"header":{},"ID":"11","TTL":"30"})");
  etcd_.answer(R"({"header":{"revision":"7"},"succeeded":true,)"
               R"("responses":[{"response_put":{}},{"response_range":{}}]})");
  etcd_.answer(R"({"header":{},"ID":"12","TTL":"90"})");
  nobody_leads();
  candidates_->find();
  // The agent around it looks in every turn, also between the last answer and the news of it.
  Timer next;
  int turns = 100;
  std::function<void()> look = [this, &next, &look, &turns] {
    if (!told_.empty() || --turns == 0) return;
    candidates_->settle(false, false);
    next = loop_->soon(look);
  };
  look();
  turn();
  EXPECT_EQ(told_, std::vector<std::string>{"lead 10.0.0.1:29400 7"});
  EXPECT_TRUE(candidates_->may_lead());
}

TEST_F(EtcdCandidatesTest, AnOfficeThatNobodyTookUpIsGivenBack) {
  lead();
  nobody_leads();
  candidates_->settle(false, false);
  turn();
  EXPECT_EQ(etcd_.requests().back(), R"(/v3/lease/revoke {"ID":"11"})");
}

TEST_F(EtcdCandidatesTest, TheEndTakesBackTheLeaseOfACampaign) {
  nobody_leads();
  etcd_.answer(R"({"header":{},"ID":"11","TTL":"30"})");
  candidates_->find();
  turn();
  ASSERT_TRUE(etcd_.requests().back().starts_with("/v3/kv/txn"));
  nobody_leads();
  candidates_->end();
  turn();
  EXPECT_EQ(etcd_.requests().back(), R"(/v3/lease/revoke {"ID":"11"})");
  EXPECT_EQ(told_, std::vector<std::string>{"ended"});
}

TEST_F(EtcdCandidatesTest, ACampaignWithoutALeaseHasNothingToGiveBack) {
  nobody_leads();
  candidates_->find();
  turn();
  ASSERT_TRUE(etcd_.requests().back().starts_with("/v3/lease/grant"));
  const size_t asked = etcd_.requests().size();
  candidates_->end();
  turn();
  EXPECT_EQ(etcd_.requests().size(), asked);
  EXPECT_TRUE(candidates_->ended());
}

TEST_F(EtcdCandidatesTest, AShortMarkOfAnotherAgentIsReplaced) {
  nobody_leads();
  etcd_.answer(R"({"header":{},"ID":"11","TTL":"30"})");
  etcd_.answer(
      R"({"header":{"revision":"7"},"succeeded":true,"responses":[{"response_put":{}},)"
      R"({"response_range":{"kvs":[{"create_revision":"3","lease":"5","value":"aGk="}]}}]})");
  etcd_.answer(R"({"result":{"header":{},"ID":"5","TTL":"15"}})");
  etcd_.answer(R"({"header":{},"ID":"12","TTL":"90"})");
  nobody_leads();
  candidates_->find();
  turn();
  EXPECT_EQ(told_, std::vector<std::string>{"lead 10.0.0.1:29400 7"});
  EXPECT_TRUE(etcd_.requests().back().starts_with("/v3/kv/put")) << etcd_.requests().back();
}

TEST_F(EtcdCandidatesTest, StopsInTimeWithoutAnswers) {
  lead();
  for (int second = 0; second < 23; ++second) {
    clock_.advance(1s);
    turn();
  }
  EXPECT_TRUE(told_.empty());
  clock_.advance(1s);
  turn();
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_TRUE(told_[0].starts_with("stop: no renewal of the lease was answered in time"))
      << told_[0];
}

TEST_F(EtcdCandidatesTest, WhoIsAboutToEndDoesNotCampaign) {
  willing_ = false;
  nobody_leads();
  candidates_->find();
  turn();
  EXPECT_EQ(told_,
            std::vector<std::string>{"nobody: nobody leads, and this agent is about to end"});
  EXPECT_EQ(etcd_.requests().size(), 1U);
}

TEST_F(EtcdCandidatesTest, SomebodyElsesValueIsSaid) {
  etcd_.answer(R"({"header":{},"kvs":[{"create_revision":"2","value":"aGk="}]})");
  candidates_->find();
  turn();
  EXPECT_EQ(told_,
            std::vector<std::string>{"nobody: etcd key '/muster/job/leader': holds something "
                                     "else than a leader's address"});
}

TEST_F(EtcdCandidatesTest, TheEndWaitsForNobody) {
  candidates_->find();
  turn();
  candidates_->end();
  turn();
  EXPECT_TRUE(candidates_->ended());
}

}  // namespace
}  // namespace muster::launcher
