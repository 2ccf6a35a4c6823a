// ProgressWatch: hears how far the workers of this node are, and tells the journal, the status and
// whoever decides about restarts. One for the life of an agent.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment_plan.h"
#include "base/loop.h"
#include "base/process/temporary_folder.h"
#include "launcher/progress/progress.h"
#include "launcher/progress/progress_lines.h"
#include "launcher/progress/progress_pattern.h"
#include "launcher/progress/progress_socket.h"

namespace muster::launcher {

/// The path of a worker's ProgressSocket.
inline constexpr std::string_view kProgressSocketVariable = "MUSTER_PROGRESS_SOCKET";

/// The variable with that path, for the environment of a worker.
[[nodiscard]] PlannedVariable progress_variable(std::string path);

/// Between two `progress` events of an attempt. The last one comes with its end.
inline constexpr Duration kProgressInterval = std::chrono::seconds(1);

/// Of each worker so many lines are looked at in so long; more, in a flood, are passed over:
/// looking at each would cost more than passing it on does.
inline constexpr size_t kMaxLinesLookedAt = 1000;
inline constexpr Duration kLinesInterval = std::chrono::milliseconds(10);

/// Which attempt, and of which workers of the job.
struct ProgressAttempt {
  int attempt = 0;
  uint64_t round = 0;
  int first_rank = 0;
  int workers = 0;  ///< on this node; 0 = a launcher prints for all ranks
};

class ProgressWatch {
 public:
  /// `folder` is the agent's own, where the sockets will be; made here when it is needed, unless
  /// `is_there` says later that somebody else has made it.
  ProgressWatch(Loop& loop, std::string folder, std::optional<ProgressPattern> pattern = {})
      : loop_(loop), folder_(std::move(folder)), pattern_(std::move(pattern)) {}
  ProgressWatch(const ProgressWatch&) = delete;
  ProgressWatch& operator=(const ProgressWatch&) = delete;

  /// Called when the workers got further, with Progress::furthest(): at most once in
  /// kProgressInterval, and by drain() and end_attempt().
  void on_moved(std::function<void(int64_t furthest)> moved) { moved_ = std::move(moved); }
  /// What a worker is told. None: the path would be too long.
  [[nodiscard]] std::optional<PlannedVariable> variable(int local_rank) const;

  /// All workers of an attempt were started. In a moment there are sockets, so that the first lines
  /// of a job do not wait for them.
  void begin_attempt(ProgressAttempt attempt, bool folder_is_there);
  /// Whole lines that the worker printed, as many as kMaxLinesLookedAt allows.
  void take_lines(int local_rank, std::string_view lines);
  /// What it says in some other way. Nothing between attempts.
  void take(int local_rank, const ProgressReport& report);
  /// This worker is gone: what it said last counts before its end does.
  void drain(int local_rank);
  /// The workers are gone: takes what they said last, and tells it.
  void end_attempt();

  /// Of the current attempt, or the last one. None: nobody has said anything.
  [[nodiscard]] std::optional<ProgressView> view() const { return progress_.view(loop_.now()); }
  /// The same as progress_json(), "" = none.
  [[nodiscard]] std::string json() const;

 private:
  struct Lines {
    ProgressLines forms;
    TimePoint since = {};
    size_t looked = 0;  // since then
  };
  struct Telling {
    bool due = false;  // there is news since the last event
    TimePoint last;    // event
    Timer timer;       // of the next one
  };
  Status open_sockets(bool folder_is_there);
  [[nodiscard]] std::string path_of(int local_rank) const;
  void take_message(int local_rank, std::string_view message);
  void tell_moved();
  void tell();

  Loop& loop_;
  std::string folder_;
  std::optional<ProgressPattern> pattern_;  // of the user
  std::function<void(int64_t)> moved_;
  Progress progress_;
  ProgressAttempt attempt_;
  bool runs_ = false;
  std::map<int, Lines> lines_;  // by local rank
  std::optional<TemporaryFolder> own_folder_;
  std::vector<std::unique_ptr<ProgressSocket>> sockets_;  // by local rank
  bool refused_ = false;                                  // there are none, and it was said
  uint64_t malformed_ = 0;                                // messages of the attempt
  int64_t furthest_ = -1;                                 // as told to moved_
  Telling telling_;
  Timer open_timer_;
};

}  // namespace muster::launcher
