// What muster-ssh reports of its connections to the `muster tend` above its MPI launcher
// (`--mpi-transport sshd`): that one has begun, and how it ended. Each report is a line in a named
// pipe that lies in the folder of the SSH files.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/process.h"
#include "base/result.h"

namespace muster::mpi {

struct SshReport {
  std::string host;                    ///< as the MPI launcher has called it
  pid_t pid = 0;                       ///< of muster-ssh, which tells connections apart
  std::optional<ExitStatus> end = {};  ///< of its ssh; none = the connection begins
};

/// "HOST PID" or "HOST PID CODE SIGNAL".
[[nodiscard]] std::string write_ssh_report(const SshReport& report);
/// None: the line is no report.
[[nodiscard]] std::optional<SshReport> parse_ssh_report(std::string_view line);

/// Makes the pipe in `folder` if it is not there yet, and opens it for reading without waiting.
/// kOs.
Result<UniqueFd> listen_for_ssh_reports(const std::string& folder);
/// All that have come since the last call. Lines that are no reports are left out.
[[nodiscard]] std::vector<SshReport> read_ssh_reports(const UniqueFd& pipe);

/// The end for writing; not open if nobody listens.
[[nodiscard]] UniqueFd open_ssh_reports(const std::string& folder);
void send_ssh_report(const UniqueFd& pipe, const SshReport& report);

}  // namespace muster::mpi
