#include "launcher/dashboard/job_view.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "launcher/dashboard/curves.h"
#include "launcher/dashboard/event_fields.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

constexpr std::string_view kJoining = "joining";
constexpr std::string_view kRunning = "running";
constexpr std::string_view kStopping = "stopping";
constexpr std::string_view kLost = "lost";
constexpr std::string_view kUnfit = "unfit";

// Goes through the events of a job by time. Those of one node come in their order; those of several
// nodes may be some milliseconds off, because each has its own clock.
class Fold {
 public:
  void take(const StoredEvent& event);
  JobView view() &&;

 private:
  using Step = void (Fold::*)(const EventFields&);
  static Step step_of(std::string_view name);

  void on_job_start(const EventFields& event);
  void on_waiting(const EventFields& event);
  void on_round_start(const EventFields& event);
  void on_round_stop(const EventFields& event);
  void on_broken(const EventFields& event);
  void on_attempt_restart(const EventFields& event);
  void on_worker_exit(const EventFields& event);
  void on_node_lost(const EventFields& event);
  void on_node_unfit(const EventFields& event);
  void on_timeline(const EventFields& event);
  void on_failure(const EventFields& event);
  void on_job_end(const EventFields& event);

  void begin_span(const EventFields& event, const std::string& node, std::string_view state,
                  const std::string& text);
  void end_span(const std::string& node, int64_t time_ms);
  void begin_restart(const EventFields& event, std::string_view cause, const std::string& reason);
  void begin_round(const EventFields& event, int64_t round);
  void note(const EventFields& event);
  [[nodiscard]] std::vector<std::string> nodes_named_by(std::string_view reason) const;
  [[nodiscard]] bool is_lost(const std::string& name) const;
  [[nodiscard]] bool is_over() const;

  JobView view_;
  std::map<std::string, NodeRow> nodes_;
};

Fold::Step Fold::step_of(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, Step>, 13> kSteps = {{
      {"job.start", &Fold::on_job_start},
      {"round.waiting", &Fold::on_waiting},
      {"round.start", &Fold::on_round_start},
      {"round.stop", &Fold::on_round_stop},
      {"member.fenced", &Fold::on_round_stop},
      {"round.broken", &Fold::on_broken},
      {"attempt.restart", &Fold::on_attempt_restart},
      {"worker.exit", &Fold::on_worker_exit},
      {"node.lost", &Fold::on_node_lost},
      {"node.unfit", &Fold::on_node_unfit},
      {"restart.timeline", &Fold::on_timeline},
      {"job.failure", &Fold::on_failure},
      {"job.end", &Fold::on_job_end},
  }};
  const auto found = std::ranges::find(kSteps, name, &std::pair<std::string_view, Step>::first);
  return found == kSteps.end() ? nullptr : found->second;
}

void Fold::take(const StoredEvent& stored) {
  const auto event = EventFields::read(stored);
  if (!event) return;  // was an object when it was taken
  if (view_.began_ms == 0) view_.began_ms = stored.time_ms;
  if (const Step step = step_of(stored.name)) (this->*step)(*event);
  view_.last_ms = std::max(view_.last_ms, stored.time_ms);
  note(*event);
}

bool Fold::is_lost(const std::string& name) const {
  const auto& spans = nodes_.at(name).spans;
  return !spans.empty() && spans.back().state == kLost;
}

bool Fold::is_over() const {
  if (view_.state != kRunning) return true;
  return !nodes_.empty() && std::ranges::none_of(nodes_, [this](const auto& node) {
    return node.second.ended.empty() && !is_lost(node.first);
  });
}

void Fold::on_job_start(const EventFields& event) {
  if (is_over()) {
    const int64_t earlier = view_.earlier_runs + 1;
    view_ = {};
    nodes_.clear();
    view_.earlier_runs = earlier;
    view_.began_ms = event.time_ms();
  }
  view_.command = event.text("command");
  nodes_[event.node()].ended.clear();
  // A job of one node forms no rounds: its workers start at once.
  const bool alone = !event.number("max_nodes");
  begin_span(event, event.node(), alone ? kRunning : kJoining, "");
  if (!alone) return;
  view_.nodes = 1;
  view_.workers = event.number("workers");
  view_.round = 1;
  nodes_[event.node()].spans.back().round = 1;
  nodes_[event.node()].spans.back().attempt = 0;
}

