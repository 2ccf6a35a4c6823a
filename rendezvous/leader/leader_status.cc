// What `muster status` and messages tell of the leader's nodes.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "rendezvous/agreement/events.h"
#include "rendezvous/leader/leader_core.h"
#include "rendezvous/wire/control_protocol.h"

namespace muster::rendezvous {

namespace {

// Nodes are told of as long as they fit, with room for the reasons; the rest is a count.
constexpr size_t kMaxNodesBytes = kMaxStatusBytes - (64 << 10);

std::string_view to_string(NodeProgress progress) {
  switch (progress) {
    case NodeProgress::kIdle:
      return "idle";
    case NodeProgress::kAssigned:
      return "assigned";
    case NodeProgress::kStarted:
      return "running";
    case NodeProgress::kSucceeded:
      return "succeeded";
    case NodeProgress::kEnding:
      return "ending";
  }
  return "";
}

// To the millisecond.
double rounded_s(Duration duration) { return static_cast<double>(to_ms(duration)) / 1000; }

// By node rank, those without one last, by name: as the table of `muster status`.
bool row_less(const LeaderNode* left, const LeaderNode* right) {
  const auto key = [](const LeaderNode& node) {
    return std::tuple(node.rank() < 0, node.rank(), std::string_view(node.join.identity.name),
                      node.join.identity.incarnation);
  };
  return key(*left) < key(*right);
}

nlohmann::json node_status(const LeaderNode& node, TimePoint now, bool spare) {
  nlohmann::json status;
  status["name"] = node.join.identity.name;
  if (node.join.identity.index) status["index"] = *node.join.identity.index;
  status["host"] = node.join.host;
  status["port"] = node.join.port;
  status["node_rank"] = node.rank();
  status["workers"] = node.join.local_world_size;
  status["state"] = spare ? "spare" : to_string(node.progress());
  if (node.health.is_out(now)) {
    status["state"] = "unfit";
    status["unfit_for"] = node.health.why();
    status["unfit_s"] = rounded_s(node.health.until() - now);
  }
  status["connected"] = node.link().has_value();
  status["suspect"] = node.suspect;
  status["leaving"] = node.leave_by().has_value();
  status["silent_s"] = rounded_s(now - node.heard);
  return status;
}

}  // namespace

std::string LeaderCore::status_json(TimePoint now) const {
  nlohmann::json status;
  status["run_id"] = options_.run_id;
  status["leader"] = names_.node;
  status["term"] = term_;
  status["state"] = muster::rendezvous::to_string(state_);
  status["round"] = electorates_.latest.round;
  status["round_nodes"] = last_size_;
  status["min_nodes"] = options_.min_nodes;
  status["max_nodes"] = options_.max_nodes;
  if (!every_size_allowed(options_)) status["sizes"] = sizes_text(options_);
  status["target_nodes"] = target_.nodes().value_or(options_.max_nodes);
  status["restarts_used"] = policy_.used(now);
  status["quorum"] = quorum_since_.has_value();
  status["reasons"] = voice_.said();
  const GrowVerdict growth = target_.hurried(policy_.may_grow(now));
  if (busy() && !growth.now && growth.at) {
    status["growth_wait_s"] = rounded_s(*growth.at - now);
    if (auto& reasons = status["reasons"]; reasons.contains(kEventRoundGrowth))
      reasons[kEventRoundGrowth] = voice_.said().at(std::string(kEventRoundGrowth)) + " for " +
                                   format_duration(*growth.at - now);
  }
  if (furthest_.step >= 0 && furthest_.round == electorates_.latest.round)
    status["step"] = furthest_.step;
  if (!missing_.empty()) status["reasons"]["discovery.waiting"] = missing_;
  status["last_stop"] = ending_.text;
  status["nodes"] = nlohmann::json::array();
  std::vector<const LeaderNode*> rows(nodes_.begin(), nodes_.end());
  std::sort(rows.begin(), rows.end(), row_less);
  size_t bytes = 0;
  for (const LeaderNode* node : rows) {
    // Beside a leader that is alone in its round nodes have no rank, and serve it.
    const bool spare = busy() && !options_.rule.leader_alone() && node->rank() < 0 &&
                       !node->leave_by() && node->progress() == NodeProgress::kIdle;
    nlohmann::json row = node_status(*node, now, spare);
    bytes += dump_json(row).size() + 1;
    if (bytes > kMaxNodesBytes) break;
    status["nodes"].push_back(std::move(row));
  }
  status["node_total"] = nodes_.size();
  return dump_json(status);
}

void Leader::on_missing(std::string line) { core_->missing_ = std::move(line); }

std::vector<RosterEntry> LeaderCore::nodes() const {
  std::vector<RosterEntry> here;
  for (const LeaderNode* node : nodes_) {
    if (node->leave_by()) continue;
    const Join& join = node->join;
    here.push_back(
        {join.identity, join.host, join.port, join.local_world_size, join.note_for_peers});
  }
  std::stable_sort(here.begin(), here.end(), [](const auto& left, const auto& right) {
    return seat_less(left.identity, right.identity);
  });
  return here;
}

std::vector<RosterEntry> Leader::nodes() const { return core_->nodes(); }
std::string Leader::status_json(TimePoint now) const { return core_->status_json(now); }

}  // namespace muster::rendezvous
