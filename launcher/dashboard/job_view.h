// JobView: what the events of a job come to: its state, its nodes through time, its restarts, its
// last failure. Pure. It shows the last run, if a job of that name has run several times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/dashboard/event_store.h"

namespace muster::launcher {

// Of what is shown the newest stays, and of the nodes those to which something happened.
inline constexpr size_t kMaxShownNodes = 512;
inline constexpr size_t kMaxShownSpans = 6000;  ///< of all nodes, and at least 4 of each
inline constexpr size_t kMaxShownRestarts = 200;
inline constexpr size_t kMaxShownMoments = 300;
inline constexpr size_t kMaxShownLines = 50;  ///< that a failed rank printed last
inline constexpr size_t kMaxShownText = 600;  ///< bytes of one text

/// What a node did for a while.
struct NodeSpan {
  std::string state;  ///< joining, running, stopping, lost, unfit
  int64_t from_ms = 0;
  std::optional<int64_t> to_ms;  ///< none: it still does
  std::optional<int64_t> round;
  std::optional<int64_t> attempt;
  std::string text;  ///< the ranks, or why
};

struct NodeRow {
  std::string name;
  std::vector<NodeSpan> spans;    ///< by time
  std::vector<int64_t> failures;  ///< when a worker of it failed
  std::string ended;              ///< "" or how: succeeded, failed, stopped
};

/// From the end of a round until the next one runs.
struct Restart {
  int64_t time_ms = 0;
  std::string cause;  ///< as in `restart.timeline`; without one "failure", "lost", "other"
  std::string reason;
  std::optional<int64_t> round;   ///< that ended
  std::optional<double> total_s;  ///< none: it is not over
  std::vector<std::pair<std::string, double>>
      phases;  ///< seconds, in their order; none are known = empty
};

struct Failure {
  int64_t time_ms = 0;
  std::string node;
  std::optional<int64_t> rank;
  std::optional<int64_t> round;
  std::string reason;  ///< "exit code 1 (user error)"
  std::string message;
  std::string logs;
  std::vector<std::string> last_lines;
};

/// Something that a person wants to know.
struct Moment {
  int64_t time_ms = 0;
  std::string node;
  std::string event;
  std::string level;
  std::string text;
};

struct JobView {
  std::string state = "running";  ///< or succeeded, failed, stopped
  std::string reason;             ///< of the end
  std::string command;
  int64_t began_ms = 0;
  int64_t last_ms = 0;  ///< of the newest event, by its own clock
  int64_t earlier_runs = 0;
  std::optional<int64_t> round;
  std::optional<int64_t> workers;  ///< of that round
  std::optional<int64_t> nodes;    ///< of that round
  std::vector<NodeRow> rows;       ///< by name, numbers as numbers
  size_t rows_left_out = 0;
  std::vector<Restart> restarts;
  std::map<std::string, int64_t> causes;  ///< of all restarts, also of those that are not listed
  std::optional<Failure> failure;
  std::vector<Moment> moments;
  std::string progress;  ///< the newest point of the lowest rank that speaks, as JSON; "" = none
};

/// `events` in their order. `began_ms`: of the job, if it is known better than by its first event
/// that is still there; 0 = it is not.
[[nodiscard]] JobView view_of_job(std::span<const StoredEvent> events, int64_t began_ms = 0);

/// Adds the last points of the nodes to the view of a job, again and again as they become newer.
void add_progress(JobView& view, std::span<const StoredProgress> last);

}  // namespace muster::launcher