void Fold::on_waiting(const EventFields& event) {
  NodeRow& row = nodes_[event.node()];
  const bool at_work =
      !row.spans.empty() && !row.spans.back().to_ms && row.spans.back().state == kRunning;
  if (!at_work) begin_span(event, event.node(), kJoining, event.text("reason"));
}

void Fold::on_round_start(const EventFields& event) {
  const int64_t first = event.number("first_rank").value_or(0);
  std::string text = "from rank " + std::to_string(first);
  if (const auto size = event.number("world_size")) text += " of " + std::to_string(*size);
  begin_span(event, event.node(), kRunning, text);
  const auto round = event.number("round");
  if (!round || (view_.round && *round < *view_.round)) return;
  view_.workers = event.number("world_size");
  view_.nodes = event.number("nodes");
  begin_round(event, *round);
}

void Fold::begin_round(const EventFields& event, int64_t round) {
  if (view_.round == round) return;
  view_.round = round;
  if (view_.restarts.empty() || view_.restarts.back().total_s) return;
  Restart& restart = view_.restarts.back();
  restart.total_s = static_cast<double>(event.time_ms() - restart.time_ms) / 1000;
}

void Fold::on_round_stop(const EventFields& event) {
  begin_span(event, event.node(), kStopping, event.text("reason"));
}

void Fold::on_broken(const EventFields& event) {
  const std::string reason = event.text("reason");
  const auto named = nodes_named_by(reason);
  const bool lost = std::ranges::any_of(named, [this](const auto& name) { return is_lost(name); });
  const bool failed = reason.starts_with("rank ");
  begin_restart(event, lost ? "lost" : failed ? "failure" : "other", reason);
}

void Fold::on_attempt_restart(const EventFields& event) {
  begin_restart(event, "failure", event.text("first_failure"));
  const int64_t attempt = event.number("attempt").value_or(0) + 1;
  begin_span(event, event.node(), kRunning, "");
  nodes_[event.node()].spans.back().attempt = attempt;
  nodes_[event.node()].spans.back().round = attempt + 1;
  begin_round(event, attempt + 1);
}

void Fold::begin_restart(const EventFields& event, std::string_view cause,
                         const std::string& reason) {
  // What breaks while nothing runs belongs to the same interruption.
  if (!view_.restarts.empty() && !view_.restarts.back().total_s) return;
  Restart restart;
  restart.time_ms = event.time_ms();
  restart.cause = cause;
  restart.reason = reason;
  restart.round = view_.round;
  view_.restarts.push_back(std::move(restart));
}

void Fold::on_worker_exit(const EventFields& event) {
  if (event.level() != "error") return;
  NodeRow& row = nodes_[event.node()];
  row.failures.push_back(event.time_ms());
  if (row.failures.size() > kMaxShownRestarts) row.failures.erase(row.failures.begin());
  // The first failure of a round explains the others.
  if (view_.failure && view_.failure->round == event.number("round")) return;
  Failure failure;
  failure.time_ms = event.time_ms();
  failure.node = event.node();
  failure.rank = event.number("rank");
  failure.round = event.number("round");
  failure.reason = event.text("reason");
  failure.last_lines = event.lines("last_lines", kMaxShownLines);
  view_.failure = std::move(failure);
}

void Fold::on_failure(const EventFields& event) {
  Failure failure;
  failure.time_ms = event.time_ms();
  failure.node = event.text("failed_on");
  failure.rank = event.number("rank");
  failure.reason = event.text("cause");
  failure.message = event.text("message");
  failure.logs = event.text("logs");
  failure.last_lines = event.lines("last_lines", kMaxShownLines);
  if (view_.failure) failure.round = view_.failure->round;
  view_.failure = std::move(failure);
}

// "node-3 ended: ...", "node-3 (index 2) silent for ...", "node-3, node-4 did not come back ...".
std::vector<std::string> Fold::nodes_named_by(std::string_view reason) const {
  std::vector<std::string> names;
  for (const std::string_view word : words_of(reason)) {
    const std::string name(word.substr(0, word.find_first_of(",:")));
    if (!nodes_.contains(name)) break;
    names.push_back(name);
  }
  return names;
}

void Fold::on_node_lost(const EventFields& event) {
  for (const std::string& name : nodes_named_by(event.text("reason")))
    if (nodes_[name].ended.empty()) begin_span(event, name, kLost, event.text("reason"));
}

void Fold::on_node_unfit(const EventFields& event) {
  for (const std::string& name : nodes_named_by(event.text("reason")))
    begin_span(event, name, kUnfit, event.text("reason"));
}

