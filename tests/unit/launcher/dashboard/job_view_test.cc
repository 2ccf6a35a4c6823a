#include "launcher/dashboard/job_view.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "launcher/dashboard/job_json.h"

namespace muster::launcher {
namespace {

// A journal's lines of several nodes, by time: each is one second after the last.
class Story {
 public:
  Story& say(std::string_view node, std::string_view name, std::string_view fields = "{}") {
    auto body = *parse_json(fields);
    body["event"] = name;
    if (!body.contains("level")) body["level"] = "info";
    now_ms_ += 1000;
    events_.push_back({std::string(node), std::string(name), now_ms_, dump_json(body)});
    return *this;
  }
  // Two nodes in their first round.
  Story& two_nodes() {
    for (const char* node : {"node-1", "node-2"})
      say(node, "job.start", R"({"max_nodes":2,"workers":2,"command":"python train.py"})");
    return round(1, {"node-1", "node-2"});
  }
  Story& round(int number, const std::vector<std::string>& nodes) {
    for (size_t i = 0; i < nodes.size(); ++i)
      say(nodes[i], "round.start",
          fmt::format(R"({{"round":{},"attempt":{},"first_rank":{},"world_size":{},"nodes":{}}})",
                      number, number - 1, 2 * i, 2 * nodes.size(), nodes.size()));
    return *this;
  }
  [[nodiscard]] JobView view() const { return view_of_job(events_); }
  [[nodiscard]] int64_t now_ms() const { return now_ms_; }

