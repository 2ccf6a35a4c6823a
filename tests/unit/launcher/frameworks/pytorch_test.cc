#include "launcher/frameworks/pytorch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace muster::launcher {
namespace {

// Worker 5 of 8 on the second of two nodes of 4.
RoundFacts make_facts() {
  RoundFacts facts;
  facts.rank = 5;
  facts.local_rank = 1;
  facts.group_rank = 1;
  facts.role_rank = 5;
  facts.world_size = 8;
  facts.local_world_size = 4;
  facts.group_world_size = 2;
  facts.role_world_size = 8;
  facts.role = "default";
  facts.master_addr = "10.0.0.7";
  facts.master_port = 29400;
  facts.restart_count = 2;
  facts.max_restarts = 3;
  facts.run_id = "job-1";
  facts.error_file = "/tmp/logs/1/error.json";
  facts.signals_to_handle = "SIGTERM,SIGINT,SIGHUP,SIGQUIT";
  facts.agent_id = "token";
  return facts;
}

Environment with(std::initializer_list<std::pair<const char*, const char*>> variables) {
  Environment environment;
  for (const auto& [name, value] : variables) environment.set(name, value);
  return environment;
}

using Action = VariableDecision::Action;

Result<PlannedEnvironment> environment_of(const Environment& agent, const RoundFacts& facts) {
  auto plan = pytorch_plan(agent, facts);
  if (!plan) return std::move(plan).error();
  return plan->merge(agent);
}

const VariableDecision* find_decision(const PlannedEnvironment& worker, std::string_view name) {
  const auto found = std::ranges::find(worker.decisions, name, &VariableDecision::name);
  return found == worker.decisions.end() ? nullptr : &*found;
}

std::string value_of(const Environment& agent, const RoundFacts& facts, std::string_view name) {
  const auto worker = environment_of(agent, facts);
  if (!worker) return worker.error().text;
  return std::string(worker->environment.get(name).value_or("(unset)"));
}

TEST(PyTorch, LightningLearnsHowManyNodesThereAre) {
  RoundFacts facts = make_facts();
  EXPECT_EQ(value_of({}, facts, "PL_TRAINER_NUM_NODES"), "2");
  EXPECT_EQ(value_of({}, facts, "LT_NUM_NODES"), "2");
  EXPECT_EQ(value_of(with({{"LT_NUM_NODES", "3"}}), facts, "LT_NUM_NODES"), "3");
  facts.group_world_size = 1;
  EXPECT_EQ(value_of({}, facts, "PL_TRAINER_NUM_NODES"), "(unset)");
}

TEST(PyTorch, ExactlyTheVariablesOfTorchrunAndOurMark) {
  RoundFacts facts = make_facts();
  facts.group_world_size = 1;
  const auto worker = environment_of(Environment(), facts);
  ASSERT_TRUE(worker);
  const std::map<std::string, std::string, std::less<>> expected = {
      {"LOCAL_RANK", "1"},
      {"RANK", "5"},
      {"GROUP_RANK", "1"},
      {"ROLE_RANK", "5"},
      {"ROLE_NAME", "default"},
      {"LOCAL_WORLD_SIZE", "4"},
      {"WORLD_SIZE", "8"},
      {"GROUP_WORLD_SIZE", "1"},
      {"ROLE_WORLD_SIZE", "8"},
      {"MASTER_ADDR", "10.0.0.7"},
      {"MASTER_PORT", "29400"},
      {"TORCHELASTIC_RESTART_COUNT", "2"},
      {"TORCHELASTIC_MAX_RESTARTS", "3"},
      {"TORCHELASTIC_RUN_ID", "job-1"},
      {"TORCHELASTIC_USE_AGENT_STORE", "True"},
      {"TORCHELASTIC_ERROR_FILE", "/tmp/logs/1/error.json"},
      {"TORCHELASTIC_SIGNALS_TO_HANDLE", "SIGTERM,SIGINT,SIGHUP,SIGQUIT"},
      {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
      {"OMP_NUM_THREADS", "1"},
      {"MUSTER_AGENT_ID", "token"},
  };
  EXPECT_EQ(worker->environment.variables(), expected);
  EXPECT_EQ(worker->decisions.size(), expected.size());
  for (const VariableDecision& decision : worker->decisions) {
    EXPECT_EQ(decision.action, Action::kSet) << decision.name;
    EXPECT_EQ(decision.value, expected.at(decision.name));
    EXPECT_FALSE(decision.reason.empty()) << decision.name;
    EXPECT_FALSE(decision.source.empty()) << decision.name;
  }
}

TEST(PyTorch, APlainProgramFindsNoneOfThem) {
  RoundFacts facts = make_facts();
  facts.is_plain = true;
  const auto agent = with({{"RANK", "1"}, {"PMI_RANK", "1"}});
  const auto worker = environment_of(agent, facts);
  ASSERT_TRUE(worker);
  const std::map<std::string, std::string, std::less<>> expected = {{"MUSTER_AGENT_ID", "token"},
                                                                    {"RANK", "1"}};
  EXPECT_EQ(worker->environment.variables(), expected);
}

TEST(PyTorch, PythonInAProgramIsUnbufferedUnlessTheUserSaysHow) {
  RoundFacts facts = make_facts();
  EXPECT_EQ(value_of({}, facts, "PYTHONUNBUFFERED"), "(unset)");
  facts.unbuffered = true;
  EXPECT_EQ(value_of({}, facts, "PYTHONUNBUFFERED"), "1");
  EXPECT_EQ(value_of(with({{"PYTHONUNBUFFERED", ""}}), facts, "PYTHONUNBUFFERED"), "");
}

TEST(PyTorch, APythonThatIsAloneHostsItsStore) {
  Options options;
  options.program = "/usr/bin/python3";
  options.entry = EntryKind::kProgram;
  options.standalone = true;
  EXPECT_TRUE(worker_hosts_store(options, {}));
  const auto changed = [&options](const auto& change) {
    Options other = options;
    change(other);
    return worker_hosts_store(other, {});
  };
  EXPECT_FALSE(changed([](Options& other) { other.program = "./run.sh"; }));
  EXPECT_FALSE(changed([](Options& other) { other.entry = EntryKind::kScript; }));
  EXPECT_FALSE(changed([](Options& other) { other.personality = Personality::kTorchrun; }));
  EXPECT_FALSE(changed([](Options& other) { other.workers_per_node.number = 2; }));
  EXPECT_FALSE(changed([](Options& other) { other.master_port = 29500; }));
  EXPECT_FALSE(changed([](Options& other) { other.rdzv_endpoint = "localhost:29500"; }));
  EXPECT_FALSE(changed([](Options& other) {
    other.standalone = false;
    other.max_nodes = 2;
  }));
  options.workers_per_node.number = 2;
  EXPECT_TRUE(worker_hosts_store(options, with({{"TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1"}})));
}

TEST(PyTorch, WhatIsNotOursIsNoDecision) {
  const auto worker = environment_of(with({{"ZZ_UNRELATED", "1"}}), make_facts());
  ASSERT_TRUE(worker);
  EXPECT_EQ(find_decision(*worker, "ZZ_UNRELATED"), nullptr);
}

TEST(PyTorch, OmpThreadsAreLeftAloneForOneWorkerAndForTheUser) {
  RoundFacts facts = make_facts();
  facts.local_world_size = 1;
  const auto single = environment_of(Environment(), facts);
  ASSERT_TRUE(single);
  EXPECT_FALSE(single->environment.has("OMP_NUM_THREADS"));

  const auto users = environment_of(with({{"OMP_NUM_THREADS", "6"}}), make_facts());
  ASSERT_TRUE(users);
  EXPECT_EQ(users->environment.get("OMP_NUM_THREADS"), "6");
  const VariableDecision* kept = find_decision(*users, "OMP_NUM_THREADS");
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(kept->action, Action::kKeep);
  EXPECT_EQ(kept->value, "6");
  EXPECT_EQ(kept->reason, "set by the user");
}

TEST(PyTorch, NcclErrorHandlingOfTheUserStandsAndTheOldNameIsTheUsersAlone) {
  const RoundFacts facts = make_facts();
  EXPECT_EQ(value_of(with({{"TORCH_NCCL_ASYNC_ERROR_HANDLING", "3"}}), facts,
                     "TORCH_NCCL_ASYNC_ERROR_HANDLING"),
            "3");
  EXPECT_EQ(value_of({}, facts, "NCCL_ASYNC_ERROR_HANDLING"), "(unset)");
  EXPECT_EQ(
      value_of(with({{"NCCL_ASYNC_ERROR_HANDLING", "0"}}), facts, "NCCL_ASYNC_ERROR_HANDLING"),
      "0");
}

TEST(PyTorch, InheritedRanksAreOverwritten) {
  // As PyTorchJob sets them: per node, not per process.
  const auto agent = with({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "x-master-0"}});
  EXPECT_EQ(value_of(agent, make_facts(), "RANK"), "5");
  EXPECT_EQ(value_of(agent, make_facts(), "WORLD_SIZE"), "8");
  EXPECT_EQ(value_of(agent, make_facts(), "MASTER_ADDR"), "10.0.0.7");
}

TEST(PyTorch, RanksOfOtherFamiliesAreScrubbed) {
  const auto agent = with({{"OMPI_COMM_WORLD_RANK", "3"},
                           {"PMIX_RANK", "3"},
                           {"PMI_SIZE", "4"},
                           {"SLURM_PROCID", "1"},
                           {"SLURM_JOB_ID", "77"},
                           {"OMPI_MCA_btl", "^openib"}});
  const auto worker = environment_of(agent, make_facts());
  ASSERT_TRUE(worker);
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_SIZE", "SLURM_PROCID"}) {
    EXPECT_FALSE(worker->environment.has(name)) << name;
    const VariableDecision* removed = find_decision(*worker, name);
    ASSERT_NE(removed, nullptr) << name;
    EXPECT_EQ(removed->action, Action::kUnset);
  }
  EXPECT_EQ(find_decision(*worker, "SLURM_PROCID")->reason, "rank of an outer Slurm step launch");
  EXPECT_EQ(worker->environment.get("SLURM_JOB_ID"), "77");
  EXPECT_EQ(worker->environment.get("OMPI_MCA_btl"), "^openib");
}