// Comes when the workers got somewhere again, so that it is about a restart that is there already.
void Fold::on_timeline(const EventFields& event) {
  const auto round = event.number("round");
  auto& restarts = view_.restarts;
  const auto is_meant = [round](const Restart& restart) {
    return round ? restart.round == round : restart.phases.empty();
  };
  const auto meant = std::find_if(restarts.rbegin(), restarts.rend(), is_meant);
  if (meant != restarts.rend() && !meant->phases.empty()) return;  // another leader told it, too
  auto about = meant == restarts.rend() ? restarts.end() : std::prev(meant.base());
  if (about == restarts.end()) {
    const bool open = !restarts.empty() && !restarts.back().total_s;
    about = restarts.insert(restarts.end() - (open ? 1 : 0), Restart{});
    about->time_ms = event.time_ms();
    about->round = round;
  }
  if (const auto cause = event.text("cause"); !cause.empty()) about->cause = cause;
  if (const auto reason = event.text("reason"); !reason.empty()) about->reason = reason;
  if (const auto total = event.real("total_s")) about->total_s = total;
  about->phases = event.phases();
}

void Fold::on_job_end(const EventFields& event) {
  const std::string result = event.text("result");
  end_span(event.node(), event.time_ms());
  nodes_[event.node()].ended = result;
  // A node that was told to go says "stopped" while the others go on; what the job came to, the
  // last one says. A spare that was not needed fails beside a job that succeeded.
  const bool all = is_over();
  if (result == "succeeded" || (result == "failed" && view_.state != "succeeded") ||
      (all && view_.state == kRunning)) {
    view_.state = result;
    view_.reason = event.text("reason");
  }
}

void Fold::begin_span(const EventFields& event, const std::string& node, std::string_view state,
                      const std::string& text) {
  end_span(node, event.time_ms());
  NodeSpan span;
  span.state = state;
  span.from_ms = event.time_ms();
  span.text = text;
  auto& spans = nodes_[node].spans;
  if (state == kRunning || (state == kStopping && !spans.empty())) {
    span.round = event.number("round");
    span.attempt = event.number("attempt");
  }
  if (state == kStopping && !spans.empty() && !span.attempt) span.attempt = spans.back().attempt;
  const bool same =
      !spans.empty() && spans.back().state == state && spans.back().round == span.round;
  if (same && state != kRunning) {
    spans.back().to_ms.reset();
    spans.back().text = text;
    return;
  }
  spans.push_back(std::move(span));
}

void Fold::end_span(const std::string& node, int64_t time_ms) {
  auto& spans = nodes_[node].spans;
  if (spans.empty() || spans.back().to_ms) return;
  spans.back().to_ms = std::max(time_ms, spans.back().from_ms);
}

void Fold::note(const EventFields& event) {
  auto text = event.moment_text();
  if (!text) return;
  // What every node says of the job is told once.
  constexpr int64_t kSameMs = 3000;
  constexpr size_t kLooks = 16;
  const auto& told = view_.moments;
  for (size_t i = told.size(); i > 0 && told.size() - i < kLooks; --i) {
    const Moment& moment = told[i - 1];
    if (moment.event == event.name() && moment.text == *text &&
        event.time_ms() - moment.time_ms < kSameMs)
      return;
  }
  view_.moments.push_back(
      {event.time_ms(), event.node(), event.name(), event.level(), *std::move(text)});
}

template <typename List>
void keep_last(List& list, size_t most) {
  if (list.size() > most) list.erase(list.begin(), list.end() - static_cast<std::ptrdiff_t>(most));
}

// "node-2" before "node-10".
bool comes_first(const std::string& a, const std::string& b) {
  const auto stem = [](const std::string& name) { return name.find_last_not_of("0123456789") + 1; };
  const size_t at = stem(a);
  if (at != stem(b) || a.compare(0, at, b, 0, at) != 0 || a.size() == b.size()) return a < b;
  return a.size() < b.size();
}

