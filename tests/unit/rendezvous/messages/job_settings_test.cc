#include "rendezvous/messages/job_settings.h"

#include <gtest/gtest.h>

#include "rendezvous/messages/control_messages.h"
#include "rendezvous/messages/job_options.h"

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;

JobOptions options_of(int min, int max) {
  JobOptions options;
  options.run_id = "job";
  options.min_nodes = min;
  options.max_nodes = max;
  return options;
}

Hello hello_of(const JobOptions& options) {
  Hello hello;
  hello.run_id = options.run_id;
  hello.secured = options.secured;
  hello.node = "node-2";
  hello.settings = told_settings(options);
  return hello;
}

TEST(JobSettingsTest, ANodeThatWasToldTheSameFits) {
  const JobOptions options = options_of(1, 3);
  EXPECT_FALSE(refusal(options, hello_of(options)).has_value());
  EXPECT_EQ(settings_notice(all_settings(options), hello_of(options)), "");
}

TEST(JobSettingsTest, OtherSizesAndAnotherLeaseAreRefusedInOneLine) {
  JobOptions theirs = options_of(1, 3);
  theirs.lease = 2500ms;
  const auto refused = refusal(options_of(2, 2), hello_of(theirs));
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->code, RefuseCode::kSettings);
  EXPECT_EQ(refused->text,
            "node-2 has --nnodes 1:3 --lease 2500ms, the job at this endpoint --nnodes 2 --lease "
            "30s");
}

TEST(JobSettingsTest, WhoMayLeadHasOneOrderButPerhapsSeveralNames) {
  JobOptions ours = options_of(1, 3), theirs = options_of(1, 3);
  ours.leaders = {"a:1", "b:1", "c:1"};
  theirs.leaders = {"a:1", "c:1", "b:1"};
  const auto refused = refusal(ours, hello_of(theirs));
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->text,
            "node-2 has --rdzv-endpoint a:1,c:1,b:1, the job at this endpoint --rdzv-endpoint "
            "a:1,b:1,c:1");
  for (const std::vector<std::string>& same : std::vector<std::vector<std::string>>{
           {"a:1", "b:1"}, {"10.0.0.1:1", "b:1", "c.example:1"}, {}}) {
    theirs.leaders = same;
    EXPECT_FALSE(refusal(ours, hello_of(theirs)).has_value());
    EXPECT_FALSE(refusal(theirs, hello_of(ours)).has_value());
  }
  ours.leaders = {"localhost:1", "b:1"};
  theirs.leaders = {"a:1", "localhost:1"};
  EXPECT_FALSE(refusal(ours, hello_of(theirs)).has_value());
  // Of a list that is too long for a Hello the beginning is compared.
  ours.leaders.assign(200, "long-name-of-a-host.example.com:29400");
  ours.leaders.back() = "z:1";
  theirs.leaders = ours.leaders;
  EXPECT_FALSE(refusal(ours, hello_of(theirs)).has_value());
}

TEST(JobSettingsTest, AnElasticJobTakesElasticNodesAloneAndWorkersThatAreNotToldTheSizes) {
  JobOptions ours = options_of(1, 3);
  const std::string served = "mpirun or command";
  ours.start = {"--mpi-launch", "elastic", served, served};
  JobOptions theirs = options_of(1, 3);
  theirs.start = {"--mpi-launch", served, served, "elastic"};
  const auto refused = refusal(ours, hello_of(theirs));
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(
      refused->text,
      "node-2 has --mpi-launch mpirun or command, the job at this endpoint --mpi-launch elastic");
  theirs.sizes_known = false;
  EXPECT_FALSE(refusal(ours, hello_of(theirs)).has_value());
}

TEST(JobSettingsTest, AnotherFrameworkAndWhoStartsTheRanksAreRefused) {
  JobOptions ours = options_of(1, 3);
  ours.framework = "mpi";
  const auto framework = refusal(ours, hello_of(options_of(1, 3)));
  ASSERT_TRUE(framework.has_value());
  EXPECT_EQ(framework->text,
            "node-2 has --framework pytorch, the job at this endpoint --framework mpi");
  const std::string served = "mpirun or command";
  ours.start = {"--mpi-launch", served, served, "elastic"};
  JobOptions theirs = ours;
  theirs.start = {"--mpi-launch", "pmi", served};
  for (const bool sizes_known : {true, false}) {
    theirs.sizes_known = sizes_known;
    const auto starter = refusal(ours, hello_of(theirs));
    ASSERT_TRUE(starter.has_value());
    EXPECT_EQ(starter->text,
              "node-2 has --mpi-launch pmi, the job at this endpoint --mpi-launch mpirun or "
              "command");
  }
  ours.start = theirs.start;
  EXPECT_FALSE(refusal(ours, hello_of(theirs)).has_value());
}