TEST(PyTorch, SecretsNeverReachWorkersOrThePlan) {
  const auto agent = with({{"MUSTER_JOB_SECRET", "hunter2"},
                           {"MUSTER_JOB_SECRET_FILE", "/run/secret"},
                           {"MUSTER_LOG_LEVEL", "debug"}});
  const auto worker = environment_of(agent, make_facts());
  ASSERT_TRUE(worker);
  EXPECT_FALSE(worker->environment.has("MUSTER_JOB_SECRET"));
  EXPECT_FALSE(worker->environment.has("MUSTER_JOB_SECRET_FILE"));
  EXPECT_TRUE(worker->environment.has("MUSTER_LOG_LEVEL"));
  for (const VariableDecision& decision : worker->decisions) {
    EXPECT_EQ(decision.value.find("hunter2"), std::string::npos);
    EXPECT_EQ(decision.reason.find("hunter2"), std::string::npos);
  }
}

TEST(PyTorch, TheRestOfTheAgentsEnvironmentIsInherited) {
  const auto agent = with({{"PET_NNODES", "2"},
                           {"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", "x"},
                           {"USE_LIBUV", "0"},
                           {"TORCHELASTIC_ERROR_FILE", "/outer/reply.json"}});
  EXPECT_EQ(value_of(agent, make_facts(), "PET_NNODES"), "2");
  EXPECT_EQ(value_of(agent, make_facts(), "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"), "x");
  EXPECT_EQ(value_of(agent, make_facts(), "USE_LIBUV"), "0");
  EXPECT_EQ(value_of(agent, make_facts(), "TORCHELASTIC_ERROR_FILE"), "/tmp/logs/1/error.json");
}

