// Outcome: how the job ended on this node, and everything that is left behind to say so: summary on
// stderr, the pod's termination message, the reply file of an outer scheduler, the exit code.
#pragma once

#include "base/environment.h"
#include "base/files.h"
#include "launcher/options/options.h"
#include "launcher/output/console.h"
#include "launcher/report/failure_report.h"

namespace muster::launcher {

/// The exit code of the run. Pure. Success counts even when a stop signal came at the last moment;
/// otherwise the signal decides, otherwise the first failure.
[[nodiscard]] int exit_code_of_run(Personality personality, const RunReport& report,
                                   bool all_succeeded);

/// Logs the summary of the job, "job.end", and writes what an unsuccessful run leaves behind. As
/// torchrun in torchrun's layout, with our line at the end. In a JSON log the report is an event,
/// too, "job.failure", and the summary is the last line. What cannot be written is logged and
/// changes nothing. Returns exit_code_of_run().
int conclude(const RunReport& report, bool all_succeeded, const Options& options,
             const Environment& environment, Files& files, Console& console);

}  // namespace muster::launcher
