#include "launcher/program/status_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <climits>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json.h"
#include "base/socket.h"
#include "base/text.h"
#include "launcher/contracts/contract.h"

namespace muster::launcher {

namespace {

using nlohmann::json;
using Row = std::vector<std::string>;

constexpr double kMostSeconds = 1e9;  // format_duration() counts nanoseconds

std::string text(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return "";
  return one_line(found->get<std::string>());
}

int64_t number(const json& object, const char* key, int64_t fallback) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<int64_t>() : fallback;
}

bool flag(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

double seconds(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

std::string sizes(const json& status) {
  if (std::string some = text(status, "sizes"); !some.empty()) return some;
  const int64_t min = number(status, "min_nodes", 1);
  const int64_t max = number(status, "max_nodes", 1);
  return min == max ? fmt::format("{}", max) : fmt::format("{} to {}", min, max);
}

std::string headline(const json& status) {
  std::string line = fmt::format("job {}: {}", text(status, "job"), text(status, "state"));
  if (const int64_t round = number(status, "round", 0); round > 0)
    line += fmt::format(
        ", round {} on {}", round,
        counted(static_cast<size_t>(number(status, "round_nodes", 0)), "node", "nodes"));
  const int64_t target = number(status, "target_nodes", 0);
  const bool fewer = target > 0 && target < number(status, "max_nodes", 1);
  line +=
      fmt::format(", {} wanted{}; {} of {} restarts used; {} leads\n", sizes(status),
                  fewer ? fmt::format(", now {}", target) : "", number(status, "restarts_used", 0),
                  number(status, "max_restarts", 0), text(status, "leader"));
  return line;
}

std::optional<double> known(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

// "progress: step 120 of 1000, 12 %, epoch 3, 2.5 steps/s, 5 min 52 s left, loss 0.31".
std::string progress(const json& status) {
  const auto found = status.find("progress");
  if (found == status.end() || !found->is_object()) return "";
  std::vector<std::string> words;
  if (const auto step = known(*found, "step")) {
    const auto total = known(*found, "total");
    words.push_back(fmt::format("step {:.0f}", *step) +
                    (total ? fmt::format(" of {:.0f}", *total) : ""));
  }
  if (const auto percent = known(*found, "percent"))
    words.push_back(fmt::format("{:g} %", *percent));
  if (const auto epoch = known(*found, "epoch")) words.push_back(fmt::format("epoch {:g}", *epoch));
  if (const auto rate = known(*found, "rate")) words.push_back(fmt::format("{:g} steps/s", *rate));
  if (const auto eta = known(*found, "eta_s"); eta && *eta >= 0 && *eta <= kMostSeconds)
    words.push_back(format_duration(std::chrono::seconds(static_cast<int64_t>(*eta))) + " left");
  if (const auto metrics = found->find("metrics");
      metrics != found->end() && metrics->is_object()) {
    for (const auto& [name, value] : metrics->items()) {
      if (value.is_number())
        words.push_back(fmt::format("{} {:g}", one_line(name), value.get<double>()));
    }
  }
  return words.empty() ? "" : "progress: " + join(words, ", ") + "\n";
}

std::string reasons(const json& status) {
  std::string lines;
  if (const std::string stop = text(status, "last_stop"); !stop.empty())
    lines += "last stop: " + stop + "\n";
  const auto found = status.find("reasons");
  if (found == status.end() || !found->is_object()) return lines;
  for (const auto& [event, reason] : found->items()) {
    if (reason.is_string())
      lines += one_line(event) + ": " + one_line(reason.get<std::string>()) + "\n";
  }
  return lines;
}

std::string ranks(const json& node) {
  const int64_t first = number(node, "first_rank", -1);
  const int64_t workers = number(node, "workers", 0);
  if (first < 0 || workers < 1 || workers > INT_MAX) return "-";
  return workers == 1 ? fmt::format("{}", first) : fmt::format("{}-{}", first, first + workers - 1);
}

std::string remarks(const json& node) {
  std::vector<std::string> words;
  if (flag(node, "suspect"))
    words.push_back(fmt::format("suspect: silent for {:.1f} s", seconds(node, "silent_s")));
  if (flag(node, "leaving")) words.emplace_back("told to go");
  if (!flag(node, "connected")) words.emplace_back("not connected");
  return join(words, ", ");
}

Row row_of(const json& node) {
  const int64_t rank = number(node, "node_rank", -1);
  const Address address{text(node, "host"), static_cast<uint16_t>(number(node, "port", 0))};
  return {text(node, "name"), address.to_string(), rank < 0 ? "-" : fmt::format("{}", rank),
          ranks(node),        text(node, "state"), remarks(node)};
}

std::string aligned(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string lines;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    lines += line + "\n";
  }
  return lines;
}

// By node rank, those without one last, by name.
std::vector<const json*> sorted_nodes(const json& nodes) {
  std::vector<const json*> sorted;
  for (const json& node : nodes) {
    if (node.is_object()) sorted.push_back(&node);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const json* left, const json* right) {
    const auto key = [](const json& node) {
      const int64_t rank = number(node, "node_rank", -1);
      return std::pair(rank < 0 ? INT64_MAX : rank, text(node, "name"));
    };
    return key(*left) < key(*right);
  });
  return sorted;
}

std::string node_table(const json& status) {
  const auto nodes = status.find("nodes");
  if (nodes == status.end() || !nodes->is_array()) return "";
  const auto sorted = sorted_nodes(*nodes);
  std::vector<Row> rows = {{"NODE", "ADDRESS", "NODE RANK", "RANKS", "STATE", ""}};
  for (const json* node : sorted) rows.push_back(row_of(*node));
  std::string table = aligned(rows);
  const int64_t total = number(status, "node_total", 0);
  if (total > static_cast<int64_t>(sorted.size()))
    table += fmt::format("... and {} more\n", total - static_cast<int64_t>(sorted.size()));
  return table;
}

bool is_present(const json& node) {
  return flag(node, "connected") && !flag(node, "suspect") && !flag(node, "leaving");
}

std::string follower_lines(const json& status) {
  const std::string leader = text(status, "leader_at");
  std::string line = fmt::format("job {}: {} {}", text(status, "job"), text(status, "node"),
                                 leader.empty() ? "knows no leader" : "follows " + leader);
  if (const int64_t round = number(status, "round", 0); round > 0) {
    const auto nodes = static_cast<size_t>(number(status, "round_nodes", 0));
    const auto restarts = static_cast<size_t>(number(status, "restarts_used", 0));
    line += fmt::format("; last known: round {} on {}, {} used", round,
                        counted(nodes, "node", "nodes"), counted(restarts, "restart", "restarts"));
  }
  if (const std::string reason = text(status, "reason"); !reason.empty())
    line += "\nreason: " + reason;
  return line + "\n";
}

constexpr std::array<const char*, 7> kPhases = {"detect", "decide", "stop",          "rendezvous",
                                                "check",  "spawn",  "first_progress"};

std::string seconds_text(const json& object, const char* key) {
  const auto time = known(object, key);
  return time ? fmt::format("{:.3f}", *time) : "-";
}

Row history_row(const json& interruption) {
  Row row = {text(interruption, "time"), fmt::format("{}", number(interruption, "round", 0)),
             text(interruption, "cause"), seconds_text(interruption, "total_s")};
  const auto phases = interruption.find("phases");
  const bool has_phases = phases != interruption.end() && phases->is_object();
  for (const char* phase : kPhases) row.push_back(has_phases ? seconds_text(*phases, phase) : "-");
  row.push_back(text(interruption, "reason"));
  return row;
}

}  // namespace

Result<std::string> history_table(std::string_view status) {
  auto parsed = parse_json(status);
  if (!parsed) return std::move(parsed).error();
  if (!parsed->is_object()) return Error{Code::kProtocol, 0, "the status is no JSON object"};
  if (!parsed->contains("nodes"))
    return Error{Code::kPeer, 0, "it is not the leader's, who alone knows the restarts"};
  const auto history = parsed->find("history");
  const bool has_some = history != parsed->end() && history->is_array() && !history->empty();
  if (!has_some) return std::string("no restarts\n");
  std::vector<Row> rows = {{"TIME", "ROUND", "CAUSE", "SECONDS", "DETECT", "DECIDE", "STOP",
                            "RENDEZVOUS", "CHECK", "SPAWN", "FIRST STEP", "REASON"}};
  for (const json& each : *history)
    if (each.is_object()) rows.push_back(history_row(each));
  return aligned(rows);
}

Result<std::string> status_table(std::string_view status) {
  auto parsed = parse_json(status);
  if (!parsed) return std::move(parsed).error();
  if (!parsed->is_object()) return Error{Code::kProtocol, 0, "the status is no JSON object"};
  if (!parsed->contains("nodes")) return follower_lines(*parsed);
  return headline(*parsed) + progress(*parsed) + reasons(*parsed) + node_table(*parsed);
}

Result<std::string> status_hosts(std::string_view status,
                                 const std::vector<mpi::HostSlots>& listed) {
  constexpr std::string_view kNameCharacters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
  auto parsed = parse_json(status);
  if (!parsed) return std::move(parsed).error();
  if (!parsed->is_object() || !parsed->contains("nodes"))
    return Error{Code::kPeer, 0, "it is not the leader's, who alone knows the nodes"};
  const json& listing = (*parsed)["nodes"];
  if (!listing.is_array()) return Error{Code::kProtocol, 0, "its nodes are no list"};
  const auto nodes = sorted_nodes(listing);
  if (number(*parsed, "node_total", 0) > static_cast<int64_t>(nodes.size()))
    return Error{Code::kLimit, 0, "it does not hold all nodes"};
  std::string lines;
  for (const json* node : nodes) {
    const std::string name = text(*node, "name");
    int64_t slots = number(*node, "workers", 0);
    if (slots < 1 || !is_present(*node)) continue;
    if (name.find_first_not_of(kNameCharacters) != std::string::npos)
      return Error{Code::kConfig, 0, "node '" + name + "' has a name that is no host's"};
    for (const auto& host : listed) {
      if (first_label(host.host) == first_label(name)) slots = host.slots;
    }
    lines += fmt::format("{}:{}\n", name, slots);
  }
  return lines;
}

}  // namespace muster::launcher
