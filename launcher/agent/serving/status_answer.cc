#include "launcher/agent/serving/status_answer.h"

#include <map>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/json.h"

namespace muster::launcher {

namespace {

int64_t number(const nlohmann::json& object, const char* key, int64_t fallback) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<int64_t>() : fallback;
}

// Ranks go through the nodes in the order of their node ranks; behind a gap nobody knows them.
void number_ranks(nlohmann::json& nodes) {
  std::map<int64_t, nlohmann::json*> by_rank;
  for (nlohmann::json& node : nodes) {
    node["first_rank"] = -1;
    if (const int64_t rank = number(node, "node_rank", -1); rank >= 0) by_rank[rank] = &node;
  }
  int64_t first_rank = 0;
  int64_t expected = 0;
  for (const auto& [rank, node] : by_rank) {
    if (rank != expected++) return;
    (*node)["first_rank"] = first_rank;
    first_rank += number(*node, "workers", 0);
  }
}

void add_progress(nlohmann::json& status, std::string_view progress) {
  if (auto known = parse_json(progress); known && known->is_object())
    status["progress"] = std::move(*known);
}

void add_history(nlohmann::json& status, std::string_view history) {
  if (auto known = parse_json(history); known && known->is_array())
    status["history"] = std::move(*known);
}

// The words of a leader (LeaderState) and of its nodes, for the only node of a job.
struct StateWords {
  std::string_view job;
  std::string_view node;
};
StateWords words_of(elastic::GroupState state) {
  using enum elastic::GroupState;
  switch (state) {
    case kIdle:
    case kDeciding:
    case kBackoff:
      return {"Gathering", "idle"};
    case kStarting:
      return {"Assigned", "assigned"};
    case kRunning:
      return {"Running", "running"};
    case kStopping:
    case kSweeping:
    case kFinalStopping:
    case kFinalSweeping:
      return {"Stopping", "ending"};
    case kFinished:
      return {"Finished", "idle"};
  }
  MUSTER_CHECK(false);
}

}  // namespace

std::string leader_status(const LeaderFacts& facts) {
  auto parsed = parse_json(facts.leader);
  if (!parsed) return facts.leader;  // longer than what we read back: better than nothing
  (*parsed)["job"] = facts.job;
  (*parsed)["max_restarts"] = facts.max_restarts;
  number_ranks((*parsed)["nodes"]);
  add_progress(*parsed, facts.progress);
  add_history(*parsed, facts.history);
  if (const auto step = parsed->find("step"); step != parsed->end()) {
    if (!parsed->contains("progress")) (*parsed)["progress"]["step"] = *step;
    parsed->erase("step");
  }
  return dump_json(*parsed);
}

std::string follower_status(const FollowerFacts& facts) {
  nlohmann::json status;
  status["run_id"] = facts.run_id;
  status["job"] = facts.job;
  status["node"] = facts.node;
  status["state"] = facts.state;
  if (facts.leader_at) status["leader_at"] = *facts.leader_at;
  status["reason"] = facts.reason;
  status["round"] = facts.last.round;
  status["round_nodes"] = facts.last.node_count;
  status["restarts_used"] = facts.last.budget.restarts_used;
  add_progress(status, facts.progress);
  return dump_json(status);
}

std::string single_node_status(const SingleNodeFacts& facts) {
  nlohmann::json node;
  node["name"] = facts.node;
  node["host"] = facts.address.host;
  node["port"] = facts.address.port;
  node["node_rank"] = 0;
  node["first_rank"] = 0;
  node["workers"] = facts.workers;
  node["state"] = words_of(facts.state).node;
  node["connected"] = true;
  node["suspect"] = false;
  node["leaving"] = false;
  node["silent_s"] = 0.0;

  nlohmann::json status;
  status["run_id"] = facts.run_id;
  status["job"] = facts.job;
  status["leader"] = facts.node;
  status["term"] = 0;
  status["state"] = words_of(facts.state).job;
  status["round"] = facts.attempt + 1;
  status["round_nodes"] = 1;
  status["min_nodes"] = 1;
  status["max_nodes"] = 1;
  status["restarts_used"] = facts.restarts_used;
  status["max_restarts"] = facts.max_restarts;
  status["reasons"] = nlohmann::json::object();
  status["last_stop"] = facts.verdict;
  status["nodes"] = nlohmann::json::array({std::move(node)});
  status["node_total"] = 1;
  add_progress(status, facts.progress);
  add_history(status, facts.history);
  return dump_json(status);
}

}  // namespace muster::launcher