JobView Fold::view() && {
  // A job that is over has nobody who still runs: what a lost node was doing ended with it.
  for (auto& [name, row] : nodes_) {
    if (is_over() && row.ended.empty()) end_span(name, view_.last_ms);
    row.name = name;
    view_.rows.push_back(std::move(row));
  }
  std::ranges::sort(view_.rows, comes_first, &NodeRow::name);
  if (view_.rows.size() > kMaxShownNodes) view_.rows.resize(kMaxShownNodes);
  for (NodeRow& row : view_.rows)
    keep_last(row.spans, std::max<size_t>(4, kMaxShownSpans / view_.rows.size()));
  // A job that ends in an interruption is not restarted.
  if (view_.state != kRunning)
    std::erase_if(view_.restarts, [](const Restart& restart) { return !restart.total_s; });
  keep_last(view_.restarts, kMaxShownRestarts);
  keep_last(view_.moments, kMaxShownMoments);
  return std::move(view_);
}

template <typename T>
void put(json& object, const char* key, const std::optional<T>& value) {
  if (value) object[key] = *value;
}

json span_json(const NodeSpan& span) {
  json object = {{"state", span.state}, {"from_ms", span.from_ms}, {"text", span.text}};
  put(object, "to_ms", span.to_ms);
  put(object, "round", span.round);
  put(object, "attempt", span.attempt);
  return object;
}

json restart_json(const Restart& restart) {
  json phases = json::array();
  for (const auto& [name, seconds] : restart.phases)
    phases.push_back({{"name", name}, {"s", seconds}});
  json object = {{"time_ms", restart.time_ms},
                 {"cause", restart.cause},
                 {"reason", restart.reason},
                 {"phases", phases}};
  put(object, "round", restart.round);
  put(object, "total_s", restart.total_s);
  return object;
}

json failure_json(const Failure& failure) {
  json object = {{"time_ms", failure.time_ms}, {"node", failure.node},
                 {"reason", failure.reason},   {"message", failure.message},
                 {"logs", failure.logs},       {"last_lines", failure.last_lines}};
  put(object, "rank", failure.rank);
  put(object, "round", failure.round);
  return object;
}

json summary_of(const StoredJob& job, const JobView& view) {
  json causes = json::object();
  for (const Restart& restart : view.restarts)
    causes[restart.cause] = causes.value(restart.cause, 0) + 1;
  json object = {{"job", job.name},           {"state", view.state},
                 {"reason", view.reason},     {"command", view.command},
                 {"began_ms", view.began_ms}, {"last_ms", view.last_ms},
                 {"heard_ms", job.heard_ms},  {"earlier_runs", view.earlier_runs},
                 {"restarts", causes},        {"progress", nullptr}};
  put(object, "round", view.round);
  put(object, "workers", view.workers);
  put(object, "nodes", view.nodes);
  if (auto progress = parse_json(view.progress)) object["progress"] = *std::move(progress);
  return object;
}

}  // namespace

JobView view_of_job(std::span<const StoredEvent> events, std::span<const StoredProgress> progress) {
  Fold fold;
  for (const StoredEvent& event : events) fold.take(event);
  JobView view = std::move(fold).view();
  std::vector<StoredProgress> own;  // of this run
  std::ranges::copy_if(progress, std::back_inserter(own), [&view](const StoredProgress& point) {
    return point.time_ms >= view.began_ms;
  });
  if (const auto speaker = speaker_of(own)) view.progress = progress_json(own[*speaker]);
  for (const StoredProgress& point : own) {
    view.last_ms = std::max(view.last_ms, point.time_ms);
    if (view.began_ms == 0) view.began_ms = point.time_ms;
  }
  return view;
}

std::string summary_json(const StoredJob& job, const JobView& view) {
  return dump_json(summary_of(job, view));
}

std::string detail_json(const StoredJob& job, const JobView& view) {
  json object = summary_of(job, view);
  json rows = json::array();
  for (const NodeRow& row : view.rows) {
    json spans = json::array();
    for (const NodeSpan& span : row.spans) spans.push_back(span_json(span));
    rows.push_back(
        {{"name", row.name}, {"ended", row.ended}, {"failures", row.failures}, {"spans", spans}});
  }
  json restarts = json::array();
  for (const Restart& restart : view.restarts) restarts.push_back(restart_json(restart));
  json moments = json::array();
  for (const Moment& moment : view.moments)
    moments.push_back({{"time_ms", moment.time_ms},
                       {"node", moment.node},
                       {"event", moment.event},
                       {"level", moment.level},
                       {"text", moment.text}});
  object["rows"] = rows;
  object["restart_list"] = restarts;
  object["moments"] = moments;
  object["failure"] = view.failure ? failure_json(*view.failure) : json();
  return dump_json(object);
}

}  // namespace muster::launcher