 private:
  int64_t now_ms_ = 0;
  std::vector<StoredEvent> events_;
};

std::string states(const NodeRow& row) {
  std::string text;
  for (const NodeSpan& span : row.spans) text += (text.empty() ? "" : " ") + span.state;
  return text;
}

TEST(JobView, ANodeJoinsRunsAndEnds) {
  const JobView view =
      Story()
          .two_nodes()
          .say("node-1", "job.end", R"({"result":"succeeded","reason":"all 2 nodes succeeded"})")
          .say("node-2", "job.end", R"({"result":"succeeded","reason":"all 2 nodes succeeded"})")
          .view();
  EXPECT_EQ(view.state, "succeeded");
  EXPECT_EQ(view.reason, "all 2 nodes succeeded");
  EXPECT_EQ(view.command, "python train.py");
  EXPECT_EQ(view.nodes, 2);
  EXPECT_EQ(view.workers, 4);
  ASSERT_EQ(view.rows.size(), 2U);
  EXPECT_EQ(states(view.rows[0]), "joining running");
  EXPECT_EQ(view.rows[0].spans[1].round, 1);
  EXPECT_EQ(view.rows[0].spans[1].attempt, 0);
  EXPECT_EQ(view.rows[0].spans[1].text, "from rank 0 of 4");
  EXPECT_EQ(view.rows[0].spans[1].to_ms, 5000);
  EXPECT_EQ(view.rows[0].ended, "succeeded");
}

TEST(JobView, ALostNodeIsLostAndTheOthersRestart) {
  const JobView view = Story()
                           .two_nodes()
                           .say("node-1", "node.lost",
                                R"({"level":"warning","reason":"node-2 ended: nothing listens"})")
                           .say("node-1", "round.broken",
                                R"({"level":"warning","reason":"node-2 ended: nothing listens"})")
                           .say("node-1", "round.stop", R"({"round":1,"reason":"node-2 ended"})")
                           .round(2, {"node-1"})
                           .view();
  EXPECT_EQ(view.state, "running");
  EXPECT_EQ(states(view.rows[0]), "joining running stopping running");
  EXPECT_EQ(states(view.rows[1]), "joining running lost");
  EXPECT_EQ(view.rows[1].spans[2].to_ms, std::nullopt);
  ASSERT_EQ(view.restarts.size(), 1U);
  EXPECT_EQ(view.restarts[0].cause, "lost");
  EXPECT_EQ(view.restarts[0].round, 1);
  EXPECT_EQ(view.restarts[0].total_s, 2.0);
  EXPECT_EQ(view.nodes, 1);
  EXPECT_EQ(view.moments[0].event, "node.lost");
}

TEST(JobView, TheTimelineTellsOfTheRestartThatItIsAbout) {
  const JobView view =
      Story()
          .two_nodes()
          .say("node-1", "round.broken", R"({"reason":"rank 1 on node-1 failed: exit code 1"})")
          .round(2, {"node-1", "node-2"})
          .say("node-1", "round.broken", R"({"reason":"rank 0 on node-1 failed: exit code 1"})")
          .round(3, {"node-1", "node-2"})
          .say("node-1", "restart.timeline",
               R"({"round":1,"cause":"failure","reason":"rank 1","total_s":2.5,
                                    "phases":{"spawn":1,"detect":0.5,"other":7,"stop":-1}})")
          .view();
  ASSERT_EQ(view.restarts.size(), 2U);
  EXPECT_EQ(view.restarts[0].total_s, 2.5);
  EXPECT_EQ(view.restarts[0].phases,
            (std::vector<std::pair<std::string, double>>{{"detect", 0.5}, {"spawn", 1}}));
  EXPECT_TRUE(view.restarts[1].phases.empty());
  EXPECT_EQ(view.restarts[1].cause, "failure");
}

TEST(JobView, ANodeThatWasCutOffStopsAndStaysLostUntilItIsBack) {
  Story story;
  story.two_nodes()
      .say("node-1", "node.lost", R"({"reason":"node-2 silent for 30 s; expelled after 30 s"})")
      .say("node-2", "member.fenced", R"({"reason":"the leader was silent"})");
  EXPECT_EQ(states(story.view().rows[1]), "joining running lost");
  EXPECT_EQ(states(story.round(3, {"node-1", "node-2"}).view().rows[1]),
            "joining running lost running");
}

TEST(JobView, SeveralNodesMayBeLostAtOnceAndOneThatHasEndedIsNot) {
  const JobView view =
      Story()
          .two_nodes()
          .say("node-1", "node.lost",
               R"({"reason":"node-1, node-2 did not come back after the leader changed"})")
          .view();
  EXPECT_EQ(states(view.rows[0]), "joining running lost");
  EXPECT_EQ(states(view.rows[1]), "joining running lost");
  const JobView ended = Story()
                            .two_nodes()
                            .say("node-2", "job.end", R"({"result":"stopped"})")
                            .say("node-1", "node.lost", R"({"reason":"node-2 (index 1) ended"})")
                            .view();
  EXPECT_EQ(states(ended.rows[1]), "joining running");
}

TEST(JobView, ATimelineOfARestartOfWhichNothingElseIsKnownIsARestart) {
  const JobView view =
      Story()
          .say("n", "restart.timeline", R"({"cause":"lost","total_s":3,"phases":{"stop":3}})")
          .view();
  ASSERT_EQ(view.restarts.size(), 1U);
  EXPECT_EQ(view.restarts[0].cause, "lost");
}

TEST(JobView, TheFirstFailureOfARoundIsTheFailure) {
  const JobView view =
      Story()
          .two_nodes()
          .say(
              "node-2", "worker.exit",
              R"({"level":"error","rank":3,"round":1,"reason":"exit code 1","last_lines":["ValueError: no data", 7]})")
          .say("node-1", "worker.exit",
               R"({"level":"error","rank":0,"round":1,"reason":"exit code 9"})")
          .say("node-1", "worker.exit", R"({"rank":1,"round":1,"reason":"SIGTERM, by muster"})")
          .view();
  ASSERT_TRUE(view.failure);
  EXPECT_EQ(view.failure->rank, 3);
  EXPECT_EQ(view.failure->node, "node-2");
  EXPECT_EQ(view.failure->last_lines, std::vector<std::string>{"ValueError: no data"});
  EXPECT_EQ(view.rows[1].failures.size(), 1U);
  EXPECT_EQ(view.moments.back().text, "rank 0: exit code 9");
}

TEST(JobView, AJobOfOneNodeRunsFromItsStart) {
  const JobView view =
      Story()
          .say("n", "job.start", R"({"workers":2,"max_restarts":1})")
          .say("n", "worker.exit", R"({"level":"error","rank":0,"round":1,"attempt":0})")
          .say("n", "attempt.restart",
               R"({"level":"warning","attempt":0,"first_failure":"rank 0"})")
          .view();
  EXPECT_EQ(states(view.rows[0]), "running running");
  EXPECT_EQ(view.rows[0].spans[1].attempt, 1);
  EXPECT_EQ(view.round, 2);
  EXPECT_EQ(view.restarts.size(), 1U);
  EXPECT_EQ(view.restarts[0].reason, "rank 0");
}

TEST(JobView, ANodeThatIsToldToGoDoesNotEndTheJob) {
  Story story;
  story.two_nodes().say("node-2", "job.end", R"({"result":"stopped","reason":"SIGTERM"})");
  EXPECT_EQ(story.view().state, "running");
  story.round(2, {"node-1"}).say("node-1", "job.end", R"({"result":"stopped","reason":"SIGTERM"})");
  EXPECT_EQ(story.view().state, "stopped");
}

TEST(JobView, ANodeThatWasCutOffAndGaveUpDoesNotEndTheJob) {
  Story story;
  story.two_nodes()
      .say("node-1", "node.lost", R"({"reason":"node-2 silent for 30 s; expelled after 30 s"})")
      .say("node-2", "job.end", R"({"level":"error","result":"failed","reason":"no leader"})");
  EXPECT_EQ(story.view().state, "running");
  EXPECT_EQ(story.round(2, {"node-1"}).view().state, "running");
  story.say("node-1", "job.end", R"({"result":"succeeded","reason":"all"})");
  EXPECT_EQ(story.view().state, "succeeded");
}

TEST(JobView, TheFailureOfTheNodeThatLeadsCountsUnlessAnotherRoundBegins) {
  Story story;
  story.two_nodes()
      .say("node-1", "round.start", R"({"round":2,"attempt":1,"nodes":2,"leads":true})")
      .say("node-1", "job.end", R"({"level":"error","result":"failed","reason":"rank 0"})");
  EXPECT_EQ(story.view().state, "failed");
  EXPECT_EQ(story.view().rows[1].spans.back().to_ms, story.now_ms());
  EXPECT_EQ(story.round(3, {"node-2"}).view().state, "running");
}

TEST(JobView, APodThatIsStartedAgainIsPartOfTheSameRun) {
  Story story;
  story.two_nodes()
      .say("node-2", "job.end", R"({"level":"error","result":"failed","reason":"no leader"})")
      .say("node-2", "job.start", R"({"max_nodes":2})")
      .round(2, {"node-1", "node-2"});
  const JobView view = story.view();
  EXPECT_EQ(view.state, "running");
  EXPECT_EQ(view.earlier_runs, 0);
  EXPECT_EQ(view.began_ms, 1000);
  EXPECT_EQ(states(view.rows[1]), "joining running joining running");
  EXPECT_EQ(view.rows[1].ended, "");
}

TEST(JobView, NodesThatAreLostBeforeTheyReportedHaveRows) {
  const JobView view = Story()
                           .say("n1", "node.lost",
                                R"({"reason":"n2 (index 1), n3 (index 2), ... did not come back"})")
                           .view();
  ASSERT_EQ(view.rows.size(), 2U);
  EXPECT_EQ(view.rows[0].name, "n2");
  EXPECT_EQ(view.rows[1].name, "n3");
  EXPECT_EQ(states(view.rows[1]), "lost");
}

TEST(JobView, OfTooManyNodesThoseToWhichSomethingHappenedAreShown) {
  Story story;
  for (int i = 0; i < 600; ++i) story.say(fmt::format("n{}", i), "job.start", R"({"max_nodes":4})");
  story.say("n0", "node.lost", R"({"reason":"n599 ended: nothing listens"})")
      .say("n598", "worker.exit", R"({"level":"error","rank":0})");
  const JobView view = story.view();
  ASSERT_EQ(view.rows.size(), kMaxShownNodes);
  EXPECT_EQ(view.rows_left_out, 600 - kMaxShownNodes);
  EXPECT_EQ(view.rows[kMaxShownNodes - 1].name, "n599");
  EXPECT_EQ(view.rows[kMaxShownNodes - 2].name, "n598");
}

TEST(JobView, RestartsAreCountedBeforeTheListIsCut) {
  Story story;
  for (int i = 1; i <= 300; ++i)
    story.say("n", "round.broken", R"({"reason":"rank 0 failed"})").round(i, {"n"});
  EXPECT_EQ(story.view().restarts.size(), kMaxShownRestarts);
  EXPECT_EQ(story.view().causes.at("failure"), 300);
}

TEST(JobView, AttemptsThatNobodyCountsArePassedOver) {
  const JobView view = Story()
                           .say("n", "attempt.restart", R"({"attempt":9223372036854775807})")
                           .say("n", "round.start", R"({"round":-4,"attempt":4294967296})")
                           .view();
  EXPECT_EQ(view.rows[0].spans[0].attempt, 1);
  EXPECT_EQ(view.rows[0].spans[1].round, std::nullopt);
  EXPECT_EQ(view.rows[0].spans[1].attempt, std::nullopt);
}

TEST(JobView, TheBeginIsKnownAlsoWithoutItsEvents) {
  const std::vector<StoredEvent> events = {{"n", "round.start", 9000, R"({"round":7})"}};
  EXPECT_EQ(view_of_job(events, 500).began_ms, 500);
  EXPECT_EQ(view_of_job(events).began_ms, 9000);
}

TEST(JobView, AJobIsSilentAfterSeveralOfItsUsualGaps) {
  const auto silent_after = [](int64_t gap_ms) {
    return (*parse_json(summary_json({"j", 0, gap_ms}, {})))["silent_after_ms"].get<int64_t>();
  };
  EXPECT_EQ(silent_after(1000), 900'000);
  EXPECT_EQ(silent_after(1'000'000), 4'000'000);
}

TEST(JobView, TheSuccessOfAJobCountsMoreThanASpareThatWasNotNeeded) {
  Story story;
  story.two_nodes()
      .say("node-2", "job.end", R"({"result":"failed","reason":"not needed"})")
      .say("node-1", "job.end", R"({"result":"succeeded","reason":"all"})");
  EXPECT_EQ(story.view().state, "succeeded");
}

TEST(JobView, AnotherRunOfTheSameNameIsShownAlone) {
  Story story;
  story.two_nodes();
  for (const char* node : {"node-1", "node-2"})
    story.say(node, "job.end", R"({"result":"failed","reason":"rank 0"})");
  const int64_t began_ms = story.now_ms() + 1000;
  const JobView view = story.two_nodes().view();
  EXPECT_EQ(view.state, "running");
  EXPECT_EQ(view.earlier_runs, 1);
  EXPECT_EQ(view.began_ms, began_ms);
  EXPECT_EQ(states(view.rows[0]), "joining running");
}

TEST(JobView, WhatAllNodesSayIsToldOnce) {
  const JobView view = Story()
                           .say("node-1", "job.end", R"({"result":"failed","reason":"rank 0"})")
                           .say("node-2", "job.end", R"({"result":"failed","reason":"rank 0"})")
                           .view();
  EXPECT_EQ(view.moments.size(), 1U);
}

TEST(JobView, NodesAreInTheOrderOfTheirNumbers) {
  Story story;
  for (const char* node : {"node-10", "node-9", "other", "node-1"})
    story.say(node, "job.start", R"({"max_nodes":4})");
  std::vector<std::string> names;
  for (const NodeRow& row : story.view().rows) names.push_back(row.name);
  EXPECT_EQ(names, (std::vector<std::string>{"node-1", "node-9", "node-10", "other"}));
}

TEST(JobView, WhatIsShownIsBounded) {
  Story story;
  for (int i = 0; i < 1000; ++i)
    story.say(fmt::format("n{}", i), "job.start", R"({"max_nodes":4})").round(i + 1, {"n0"});
  for (int i = 0; i < 400; ++i)
    story.say("n0", "x", fmt::format(R"({{"level":"error","error":"{}"}})", i));
  const JobView view = story.view();
  EXPECT_EQ(view.rows.size(), kMaxShownNodes);
  EXPECT_LE(view.rows[0].spans.size(), kMaxShownSpans / kMaxShownNodes);
  EXPECT_EQ(view.moments.size(), kMaxShownMoments);
  EXPECT_EQ(view.moments.back().text, "399");
}

TEST(JobView, TheJsonHasWhatThePageAsksFor) {
  Story story;
  story.two_nodes();
  const auto job = *parse_json(detail_json({"bert", 7}, story.view()));
  EXPECT_EQ(job["job"], "bert");
  EXPECT_EQ(job["heard_ms"], 7);
  EXPECT_EQ(job["rows"][1]["name"], "node-2");
  EXPECT_EQ(job["rows"][1]["spans"][0]["state"], "joining");
  EXPECT_TRUE(job["failure"].is_null());
  EXPECT_TRUE(job["progress"].is_null());
  EXPECT_FALSE(parse_json(summary_json({"bert", 7}, story.view()))->contains("rows"));
}

}  // namespace
}  // namespace muster::launcher
