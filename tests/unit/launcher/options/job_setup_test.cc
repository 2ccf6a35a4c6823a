#include "launcher/options/job_setup.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

using namespace std::chrono_literals;

Options nodes(int min, int max) {
  Options options;
  options.run_id = "job";
  options.min_nodes = min;
  options.max_nodes = max;
  return options;
}

TEST(JobSetup, ManyNodesMeansMoreThanOneAndNotStandalone) {
  EXPECT_FALSE(has_many_nodes(nodes(1, 1)));
  EXPECT_TRUE(has_many_nodes(nodes(1, 2)));
  Options alone = nodes(1, 2);
  alone.standalone = true;
  EXPECT_FALSE(has_many_nodes(alone));
}

TEST(JobSetup, AnMpiJobTakesANodeAgentOnOneNodeAndALauncherOrWorkerIsNeverAlone) {
  Options options = nodes(1, 1);
  EXPECT_FALSE(needs_node_agent(options));
  options.framework.framework = Framework::kMpi;
  EXPECT_TRUE(needs_node_agent(options));
  EXPECT_FALSE(has_many_nodes(options));
  options.framework.role = MpiRole::kLauncherWorker;
  EXPECT_FALSE(has_many_nodes(options));
  for (const MpiRole role : {MpiRole::kLauncher, MpiRole::kWorker}) {
    options.framework.role = role;
    EXPECT_TRUE(has_many_nodes(options));
  }
  options.framework.mpi_launch = MpiLaunch::kPmi;
  options.framework.role = MpiRole::kAny;
  EXPECT_FALSE(needs_node_agent(options));
}

TEST(JobSetup, AnElasticLauncherWaitsForNobodyBeyondTheLeast) {
  Options options = nodes(2, 3);
  options.framework.framework = Framework::kMpi;
  options.framework.mpi_launch = MpiLaunch::kElastic;
  EXPECT_TRUE(needs_node_agent(options));
  const auto elastic = job_options(options, true);
  EXPECT_TRUE(elastic->rule.leader_alone());
  EXPECT_TRUE(elastic->rule.first_decides());
  EXPECT_EQ(elastic->last_call, 0s);
  options.backend = RendezvousBackend::kStatic;
  EXPECT_EQ(job_options(options, true).error().text,
            "--mpi-launch elastic: the static backend knows all nodes beforehand");
  options.framework.mpi_launch = MpiLaunch::kCommand;
  EXPECT_FALSE(job_options(options, true)->rule.leader_alone());
}

TEST(JobSetup, TheLaunchersNodeCountsBesideThoseOfNnodes) {
  Options options = nodes(1, 3);
  options.framework.framework = Framework::kMpi;
  options.framework.role = MpiRole::kLauncher;
  options.nodes.allowed = {1, 3};
  const auto apart = job_options(options, true);
  EXPECT_EQ(apart->min_nodes, 2);
  EXPECT_EQ(apart->max_nodes, 4);
  EXPECT_EQ(apart->allowed_nodes, (std::vector<int>{2, 4}));
  EXPECT_TRUE(apart->rule.has_appointed() && apart->rule.has_apart() && apart->sizes_known);
  options.framework.role = MpiRole::kLauncherWorker;
  const auto both = job_options(options, true);
  EXPECT_EQ(both->max_nodes, 3);
  EXPECT_TRUE(both->rule.has_appointed() && !both->rule.has_apart());
  options.framework.role = MpiRole::kWorker;
  EXPECT_FALSE(job_options(options, true)->sizes_known);
}

// A worker that starts nothing itself meets a launcher of either kind.
TEST(JobSetup, HowWorkersAreStartedIsComparedInTheUsersWords) {
  const auto start = [](std::optional<MpiLaunch> launch) {
    Options options = nodes(1, 3);
    if (launch) options.framework.framework = Framework::kMpi;
    if (launch) options.framework.mpi_launch = *launch;
    return job_options(options, true)->start;
  };
  const std::string served = "mpirun or command";
  EXPECT_EQ(start(std::nullopt), (rendezvous::Setting{"--mpi-launch", served, served, "elastic"}));
  EXPECT_EQ(start(MpiLaunch::kMpirun), start(std::nullopt));
  EXPECT_EQ(start(MpiLaunch::kCommand), start(std::nullopt));
  EXPECT_EQ(start(MpiLaunch::kElastic),
            (rendezvous::Setting{"--mpi-launch", "elastic", served, served}));
  EXPECT_EQ(start(MpiLaunch::kPmi), (rendezvous::Setting{"--mpi-launch", "pmi", served}));
  EXPECT_EQ(start(MpiLaunch::kPmix), (rendezvous::Setting{"--mpi-launch", "pmix", served}));
}

TEST(JobSetup, AListOfHostsAsksForANumberOfNodesWithinNnodes) {
  rendezvous::JobOptions job;
  job.min_nodes = job.max_nodes = 3;
  EXPECT_EQ(wanted_nodes(job, 5), std::nullopt);
  job.min_nodes = 2;
  job.max_nodes = 6;
  job.nodes_step = 2;
  EXPECT_EQ(wanted_nodes(job, 4), 4);
  EXPECT_EQ(wanted_nodes(job, 5), 4);
  EXPECT_EQ(wanted_nodes(job, 9), 6);
  EXPECT_EQ(wanted_nodes(job, 1), 2);
  job.rule.first = rendezvous::FirstNode::kApart;
  EXPECT_EQ(wanted_nodes(job, 3), 4);
}

