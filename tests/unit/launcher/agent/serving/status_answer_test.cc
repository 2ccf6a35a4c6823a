#include "launcher/agent/serving/status_answer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace muster::launcher {
namespace {

nlohmann::json parsed(const std::string& text) {
  auto json = parse_json(text);
  return json ? *json : nlohmann::json(nullptr);
}

TEST(StatusAnswerTest, EachNodeGetsItsFirstRank) {
  const auto status = parsed(leader_status({.leader = R"({"nodes": [{"node_rank": 2, "workers": 1},
      {"node_rank": 0, "workers": 4}, {"node_rank": -1, "workers": 2}, {"node_rank": 1, "workers": 2}]})",
                                            .max_restarts = 3}));
  EXPECT_EQ(status["max_restarts"], 3);
  EXPECT_EQ(status["nodes"][0]["first_rank"], 6);
  EXPECT_EQ(status["nodes"][1]["first_rank"], 0);
  EXPECT_EQ(status["nodes"][2]["first_rank"], -1);
  EXPECT_EQ(status["nodes"][3]["first_rank"], 4);
}

TEST(StatusAnswerTest, TheLeadersNodeTellsTheProgressElseTheStepOfTheOthersStandsForIt) {
  const std::string status = R"({"nodes": [], "step": 7})";
  const auto own =
      parsed(leader_status({.leader = status, .progress = R"({"rank":0,"step":9,"metrics":{}})"}));
  EXPECT_EQ(own["progress"], parsed(R"({"rank":0,"step":9,"metrics":{}})"));
  EXPECT_FALSE(own.contains("step"));
  EXPECT_EQ(parsed(leader_status({.leader = status}))["progress"], parsed(R"({"step":7})"));
  EXPECT_FALSE(parsed(leader_status({.leader = R"({"nodes": []})"})).contains("progress"));
}

TEST(StatusAnswerTest, BehindAMissingNodeRanksAreNotKnown) {
  const auto status = parsed(leader_status(
      {.leader =
           R"({"nodes": [{"node_rank": 0, "workers": 2}, {"node_rank": 2, "workers": 2}]})"}));
  EXPECT_EQ(status["nodes"][0]["first_rank"], 0);
  EXPECT_EQ(status["nodes"][1]["first_rank"], -1);
}

TEST(StatusAnswerTest, TheRestartTimelineIsInIt) {
  const std::string history = R"([{"cause":"lost","total_s":1.5}])";
  const auto status = parsed(leader_status({.leader = R"({"nodes": []})", .history = history}));
  EXPECT_EQ(status["history"], parsed(history));
  EXPECT_FALSE(parsed(leader_status({.leader = R"({"nodes": []})"})).contains("history"));
}

TEST(StatusAnswerTest, AFollowerPointsToItsLeaderIfItHasOne) {
  FollowerFacts facts;
  facts.run_id = "7";
  facts.node = "node-2";
  facts.last.round = 4;
  facts.last.node_count = 3;
  EXPECT_FALSE(parsed(follower_status(facts)).contains("leader_at"));
  facts.leader_at = "10.0.0.1:29400";
  const auto status = parsed(follower_status(facts));
  EXPECT_EQ(status["leader_at"], "10.0.0.1:29400");
  EXPECT_EQ(status["round"], 4);
  EXPECT_EQ(status["round_nodes"], 3);
  EXPECT_FALSE(status.contains("nodes"));
}

TEST(StatusAnswerTest, AJobOfOneNodeLooksAsOneOfMany) {
  const auto status = parsed(single_node_status({.run_id = "7",
                                                 .job = "bert",
                                                 .node = "here",
                                                 .address = {"127.0.0.1", 29500},
                                                 .workers = 8,
                                                 .attempt = 1,
                                                 .restarts_used = 1,
                                                 .max_restarts = 2,
                                                 .state = elastic::GroupState::kRunning,
                                                 .verdict = "restart 1 of 2 at once"}));
  EXPECT_EQ(status["job"], "bert");
  EXPECT_EQ(status["round"], 2);
  EXPECT_EQ(status["restarts_used"], 1);
  EXPECT_EQ(status["nodes"][0]["port"], 29500);
  EXPECT_EQ(status["nodes"][0]["first_rank"], 0);
  // The words of Leader::status_json.
  EXPECT_EQ(status["state"], "Running");
  EXPECT_EQ(status["nodes"][0]["state"], "running");
}

TEST(StatusAnswerTest, TheOnlyNodeTellsItsProgress) {
  SingleNodeFacts facts;
  EXPECT_FALSE(parsed(single_node_status(facts)).contains("progress"));
  facts.progress = R"({"rank":0,"step":9})";
  EXPECT_EQ(parsed(single_node_status(facts))["progress"]["step"], 9);
}

TEST(StatusAnswerTest, TheOnlyNodesStatesHaveTheWordsOfALeader) {
  using enum elastic::GroupState;
  const auto words = [](elastic::GroupState state) {
    SingleNodeFacts facts;
    facts.state = state;
    const auto status = parsed(single_node_status(facts));
    return status["state"].get<std::string>() + " " +
           status["nodes"][0]["state"].get<std::string>();
  };
  EXPECT_EQ(words(kBackoff), "Gathering idle");
  EXPECT_EQ(words(kStarting), "Assigned assigned");
  EXPECT_EQ(words(kSweeping), "Stopping ending");
  EXPECT_EQ(words(kFinished), "Finished idle");
}

}  // namespace
}  // namespace muster::launcher
