#include "launcher/report/outcome.h"

#include <string>

#include "base/log.h"
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

int conclude(const RunReport& report, bool all_succeeded, const Options& options,
             const Environment& environment, Files& files, Console& console) {
  const int code = exit_code_of_run(options.personality, report, all_succeeded);
  if (all_succeeded) return code;
  write_termination_log(files, options.termination_log, termination_message(report));
  const elastic::FailureRecord* first = first_failure(report);
  const auto reply = environment.get("TORCHELASTIC_ERROR_FILE");
  if (first != nullptr && reply && !reply->empty()) {
    if (const Status written = write_reply_file(files, std::string(*reply), *first); !written) {
      log::warning("reply_file.failed",
                   {{"error", written.error().text}, {"action", "going on without"}});
    }
  }
  console.log_problems();  // the report's last line is the last of all, where that can be
  const bool as_torchrun = options.personality == Personality::kTorchrun && report.stop_signal == 0;
  console.write_agent_line(as_torchrun ? torchrun_report(report) + report_line(report) + "\n"
                                       : report_summary(report));
  return code;
}

}  // namespace muster::launcher
