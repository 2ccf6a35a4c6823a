#include "launcher/report/outcome.h"

#include <string>

#include "base/log.h"
#include "base/signals.h"
#include "base/text.h"
#include "launcher/report/error_file.h"
#include "launcher/report/exit_codes.h"
#include "launcher/report/termination_log.h"
#include "launcher/report/torchrun_report.h"

namespace muster::launcher {

int exit_code_of_run(Personality personality, const RunReport& report, bool all_succeeded) {
  if (all_succeeded) return kExitSuccess;
  if (report.stop_signal != 0) return exit_code_of_signal(personality, report.stop_signal);
  const elastic::FailureRecord* first = first_failure(report);
  if (first != nullptr) return exit_code_of_worker(personality, first->status);
  // Without any of these and a reason from elsewhere nothing could have ended the run.
  if (report.end_code == 0) return kExitInternal;
  return personality == Personality::kMuster ? report.end_code : kTorchrunFailure;
}

namespace {

constexpr std::string_view kEventFailure = "job.failure";

// The report's block, as an event: the text log has the block instead.
void tell_failure(const RunReport& report, const elastic::FailureRecord& first) {
  const bool signalled = first.status.signal != 0;
  const auto tell = log::format() == log::Format::kJson ? log::write : log::record;
  tell(
      log::Level::kError, kEventFailure,
      {{"program", report.entry_point},
       first.rank == elastic::kNoRank ? log::Field("rank", "none") : log::Field("rank", first.rank),
       {"local_rank", first.local_rank},
       {"world_size", report.world_size},
       {"failed_on", first.node},
       {"pid", first.pid},
       signalled ? log::Field("signal", signal_name(first.status.signal))
                 : log::Field("code", first.status.code),
       {"class", elastic::to_string(first.failure_class)},
       {"cause", first.reason},
       {"message", first.error_file ? first.error_file->message : ""},
       {"failed_at", format_utc_ms(first.noticed_wall)},
       {"alive_s", first.alive},
       {"attempt", first.attempt},
       {"last_lines", evidence_lines(first)},
       {"logs", first.logs}});
}

// The summary of the job: one line on every node.
void log_end(const RunReport& report, bool success, int code) {
  log::Field first_rank("first_rank", "");
  if (report.first_rank)
    first_rank = log::Field::for_programs("first_rank", static_cast<uint64_t>(*report.first_rank));
  const bool stopped = !success && report.stop_signal != 0;
  log::write(success || stopped ? log::Level::kInfo : log::Level::kError, "job.end",
             {{"result", success   ? "succeeded"
                         : stopped ? "stopped"
                                   : "failed"},
              {"reason", success ? report.end_reason : end_reason(report)},
              {"exit_code", code},
              {"duration_s", report.lasted},
              {"attempts", report.attempts},
              {"nodes_lost", report.nodes_lost},
              {"nodes_joined", report.nodes_joined},
              {"logs", report.log_dir},
              first_rank});
}

}  // namespace

int conclude(const RunReport& report, bool all_succeeded, const Options& options,
             const Environment& environment, Files& files, Console& console) {
  const int code = exit_code_of_run(options.personality, report, all_succeeded);
  const bool json = log::format() == log::Format::kJson;
  const elastic::FailureRecord* first = all_succeeded ? nullptr : first_failure(report);
  if (first != nullptr && !json) tell_failure(report, *first);
  if (all_succeeded || !json) log_end(report, all_succeeded, code);
  if (all_succeeded) return code;
  write_termination_log(files, options.termination_log, termination_message(report));
  const auto reply = environment.get("TORCHELASTIC_ERROR_FILE");
  if (first != nullptr && reply && !reply->empty()) {
    if (const Status written = write_reply_file(files, std::string(*reply), *first); !written) {
      log::warning("reply_file.failed",
                   {{"error", written.error().text}, {"action", "going on without"}});
    }
  }
  console.log_problems();  // the report's last line is the last of all, where that can be
  if (json) {
    if (first != nullptr) tell_failure(report, *first);
    log_end(report, all_succeeded, code);
    return code;
  }
  const bool as_torchrun = options.personality == Personality::kTorchrun && report.stop_signal == 0;
  console.write_agent_line(as_torchrun ? torchrun_report(report) + report_line(report) + "\n"
                                       : report_summary(report));
  return code;
}

}  // namespace muster::launcher