TEST(JobSettingsTest, AnotherRunIdIsNamedBeforeAnythingElse) {
  JobOptions theirs = options_of(1, 3);
  theirs.run_id = "two";
  JobOptions ours = options_of(2, 2);
  ours.run_id = "one";
  const auto refused = refusal(ours, hello_of(theirs));
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->code, RefuseCode::kRunId);
  EXPECT_EQ(refused->text, "node-2 has the run id 'two', the job at this endpoint 'one'");
}

TEST(JobSettingsTest, SizesAreToldWithoutTheLaunchersNodeAndNotByWhoDoesNotKnowThem) {
  JobOptions launcher = options_of(2, 4);
  launcher.rule.first = FirstNode::kApart;
  launcher.allowed_nodes = {2, 4};
  launcher.nodes_step = 2;
  EXPECT_EQ(told_settings(launcher), (std::vector<Setting>{{"--nnodes", "1:3"},
                                                           {"--nnodes-step", "2", "1"},
                                                           {"--nnodes-allowed", "1,3", "any"}}));
  JobOptions worker = options_of(1, 1);
  worker.sizes_known = false;
  EXPECT_EQ(told_settings(worker), (std::vector<Setting>{{"--lease", "30s", "30s"}}));
  EXPECT_FALSE(refusal(launcher, hello_of(worker)).has_value());
  worker.lease = 10s;
  EXPECT_EQ(refusal(launcher, hello_of(worker))->text,
            "node-2 has --lease 10s, the job at this endpoint --lease 30s");
}

TEST(JobSettingsTest, WhatOnlyTheLeaderDecidesIsANotice) {
  JobOptions ours = options_of(2, 2);
  JobOptions theirs = ours;
  ours.leader_settings = {{"--max-restarts", "3", "0"}};
  theirs.leader_settings = {{"--max-restarts", "0", "0"}};
  theirs.replace_wait = 5s;
  EXPECT_FALSE(refusal(ours, hello_of(theirs)).has_value());
  EXPECT_EQ(settings_notice(all_settings(ours), hello_of(theirs)),
            "node-2 has --replace-wait 5s --max-restarts 0, the leader --replace-wait 30s "
            "--max-restarts 3: the leader's count");
}

TEST(JobSettingsTest, AnObserverNeedsNoSettingsAndUnknownFlagsAreNobodysBusiness) {
  const JobOptions options = options_of(2, 2);
  Hello hello = hello_of(options_of(1, 3));
  hello.purpose = Purpose::kObserver;
  EXPECT_FALSE(refusal(options, hello).has_value());
  hello.purpose = Purpose::kMember;
  hello.settings = {{"--nnodes", "2"}, {"--of-a-later-version", "1"}};
  EXPECT_FALSE(refusal(options, hello).has_value());
}

TEST(JobSettingsTest, WhatHasItsDefaultIsNotSaidAndStillCompared) {
  EXPECT_EQ(told_settings(options_of(2, 2)), (std::vector<Setting>{{"--nnodes", "2"}}));
  JobOptions ours = options_of(2, 2);
  ours.lease = 5s;
  const auto refused = refusal(ours, hello_of(options_of(2, 2)));
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->text, "node-2 has --lease 30s, the job at this endpoint --lease 5s");
}

TEST(JobSettingsTest, ALongListOfSizesIsCutAlikeOnBothSides) {
  JobOptions options = options_of(1, 2000);
  for (int size = 1; size <= 2000; ++size) options.allowed_nodes.push_back(size);
  for (const Setting& setting : all_settings(options))
    EXPECT_LE(setting.value.size(), kMaxSettingBytes);
  EXPECT_FALSE(refusal(options, hello_of(options)).has_value());
}

}  // namespace
}  // namespace muster::rendezvous
