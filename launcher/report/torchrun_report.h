// Torchrun report: the layout in which torchrun tells failures, for people and scripts that know
// it. Pure text. Without the Python traceback that stands before it there: it says where in
// torchrun the exception was raised, which is nowhere here.
#pragma once

#include <string>

#include "launcher/report/failure_report.h"

namespace muster::launcher {

/// The text of ChildFailedError, first its name, each line ended by '\n'. Every worker that ended
/// without success is listed, also those that the agent stopped, as there; the first failure is the
/// root cause. Empty when no record is a failure. Times are UTC. The words of an OOM kill or of a
/// start that failed are ours; torchrun has none.
/// Source: torch.distributed.elastic.multiprocessing.errors, 2.13; recorded in
/// tests/data/reports/torchrun-2.13.
[[nodiscard]] std::string torchrun_report(const RunReport& report);

}  // namespace muster::launcher
