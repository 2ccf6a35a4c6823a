// Failure report: what the agent says about the end of a run that did not succeed: on stderr, in
// the termination message and in the log. Pure texts from what is known; who failed first was found
// by elastic/failure.h. torchrun's own layout is in torchrun_report.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "elastic/failure.h"

namespace muster::launcher {

/// Of a traceback or a worker's last lines, the end is shown.
inline constexpr size_t kMaxReportLines = 30;
/// On nodes where it did not fail: a job of many nodes has many of them.
inline constexpr size_t kMaxLinesElsewhere = 10;
/// Of one line; longer ones are cut and marked with "...".
inline constexpr size_t kMaxReportLineBytes = 400;

/// What a report is made of.
struct RunReport {
  std::string entry_point;                      ///< "train.py": script, module or program
  std::vector<elastic::FailureRecord> records;  ///< every ended worker of the last attempt on this
                                                ///< node, in the order in which it was noticed
  bool first_is_known = false;                  ///< records.front() is the job's first failure, of
                                                ///< whichever node
  bool elsewhere = false;  ///< that failure was on another node, which tells more
  std::string mark;        ///< stands before every line on the console: "[node-1] "; "" = nothing
  int world_size = 1;
  int max_restarts = 0;
  std::string verdict;  ///< RestartDecision::reason of the last decision; "" = the policy was not
                        ///< asked
  std::string log_dir;  ///< of the last attempt; "" = no logs were written
  int stop_signal = 0;  ///< what told the agent to end the job; 0 = nothing did, or a worker had
                        ///< failed before
  /// Of a job that ended without a failure of a worker: why, and the exit code.
  std::string end_reason;
  int end_code = 0;
  /// Of the job as this node saw it, for its summary.
  Duration lasted{};
  int attempts = 1;
  int nodes_lost = 0;
  int nodes_joined = 0;
  std::optional<int> first_rank;  ///< of this node, in the last round; none = it was in none
};

/// The failure that explains the end: see first_is_known, else elastic::first_failure().
[[nodiscard]] const elastic::FailureRecord* first_failure(const RunReport& report);

/// One line without its end, for grep and for the first line of the termination message:
///   muster: rank 1 on node-0 failed first: exit code 3 (user error) after 12.3 s in attempt 0:
///   ValueError: no data; 3 other ranks stopped; logs in /logs/attempt_0/rank_1
///   muster: stopped by SIGTERM after 12.3 s in attempt 0: 3 ranks ended as asked, 1 was killed
///   muster: no leader within 10 min: 10.0.0.1:29400 (refused)
/// With a stop signal, failures are mentioned but nobody "failed first": they may be its effect.
[[nodiscard]] std::string report_line(const RunReport& report);

/// Why the job did not succeed, in short, for the summary that stands beside the report:
///   rank 1 on node-0 failed first: exit code 3 (user error); crash loop: the same failure 3 times
/// Without a failure, or with a stop signal, as report_line().
[[nodiscard]] std::string end_reason(const RunReport& report);

/// What a person needs, a few lines, each marked and ended by '\n'; the last one is report_line().
/// Only that line when no record is a failure. Shorter where another node tells more.
[[nodiscard]] std::string report_summary(const RunReport& report);

/// Where the failure can be seen: the end of the traceback, else of the last lines; printable.
[[nodiscard]] std::vector<std::string> evidence_lines(const elastic::FailureRecord& record);

/// report_line(), then as much of the end of the traceback or of the last lines as fits; at most
/// kMaxTerminationBytes of valid UTF-8.
[[nodiscard]] std::string termination_message(const RunReport& report);

/// Logs one line "worker.exit" for a worker that ended: rank, local_rank, node, pid, code or
/// signal, class, reason (with the error file's message), alive_s, attempt, round, last_lines (of a
/// failure, as evidence_lines()). Failures at level error, the rest at info.
void log_worker_exit(const elastic::FailureRecord& record, uint64_t round);

}  // namespace muster::launcher