TEST(PyTorch, EmptyRoleAndErrorFileAreSetEmpty) {
  RoundFacts facts = make_facts();
  facts.role.clear();
  facts.error_file.clear();
  EXPECT_EQ(value_of({}, facts, "ROLE_NAME"), "");
  EXPECT_EQ(value_of({}, facts, "TORCHELASTIC_ERROR_FILE"), "");
}

TEST(PyTorch, RankZeroMayServeTheStoreItself) {
  RoundFacts facts = make_facts();
  facts.use_agent_store = false;
  EXPECT_EQ(value_of({}, facts, "TORCHELASTIC_USE_AGENT_STORE"), "False");
}

TEST(PyTorch, VirtualLocalRankHandsOutOneElement) {
  RoundFacts facts = make_facts();
  facts.virtual_local_rank = true;
  const auto cuda = [&facts](const Environment& agent) {
    return value_of(agent, facts, "CUDA_VISIBLE_DEVICES");
  };
  EXPECT_EQ(value_of({}, facts, "LOCAL_RANK"), "0");
  EXPECT_EQ(value_of({}, facts, "LOCAL_WORLD_SIZE"), "4");
  EXPECT_EQ(cuda({}), "1");
  EXPECT_EQ(cuda(with({{"CUDA_VISIBLE_DEVICES", "4, 6 ,7"}})), "6");
  EXPECT_EQ(cuda(with({{"CUDA_VISIBLE_DEVICES", "MIG-a,MIG-b"}})), "MIG-b");
  EXPECT_EQ(cuda(with({{"CUDA_VISIBLE_DEVICES", ""}})), "");
  EXPECT_EQ(cuda(with({{"CUDA_VISIBLE_DEVICES", "-1"}})), "-1");
}

