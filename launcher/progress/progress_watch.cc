#include "launcher/progress/progress_watch.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/log.h"

namespace muster::launcher {

namespace {

// As the guardian: sockets must not compete with workers that start.
constexpr Duration kOpenAfter = std::chrono::milliseconds(5);

constexpr std::string_view kEventMalformed = "progress.malformed";

// Empty where it is not known: then the journal leaves it out.
template <typename T>
log::Field known(std::string_view key, const std::optional<T>& value) {
  return value ? log::Field(key, *value) : log::Field(key, "");
}

}  // namespace

PlannedVariable progress_variable(std::string path) {
  return {.name = std::string(kProgressSocketVariable),
          .value = std::move(path),
          .reason = "where this worker may say how far it is",
          .source = "docs/observability.md",
          .claim = Claim::kOverrides};
}

std::string ProgressWatch::path_of(int local_rank) const {
  return folder_ + "/progress." + std::to_string(local_rank);
}

std::optional<PlannedVariable> ProgressWatch::variable(int local_rank) const {
  std::string path = path_of(local_rank);
  if (path.size() > kMaxSocketPathBytes) return std::nullopt;
  return progress_variable(std::move(path));
}

void ProgressWatch::begin_attempt(ProgressAttempt attempt, bool folder_is_there) {
  attempt_ = attempt;
  progress_.begin_attempt(loop_.now());
  lines_.clear();
  runs_ = true;
  telling_.due = false;
  malformed_ = 0;
  furthest_ = -1;
  telling_.last = loop_.now() - kProgressInterval;
  open_timer_ = loop_.after(kOpenAfter, [this, folder_is_there] {
    const Status opened = open_sockets(folder_is_there);
    if (opened || std::exchange(refused_, true)) return;
    log::warning("progress.no_socket",
                 {{"error", opened.error().text},
                  {"action", "workers cannot say how far they are; their output can"}});
  });
}

// Once there, they serve every attempt: the paths stay the same.
Status ProgressWatch::open_sockets(bool folder_is_there) {
  const auto wanted = static_cast<size_t>(attempt_.workers);
  if (sockets_.size() >= wanted || refused_) return {};
  if (!folder_is_there && !own_folder_) {
    auto made = TemporaryFolder::create(folder_);
    if (!made) return std::move(made).error();
    own_folder_.emplace(std::move(*made));
  }
  while (sockets_.size() < wanted) {
    const int local_rank = static_cast<int>(sockets_.size());
    auto socket = ProgressSocket::create(
        loop_, path_of(local_rank),
        [this, local_rank](std::string_view message) { take_message(local_rank, message); });
    if (!socket) return std::move(socket).error();
    sockets_.push_back(std::move(*socket));
  }
  return {};
}

void ProgressWatch::take_lines(int local_rank, std::string_view lines) {
  auto found = lines_.find(local_rank);
  if (found == lines_.end())
    found = lines_.emplace(local_rank, Lines{.forms = ProgressLines(pattern_)}).first;
  Lines& worker = found->second;
  if (loop_.now() - worker.since >= kLinesInterval) {
    worker.since = loop_.now();
    worker.looked = 0;
  }
  if (worker.looked >= kMaxLinesLookedAt) return;
  worker.looked += worker.forms.read_all(
      lines, kMaxLinesLookedAt - worker.looked,
      [this, local_rank](const ProgressReport& report) { take(local_rank, report); });
}

void ProgressWatch::take_message(int local_rank, std::string_view message) {
  const auto report = parse_progress_message(message);
  if (report) return take(local_rank, *report);
  if (++malformed_ > 1) return;
  log::warning(kEventMalformed, {{"rank", attempt_.first_rank + local_rank},
                                 {"error", report.error().text},
                                 {"action", "not counted; more of them are told at the end"}});
}

void ProgressWatch::take(int local_rank, const ProgressReport& report) {
  if (!runs_) return;  // the word of a worker that has ended
  const int rank = attempt_.first_rank + local_rank;
  progress_.take(loop_.now(), rank, report);
  telling_.due = true;
  if (telling_.timer.is_active()) return;
  if (loop_.now() - telling_.last >= kProgressInterval) return tell();
  telling_.timer = loop_.at(telling_.last + kProgressInterval, [this] { tell(); });
}

void ProgressWatch::drain(int local_rank) {
  if (const auto index = static_cast<size_t>(local_rank); index < sockets_.size())
    sockets_[index]->read_rest();
  tell_moved();
}

void ProgressWatch::tell_moved() {
  const int64_t furthest = progress_.furthest();
  if (furthest <= furthest_) return;
  furthest_ = furthest;
  if (moved_) moved_(furthest);
}

// For the recorder alone: a line a second would be too much for people, who have the workers' own
// lines and `muster status`.
void ProgressWatch::tell() {
  const auto view = progress_.view(loop_.now());
  if (!view || !std::exchange(telling_.due, false)) return;
  telling_.last = loop_.now();
  tell_moved();
  log::record(log::Level::kInfo, "progress",
              {{"rank", view->rank},
               known("step", view->step),
               known("total", view->total),
               known("epoch", view->epoch),
               log::Field::of_json("metrics", dump_json(nlohmann::json(view->metrics))),
               known("rate", view->rate),
               known("percent", view->percent),
               known("eta_s", view->eta_s),
               {"round", attempt_.round},
               {"attempt", attempt_.attempt},
               {"first_rank", attempt_.first_rank}});  // 0: this node speaks for the job
}

void ProgressWatch::end_attempt() {
  open_timer_.reset();
  telling_.timer.reset();
  if (!runs_) return;
  for (const auto& socket : sockets_) socket->read_rest();
  tell();
  runs_ = false;
  if (malformed_ < 2) return;
  log::warning(kEventMalformed, {{"messages", malformed_}, {"action", "they were not counted"}});
}

std::string ProgressWatch::json() const {
  const auto now = view();
  return now ? progress_json(*now) : "";
}

}  // namespace muster::launcher