TEST(JobSetup, SizesLeaseAndGraceAreTakenOver) {
  Options options = nodes(2, 8);
  options.nodes.step = 2;
  options.nodes.allowed = {2, 4, 8};
  options.nodes.spares = 1;
  options.nodes.lease = 10s;
  options.nodes.replace_wait = 7s;
  options.grace_period = 12s;
  const auto job = job_options(options, true);
  ASSERT_TRUE(job.has_value()) << job.error().text;
  EXPECT_EQ(job->run_id, "job");
  EXPECT_TRUE(job->secured);
  EXPECT_FALSE(job->known_nodes);
  EXPECT_EQ(job->min_nodes, 2);
  EXPECT_EQ(job->max_nodes, 8);
  EXPECT_EQ(job->nodes_step, 2);
  EXPECT_EQ(job->allowed_nodes, (std::vector{2, 4, 8}));
  EXPECT_EQ(job->spares, 1);
  EXPECT_EQ(job->lease, Duration(10s));
  EXPECT_EQ(job->replace_wait, Duration(7s));
  EXPECT_EQ(job->stop_grace, Duration(12s));
}

TEST(JobSetup, SizesThatNoNumberOfNodesMeetsAreRefused) {
  Options options = nodes(2, 4);
  options.nodes.step = 5;
  EXPECT_EQ(job_options(options, false).error().text,
            "--nnodes-step 5: from 2 on it leads to no further size up to 4");
  options.nodes.step = 2;
  options.nodes.allowed = {2, 3};
  EXPECT_EQ(job_options(options, false).error().text,
            "--nnodes-allowed 3: from 2 on --nnodes-step 2 does not meet it");
  options.nodes.allowed = {1, 2, 4, 7};
  EXPECT_TRUE(job_options(options, false).has_value());
}

TEST(JobSetup, WorkersOfALostPeerGetNoMoreGraceThanOthers) {
  Options options = nodes(1, 2);
  options.grace_period = 500ms;
  EXPECT_EQ(job_options(options, false)->lost_grace, Duration(500ms));
}

TEST(JobSetup, StaticMeansExactlyTheKnownNodes) {
  Options options = nodes(1, 4);
  options.backend = RendezvousBackend::kStatic;
  const auto job = job_options(options, false);
  ASSERT_TRUE(job.has_value()) << job.error().text;
  EXPECT_TRUE(job->known_nodes);
  EXPECT_EQ(job->min_nodes, 4);
}

TEST(JobSetup, TorchrunsRendezvousKeysCount) {
  Options options = nodes(1, 2);
  options.rdzv_conf = {{"join_timeout", "90"}, {"last_call_timeout", "4"}};
  const auto job = job_options(options, false);
  ASSERT_TRUE(job.has_value()) << job.error().text;
  EXPECT_EQ(job->join_timeout, Duration(90s));
  EXPECT_EQ(job->last_call, Duration(4s));
}

TEST(JobSetup, TheOneTimeoutOfTheStaticAndEtcdBackendsIsTheJoinTimeout) {
  const auto join_timeout = [](RendezvousBackend backend, std::map<std::string, std::string> keys) {
    Options options = nodes(2, 2);
    options.backend = backend;
    options.rdzv_conf = std::move(keys);
    return job_options(options, false).value().join_timeout;
  };
  const Duration usual = rendezvous::JobOptions{}.join_timeout;
  EXPECT_EQ(join_timeout(RendezvousBackend::kStatic, {{"timeout", "90"}}), 90s);
  EXPECT_EQ(join_timeout(RendezvousBackend::kEtcd, {{"timeout", "90"}}), 90s);
  EXPECT_EQ(join_timeout(RendezvousBackend::kC10d, {{"timeout", "90"}}), usual);
  EXPECT_EQ(join_timeout(RendezvousBackend::kStatic, {{"timeout", "90"}, {"join_timeout", "7"}}),
            7s);
}

TEST(JobSetup, WhatCannotBeMetIsAUsageError) {
  const auto upside_down = job_options(nodes(4, 2), false);
  ASSERT_FALSE(upside_down.has_value());
  EXPECT_EQ(upside_down.error().code, Code::kUsage);
  Options no_number = nodes(1, 2);
  no_number.rdzv_conf = {{"join_timeout", "soon"}};
  const auto key = job_options(no_number, false);
  ASSERT_FALSE(key.has_value());
  EXPECT_NE(key.error().text.find("join_timeout"), std::string::npos) << key.error().text;
  Options short_lease = nodes(1, 2);
  short_lease.nodes.lease = 100ms;
  EXPECT_FALSE(job_options(short_lease, false).has_value());
}

TEST(JobSetup, ThePolicyGetsTheJobsBudget) {
  Options options = nodes(1, 2);
  options.max_restarts = 3;
  options.restart_backoff = 2s;
  options.nodes.restart_window = 60s;
  options.nodes.scale_up_interval = 11s;
  options.nodes.scale_up_quiet = 12s;
  options.nodes.replace_wait = 13s;
  const auto policy = round_policy_options(options);
  EXPECT_EQ(policy.restarts.max_restarts, 3);
  EXPECT_EQ(policy.restarts.backoff, Duration(2s));
  EXPECT_EQ(policy.window, std::optional<Duration>(60s));
  EXPECT_EQ(policy.scale_up_interval, Duration(11s));
  EXPECT_EQ(policy.scale_up_quiet, Duration(12s));
  EXPECT_EQ(policy.replace_wait, Duration(13s));
  EXPECT_TRUE(policy.stop_crash_loops);
}

TEST(JobSetup, TorchrunUsesUpItsRestartsAlsoInACrashLoop) {
  Options options = nodes(1, 2);
  options.personality = Personality::kTorchrun;
  EXPECT_FALSE(round_policy_options(options).stop_crash_loops);
}

}  // namespace
}  // namespace muster::launcher
