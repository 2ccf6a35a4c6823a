// Who may lead the job, from every source.
#include "launcher/agent/finding/candidate_list.h"

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tests/support/fake_files.h"
#include "tests/support/fake_resolver.h"

namespace muster::launcher {
namespace {

using std::chrono::seconds;
using Names = std::vector<std::string>;

class CandidateListTest : public ::testing::Test {
 protected:
  CandidateListTest() {
    job_.min_nodes = job_.max_nodes = 4;
    options_.max_nodes = 4;
  }
  Names names(const std::vector<rendezvous::Candidate>& candidates) {
    Names names;
    for (const auto& candidate : candidates) names.push_back(candidate.to_string());
    return names;
  }
  Names open(const std::string& host_name = "me") {
    opened_ = list_.open(host_name);
    return opened_ ? names(list_.current()) : Names{opened_.error().text};
  }
  ListAnswer refresh() {
    ListAnswer found;
    list_.refresh([&found](ListAnswer answer) { found = std::move(answer); });
    EXPECT_TRUE(loop_->run_until_idle());
    return found;
  }

  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  testing::FakeResolver resolver_{*loop_};
  testing::FakeFiles files_;
  Options options_;
  rendezvous::JobOptions job_;
  CandidateList list_{*loop_, resolver_, files_, options_, job_, {}};
  Status opened_;
};

TEST_F(CandidateListTest, EndpointsInTheirOrder) {
  options_.rdzv_endpoint = "b:1,a,10.0.0.1:2,localhost:3";
  EXPECT_EQ(open(), (Names{"b:1", "a:29400", "10.0.0.1:2", "127.0.0.1:3"}));
  EXPECT_FALSE(list_.is_read());
}

TEST_F(CandidateListTest, ANodeMayLeadAloneOrNever) {
  files_.add_file("/etc/hosts", "10.0.0.9 pi-launcher.pi.ns.svc pi-launcher\n");
  CandidateList alone(*loop_, resolver_, files_, options_, job_, {.leads = Leads::kAlone});
  ASSERT_TRUE(alone.open("pi-launcher"));
  EXPECT_EQ(names(alone.current()), Names{"pi-launcher.pi.ns.svc:29400"});
  EXPECT_EQ(alone.find_self(alone.current(), 29400).candidate, 0);
  options_.rdzv_endpoint = "pi-launcher";
  CandidateList never(*loop_, resolver_, files_, options_, job_,
                      {.leads = Leads::kNever, .leads_reason = "--mpi-role worker"});
  ASSERT_TRUE(never.open("pi-launcher"));
  const auto self = never.find_self(never.current(), 29400);
  EXPECT_EQ(self.candidate, std::nullopt);
  EXPECT_EQ(self.reason, "--mpi-role worker");
  EXPECT_FALSE(never.may_lead());
}

TEST_F(CandidateListTest, OneNodeAloneIsOnLoopback) {
  options_.standalone = true;
  options_.rdzv_endpoint = "localhost:0";
  EXPECT_EQ(open(), Names{"127.0.0.1:0"});
  EXPECT_EQ(list_.find_self(list_.current(), 0).candidate, 0);
}

TEST_F(CandidateListTest, OfMoreEndpointsThanCandidatesTheFirstThree) {
  options_.rdzv_endpoint = "w-[0-16]";
  EXPECT_EQ(open(), (Names{"w-0:29400", "w-1:29400", "w-2:29400"}));
  options_.rdzv_endpoint = "w-%d";
  EXPECT_EQ(open().size(), 4U);
}

TEST_F(CandidateListTest, HostsAreAllNodesAndThreeOfThemMayLead) {
  options_.nodes.hosts = "w-[0-3]";
  EXPECT_EQ(open(), (Names{"w-0:29400", "w-1:29400", "w-2:29400"}));
  EXPECT_EQ(names(list_.listed()), (Names{"w-0:29400", "w-1:29400", "w-2:29400", "w-3:29400"}));
}

TEST_F(CandidateListTest, EndpointsAreAllNodesWhereTheyAreAsMany) {
  options_.rdzv_endpoint = "w-[0-2]";
  EXPECT_EQ(open().size(), 3U);
  EXPECT_TRUE(list_.listed().empty());
  options_.rdzv_endpoint = "w-[0-3]";
  EXPECT_EQ(open().size(), 4U);
  EXPECT_EQ(list_.listed().size(), 4U);
}

TEST_F(CandidateListTest, AListOfTooFewHostsIsNone) {
  job_.min_nodes = 3;
  options_.nodes.hosts = "a,b";
  EXPECT_EQ(open(), Names{"--hosts a,b: 2 nodes, but the job needs 3: list all nodes"});
  options_.nodes.hosts = "dns:workers";
  (void)open();
  EXPECT_TRUE(opened_);
  files_.add_file("/hosts", "a\nb\n");  // more may follow
  options_.nodes.hosts = "@/hosts";
  (void)open();
  EXPECT_TRUE(opened_);
}

TEST_F(CandidateListTest, AHostFileIsReadAgain) {
  files_.add_file("/hosts", "a\nb slots=4\n");
  options_.nodes.hosts = "@/hosts";
  EXPECT_EQ(open(), (Names{"a:29400", "b:29400"}));
  ASSERT_TRUE(list_.is_read());
  files_.add_file("/hosts", "a\nc\n");
  const ListAnswer answer = refresh();
  EXPECT_EQ(names(answer.candidates), (Names{"a:29400", "c:29400"}));
  EXPECT_EQ(names(list_.current()), (Names{"a:29400", "b:29400"}));  // until it is adopted
  list_.adopt(answer.candidates);
  EXPECT_EQ(names(list_.listed()), (Names{"a:29400", "c:29400"}));
  files_.remove("/hosts");
  EXPECT_TRUE(list_.listed().empty());
  EXPECT_NE(refresh().problem, "");
  EXPECT_TRUE(refresh().candidates.empty());
}

TEST_F(CandidateListTest, TheMasterOfTheStaticBackend) {
  job_.known_nodes = true;
  options_.master_addr = "master.svc";
  EXPECT_EQ(open(), Names{"master.svc:29500"});
  options_.master_port = 7;
  EXPECT_EQ(open(), Names{"master.svc:7"});
  options_.master_addr = "no good";
  EXPECT_NE(open().front().find("--master-addr no good: "), std::string::npos);
}

TEST_F(CandidateListTest, TorchrunsStaticMasterIsLoopback) {
  job_.known_nodes = true;
  options_.personality = Personality::kTorchrun;
  EXPECT_EQ(open(), Names{"127.0.0.1:29500"});
}

TEST_F(CandidateListTest, PodsOfAnIndexedJobFromTheOwnName) {
  files_.add_file("/etc/hosts", "10.1.2.3\tjob-2.svc.ns.cluster.local\tjob-2\n");
  EXPECT_EQ(open("job-2"),
            (Names{"job-0.svc.ns.cluster.local:29400", "job-1.svc.ns.cluster.local:29400",
                   "job-2.svc.ns.cluster.local:29400"}));
}

TEST_F(CandidateListTest, WithoutAnythingItSaysWhatToGive) {
  (void)open("laptop");
  ASSERT_FALSE(opened_);
  EXPECT_EQ(opened_.error().code, Code::kUsage);
  EXPECT_NE(opened_.error().text.find("--rdzv-endpoint"), std::string::npos);
}

TEST_F(CandidateListTest, AListThatIsTooLongIsAWrongCommandLineOrAWrongFile) {
  const std::string complaint = ": worker-[0-70000]: 70001 hosts, limit 16384";
  options_.nodes.hosts = "worker-[0-70000]";
  EXPECT_EQ(open(), Names{"--hosts" + complaint});
  EXPECT_EQ(opened_.error().code, Code::kUsage);
  files_.add_file("/hosts", "worker-[0-70000]\n");
  options_.nodes.hosts = "@/hosts";
  (void)open();
  EXPECT_EQ(opened_.error().code, Code::kConfig);
  options_.rdzv_endpoint = "worker-[0-70000]";
  EXPECT_EQ(open(), Names{"--rdzv-endpoint" + complaint});
  EXPECT_EQ(opened_.error().code, Code::kUsage);
}

TEST_F(CandidateListTest, AServiceIsAskedUntilAllItsNodesAreThere) {
  options_.rdzv_endpoint = "dns:workers:5";
  EXPECT_EQ(open(), Names{"dns:workers:5"});
  EXPECT_TRUE(list_.awaits_service());
  EXPECT_EQ(refresh().state, rendezvous::Reachability::kNoName);
  resolver_.set("workers", {"10.0.0.10", "10.0.0.9"});
  EXPECT_EQ(refresh().problem, "look up workers: 2 of 4 addresses");
  EXPECT_EQ(refresh().state, rendezvous::Reachability::kFewAddresses);
  resolver_.set("workers", {"10.0.0.10", "10.0.0.9", "fd00::1", "10.0.0.1"});
  EXPECT_EQ(names(refresh().candidates), (Names{"10.0.0.1:5", "10.0.0.9:5", "10.0.0.10:5"}));
}

TEST_F(CandidateListTest, AfterTheLastCallAServiceMayHaveTheMinimum) {
  job_.min_nodes = 2;
  options_.rdzv_endpoint = "dns:workers";
  (void)open();
  resolver_.set("workers", {"10.0.0.10", "10.0.0.9"});
  EXPECT_TRUE(refresh().candidates.empty());
  clock_.advance(job_.last_call);
  EXPECT_TRUE(loop_->run_until_idle());
  EXPECT_EQ(refresh().candidates.size(), 2U);
}

TEST_F(CandidateListTest, AServiceStandsAlone) {
  options_.rdzv_endpoint = "a,dns:workers";
  EXPECT_EQ(open(), Names{"dns:workers:29400: a service must be the only entry"});
}

TEST_F(CandidateListTest, FindsItselfByItsNameByItsRankOrByOrder) {
  options_.rdzv_endpoint = "w-0.svc,w-1.svc,w-2.svc";
  (void)open("w-1");
  EXPECT_EQ(list_.find_self(list_.current(), 29400).candidate, 1);
  options_.rdzv_endpoint = "alias";
  (void)open("w-1");
  EXPECT_EQ(list_.find_self(list_.current(), 29400).candidate, std::nullopt);
  options_.rdzv_conf["is_host"] = "true";
  EXPECT_EQ(list_.find_self(list_.current(), 29400).candidate, 0);
  options_.rdzv_conf["is_host"] = "0";
  EXPECT_EQ(list_.find_self(list_.current(), 29400).candidate, std::nullopt);
  job_.known_nodes = true;
  EXPECT_EQ(list_.find_self(list_.current(), 29400).candidate, 0);
  options_.node_rank = 1;
  EXPECT_EQ(list_.find_self(list_.current(), 29400).candidate, std::nullopt);
}

TEST_F(CandidateListTest, KnowsWhoIsBesideIt) {
  job_.known_nodes = true;
  options_.node_rank = 1;
  for (const std::string master : {"127.0.0.1", "localhost", "w-1.svc"}) {
    options_.master_addr = master;
    (void)open("w-1");
    EXPECT_TRUE(list_.is_beside_us()) << master;
  }
  options_.master_addr = "w-0.svc";
  (void)open("w-1");
  EXPECT_FALSE(list_.is_beside_us());
}

}  // namespace
}  // namespace muster::launcher
