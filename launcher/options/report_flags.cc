// The flags that say whom the agent's own sidecar tells what happens: those of `muster sidecar`.
#include "launcher/options/flag_binding.h"
#include "launcher/options/flag_groups.h"
#include "launcher/options/flag_reader.h"
#include "launcher/options/option_values.h"
#include "launcher/sidecar/report_target.h"

namespace muster::launcher {

namespace {

// The words themselves are handed on to the sidecar, which reads them again.
Result<std::string> as_reports(std::string_view text) {
  if (text.empty()) return std::string();
  const auto targets = parse_reports(text);
  if (!targets) return Error(targets.error());
  return std::string(text);
}

constexpr FlagRow kRows[] = {
    {.name = "report",
     .origin = Origin::kMuster,
     .placeholder = "TARGET",
     .into = to_all<&ReportOptions::targets, as_reports>,
     .help = "who is told what happens on this node, by a sidecar of the agent's own: webhook=URL, "
             "trainjob, annotation, stdout; may be given several times"},
    {.name = "token-file",
     .origin = Origin::kMuster,
     .placeholder = "FILE",
     .into = to<&ReportOptions::token_file, as_text>,
     .help = "bearer token for webhooks, read anew for each connection"},
    {.name = "ca-file",
     .origin = Origin::kMuster,
     .placeholder = "FILE",
     .into = to<&ReportOptions::ca_file, as_text>,
     .help = "who may sign the certificates of webhooks, instead of whom the system trusts"},
    {.name = "cert-file",
     .origin = Origin::kMuster,
     .placeholder = "FILE",
     .into = to<&ReportOptions::cert_file, as_text>,
     .help = "our own certificate for webhooks"},
    {.name = "key-file",
     .origin = Origin::kMuster,
     .placeholder = "FILE",
     .into = to<&ReportOptions::key_file, as_text>,
     .help = "and its key, if it is not in the same file"},
    {.name = "flush-timeout",
     .origin = Origin::kMuster,
     .fallback = "30s",
     .placeholder = "TIME",
     .into = to<&ReportOptions::flush_timeout, parse_grace_period>,
     .help = "how long the end of the agent waits for its last reports"},
};

void check_reports(FlagReader& flags, Options& options) {
  if (!options.report.key_file.empty() && options.report.cert_file.empty())
    flags.fail("--key-file: there is no --cert-file for it");
  if (!options.report.targets.empty()) return;
  for (const FlagRow& row : kRows) {
    if (row.flag() != flag::kReport && flags.is_given(row.flag()))
      flags.warn(flags.label(row.flag()) + " has no effect without --report");
  }
}

}  // namespace

constexpr FlagGroup kReportFlags{"Reports", kRows, check_reports};

}  // namespace muster::launcher