TEST(PyTorch, VirtualLocalRankNarrowsHipWhereThatIsUsed) {
  RoundFacts facts = make_facts();
  facts.virtual_local_rank = true;
  const auto agent = with({{"HIP_VISIBLE_DEVICES", "2,3"}});
  EXPECT_EQ(value_of(agent, facts, "HIP_VISIBLE_DEVICES"), "3");
  EXPECT_EQ(value_of(agent, facts, "CUDA_VISIBLE_DEVICES"), "(unset)");
}

TEST(PyTorch, VirtualLocalRankBeyondTheListIsAConfigurationError) {
  RoundFacts facts = make_facts();
  facts.virtual_local_rank = true;
  for (const char* list : {"0", "0,-1"}) {
    const auto worker = environment_of(with({{"CUDA_VISIBLE_DEVICES", list}}), facts);
    ASSERT_FALSE(worker) << list;
    EXPECT_EQ(worker.error().code, Code::kConfig);
    EXPECT_EQ(worker.error().text, std::string("--virtual-local-rank: local rank 1, but "
                                               "CUDA_VISIBLE_DEVICES=") +
                                       list + " names 1 devices");
  }
}

TEST(PyTorch, WithoutVirtualLocalRankTheDevicesAreInherited) {
  EXPECT_EQ(value_of(with({{"CUDA_VISIBLE_DEVICES", "0"}}), make_facts(), "CUDA_VISIBLE_DEVICES"),
            "0");
  EXPECT_EQ(value_of({}, make_facts(), "CUDA_VISIBLE_DEVICES"), "(unset)");
}

TEST(PyTorch, TheUserMayHaveAWorkerServeTheStore) {
  Environment environment;
  EXPECT_FALSE(worker_serves_store(environment));
  environment.set(kDisableSharingVariable, "0");
  EXPECT_FALSE(worker_serves_store(environment));
  environment.set(kDisableSharingVariable, "1");
  EXPECT_TRUE(worker_serves_store(environment));
}

}  // namespace
}  // namespace muster::launcher
