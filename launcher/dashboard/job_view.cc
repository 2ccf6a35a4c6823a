#include "launcher/dashboard/job_view.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "launcher/dashboard/curves.h"
#include "launcher/dashboard/event_fields.h"

namespace muster::launcher {

namespace {

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
  JobView view(int64_t began_ms) &&;

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
  [[nodiscard]] bool is_lost(const std::string& name) const;
  [[nodiscard]] bool is_over() const;
  void go_on();

  JobView view_;
  std::map<std::string, NodeRow> nodes_;
  std::set<std::string> leaders_;  // those that led the round that they were in last
  bool has_start_ = false;
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

// Names as the leader puts them before what it says: "node-3 ended: ...", "node-3 (index 2) silent
// for ...", "node-3, node-4 did not come back ...". The nodes need not have reported.
std::vector<std::string> nodes_named_by(std::string_view reason) {
  std::vector<std::string> names;
  bool more = true;
  bool in_brackets = false;
  for (const std::string_view word : words_of(reason)) {
    const bool begins = word.starts_with('(');
    if (!in_brackets && !begins && !more) break;
    if (!in_brackets && !begins)
      names.emplace_back(word.substr(0, word.find_last_not_of(",:") + 1));
    if (names.size() == kMaxShownNodes) break;
    in_brackets = (in_brackets || begins) && word.find(')') == std::string_view::npos;
    more = word.ends_with(',');
  }
  std::erase(names, "");
  std::erase(names, "...");  // of more than are named
  return names;
}

// A round or an attempt, of which nobody counts so many.
std::optional<int64_t> count_in(const EventFields& event, std::string_view key) {
  const auto count = event.number(key);
  return count && *count >= 0 && *count <= INT32_MAX ? count : std::nullopt;
}

bool Fold::is_lost(const std::string& name) const {
  const auto found = nodes_.find(name);
  if (found == nodes_.end() || found->second.spans.empty()) return false;
  return found->second.spans.back().state == kLost;
}

bool Fold::is_over() const {
  if (view_.state == "succeeded") return true;
  return !nodes_.empty() && std::ranges::none_of(nodes_, [this](const auto& node) {
    return node.second.ended.empty() && !is_lost(node.first);
  });
}

// What looked like the end was that of one node.
void Fold::go_on() {
  if (view_.state == "succeeded") return;
  view_.state = kRunning;
  view_.reason.clear();
}

void Fold::on_job_start(const EventFields& event) {
  if (is_over()) {
    const int64_t earlier = view_.earlier_runs + 1;
    view_ = {};
    nodes_.clear();
    leaders_.clear();
    view_.earlier_runs = earlier;
    view_.began_ms = event.time_ms();
  }
  has_start_ = true;
  go_on();
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
  leaders_.erase(event.node());
  if (event.flag("leads")) leaders_.insert(event.node());
  nodes_[event.node()].ended.clear();
  const auto round = count_in(event, "round");
  if (!round || (view_.round && *round < *view_.round)) return;
  if (view_.round != round) go_on();
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
  // A node that was cut off stops as well, and stays lost until it is in a round again.
  if (nodes_.contains(event.node()) && is_lost(event.node())) return;
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
  const int64_t attempt = count_in(event, "attempt").value_or(0) + 1;
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
  // A node that was told to go says "stopped" while the others go on, and one that was cut off and
  // gave up says "failed". So what the job came to the last one says, or success; of failures also
  // the one that leads, unless another round begins after it: others may never say their end.
  const auto& spans = nodes_[event.node()].spans;
  const bool leads = leaders_.contains(event.node()) && !is_lost(event.node()) && !spans.empty() &&
                     spans.back().round.value_or(0) >= view_.round.value_or(0);
  if (view_.state == "succeeded") return;
  if (result == "succeeded" || is_over() || (result == "failed" && leads)) {
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
    span.round = count_in(event, "round");
    span.attempt = count_in(event, "attempt");
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

// Of too many rows those to which something happened stay.
void cut_rows(JobView& view) {
  if (view.rows.size() <= kMaxShownNodes) return;
  const auto is_quiet = [](const NodeRow& row) {
    return row.failures.empty() && std::ranges::none_of(row.spans, [](const NodeSpan& span) {
             return span.state == kLost || span.state == kUnfit;
           });
  };
  std::stable_partition(view.rows.begin(), view.rows.end(), std::not_fn(is_quiet));
  view.rows_left_out = view.rows.size() - kMaxShownNodes;
  view.rows.resize(kMaxShownNodes);
  std::ranges::sort(view.rows, comes_first, &NodeRow::name);
}

JobView Fold::view(int64_t began_ms) && {
  // A job that is over has nobody who still runs: what a lost node was doing ended with it.
  for (auto& [name, row] : nodes_) {
    if ((is_over() || view_.state != kRunning) && row.ended.empty()) end_span(name, view_.last_ms);
    row.name = name;
    view_.rows.push_back(row);
  }
  if (!has_start_ && began_ms > 0) view_.began_ms = std::min(view_.began_ms, began_ms);
  std::ranges::sort(view_.rows, comes_first, &NodeRow::name);
  cut_rows(view_);
  for (NodeRow& row : view_.rows)
    keep_last(row.spans, std::max<size_t>(4, kMaxShownSpans / view_.rows.size()));
  // A job that ends in an interruption is not restarted.
  if (view_.state != kRunning)
    std::erase_if(view_.restarts, [](const Restart& restart) { return !restart.total_s; });
  for (const Restart& restart : view_.restarts) ++view_.causes[restart.cause];
  keep_last(view_.restarts, kMaxShownRestarts);
  keep_last(view_.moments, kMaxShownMoments);
  return std::move(view_);
}

}  // namespace

JobView view_of_job(std::span<const StoredEvent> events, int64_t began_ms) {
  Fold fold;
  for (const StoredEvent& event : events) fold.take(event);
  return std::move(fold).view(began_ms);
}

void add_progress(JobView& view, std::span<const StoredProgress> last) {
  std::vector<StoredProgress> own;  // of this run
  std::ranges::copy_if(last, std::back_inserter(own), [&view](const StoredProgress& point) {
    return point.time_ms >= view.began_ms;
  });
  if (const auto speaker = speaker_of(own)) view.progress = progress_json(own[*speaker]);
  for (const StoredProgress& point : own) {
    view.last_ms = std::max(view.last_ms, point.time_ms);
    if (view.began_ms == 0) view.began_ms = point.time_ms;
  }
}

}  // namespace muster::launcher
