#include "base/environment_plan.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using Names = std::vector<std::string>;
using Action = VariableDecision::Action;

PlannedVariable wants(std::string name, std::optional<std::string> value,
                      Claim claim = Claim::kYields) {
  return {.name = std::move(name),
          .value = std::move(value),
          .reason = "",
          .source = "",
          .claim = claim};
}

Environment with(std::string_view name, std::string_view value) {
  Environment environment;
  environment.set(name, value);
  return environment;
}

TEST(EnvironmentPlan, WhatTheUserHasSetStandsAgainstASuggestionOfAnyLayer) {
  EnvironmentPlan plan;
  plan.add(EnvironmentLayer::kAgent, wants("NCCL_DEBUG", "WARN"));
  const auto merged = plan.merge(with("NCCL_DEBUG", "INFO"));
  EXPECT_EQ(merged.environment.get("NCCL_DEBUG"), "INFO");
  ASSERT_EQ(merged.decisions.size(), 1U);
  EXPECT_EQ(merged.decisions[0].action, Action::kKeep);
  EXPECT_EQ(merged.decisions[0].value, "INFO");
  EXPECT_EQ(merged.decisions[0].layer, EnvironmentLayer::kUser);
  EXPECT_EQ(kept_names(merged.decisions), Names{"NCCL_DEBUG"});
}

TEST(EnvironmentPlan, AnEqualSettingOfTheUserIsNoDecision) {
  EnvironmentPlan plan;
  plan.add(EnvironmentLayer::kDefault, wants("OMP_NUM_THREADS", "1"));
  EXPECT_TRUE(plan.merge(with("OMP_NUM_THREADS", "1")).decisions.empty());
}

TEST(EnvironmentPlan, AnEmptySettingOfTheUserIsASetting) {
  EnvironmentPlan plan;
  plan.add(EnvironmentLayer::kDefault, wants("OMP_NUM_THREADS", "1"));
  EXPECT_EQ(plan.merge(with("OMP_NUM_THREADS", "")).environment.get("OMP_NUM_THREADS"), "");
}

TEST(EnvironmentPlan, ARankIsSetWhateverTheUserHas) {
  EnvironmentPlan plan;
  plan.add(EnvironmentLayer::kFramework, wants("RANK", "3", Claim::kOverrides));
  const auto merged = plan.merge(with("RANK", "0"));
  EXPECT_EQ(merged.environment.get("RANK"), "3");
  EXPECT_EQ(merged.decisions.at(0).action, Action::kSet);
}

TEST(EnvironmentPlan, TheStrongerLayerCountsWhicheverCameFirst) {
  EnvironmentPlan plan;
  plan.add(EnvironmentLayer::kMpi, wants("UCX_TLS", "tcp"));
  plan.add(EnvironmentLayer::kFabric, wants("UCX_TLS", "rc"));
  EXPECT_EQ(plan.merge({}).environment.get("UCX_TLS"), "tcp");
  plan.add(EnvironmentLayer::kMpi, wants("UCX_TLS", "sm"));
  EXPECT_EQ(plan.merge({}).environment.get("UCX_TLS"), "sm") << "of one layer the later one";
}

TEST(EnvironmentPlan, WhatOverridesCountsMoreThanASuggestionOfAStrongerLayer) {
  EnvironmentPlan plan;
  plan.add(EnvironmentLayer::kAgent, wants("HOME", "/"));
  plan.add(EnvironmentLayer::kMpi, wants("HOME", "/root", Claim::kOverrides));
  EXPECT_EQ(plan.merge(with("HOME", "/home")).environment.get("HOME"), "/root");
}

TEST(EnvironmentPlan, ATakenVariableIsGoneAndItsValueIsNotTold) {
  EnvironmentPlan plan;
  plan.add(EnvironmentLayer::kAgent, wants("MUSTER_JOB_SECRET", std::nullopt));
  const auto merged = plan.merge(with("MUSTER_JOB_SECRET", "s3cret"));
  EXPECT_FALSE(merged.environment.has("MUSTER_JOB_SECRET"));
  ASSERT_EQ(merged.decisions.size(), 1U);
  EXPECT_EQ(merged.decisions[0].action, Action::kUnset);
  EXPECT_EQ(merged.decisions[0].value, "");
  EXPECT_TRUE(plan.merge({}).decisions.empty()) << "nothing to take";
}

TEST(EnvironmentPlan, ARivalThatTheUserHasSetKeepsOthersOut) {
  EnvironmentPlan plan;
  for (const char* name : {"OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_oob_tcp_if_include"}) {
    auto variable = wants(name, "eth0");
    variable.rival = "OMPI_MCA_if_exclude";
    plan.add(EnvironmentLayer::kMpi, variable);
  }
  const auto merged = plan.merge(with("OMPI_MCA_if_exclude", "lo"));
  EXPECT_EQ(merged.environment.variables().size(), 1U);
  EXPECT_EQ(kept_names(merged.decisions), Names{"OMPI_MCA_if_exclude"});
  EXPECT_EQ(plan.merge({}).environment.variables().size(), 2U);
}

TEST(EnvironmentPlan, DecisionsComeByNameWithReasonAndSource) {
  EnvironmentPlan plan;
  plan.add(EnvironmentLayer::kFramework,
           {PlannedVariable{"WORLD_SIZE", "4", "workers of the job", "round 2"},
            PlannedVariable{"LOCAL_RANK", "1", "this worker on its node", "round 2"}});
  const auto decisions = plan.merge({}).decisions;
  ASSERT_EQ(decisions.size(), 2U);
  EXPECT_EQ(decisions[0].name, "LOCAL_RANK");
  EXPECT_EQ(decisions[1].reason, "workers of the job");
  EXPECT_EQ(decisions[1].source, "round 2");
  EXPECT_EQ(to_string(decisions[1].layer), "framework");
  EXPECT_EQ(to_string(decisions[1].action), "set");
}

TEST(EnvironmentPlan, WhatTheUserLosesHasNames) {
  EnvironmentPlan plan;
  for (const char* name : {"SAME", "OTHER", "ENDS_ALIKE", "PYTHONPATH", "GONE", "NEW"}) {
    auto variable = wants(name, std::string(name) == "PYTHONPATH" ? "/ours:/mine" : "14");
    if (std::string(name) == "GONE") variable.value.reset();
    variable.claim = Claim::kOverrides;
    plan.add(EnvironmentLayer::kFramework, variable);
  }
  plan.add(EnvironmentLayer::kDefault, wants("KEPT", "1"));
  Environment user;
  user.set("SAME", "14");
  user.set("OTHER", "5");
  user.set("ENDS_ALIKE", "4");
  user.set("PYTHONPATH", "/mine");  // one more in front takes nothing away
  user.set("GONE", "1");
  user.set("KEPT", "2");
  EXPECT_EQ(replaced_names(plan.merge(user).decisions, user),
            (Names{"ENDS_ALIKE", "GONE", "OTHER"}));
}

TEST(EnvironmentPlan, PlansAddUp) {
  EnvironmentPlan round;
  round.add(EnvironmentLayer::kMpi, wants("A", "1"));
  EnvironmentPlan worker;
  worker.add(EnvironmentLayer::kMpi, wants("A", "2"));
  round.add(worker);
  EXPECT_EQ(round.merge({}).environment.get("A"), "2");
}

}  // namespace
}  // namespace muster
