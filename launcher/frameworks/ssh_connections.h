// SshConnections: what the agent knows of its launcher's connections to nodes where no agent is
// (`--mpi-transport sshd`). muster-ssh waits for the ssh that it has started and reports both its
// begin and its end through a pipe of the agent's. MpiSshd owns the agent's side.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/loop.h"
#include "base/process.h"
#include "base/result.h"

namespace muster::launcher {

/// One that ended well while others go on for so long is worth a line.
inline constexpr Duration kSshEarlyEnd = std::chrono::seconds(10);
/// What ssh says where the connection failed or what it ran was killed.
inline constexpr int kSshLost = 255;

struct SshConnection {
  std::string host;  ///< as the MPI launcher has called it
  pid_t pid = 0;     ///< of muster-ssh
};

/// Not as the command has exited: the connection or the host was lost, somebody killed ssh or the
/// command. It explains what the MPI launcher does; a daemon's exit rather follows from a rank's,
/// which its launcher knows.
[[nodiscard]] bool is_ssh_loss(const ExitStatus& status);

class SshConnections {
 public:
  using Failed = std::function<void(const SshConnection&, const ExitStatus&)>;
  /// Makes the pipe in `folder`. `failed`: one has ended without success; from the loop. kOs.
  static Result<std::unique_ptr<SshConnections>> create(Loop& loop, const std::string& folder,
                                                        Failed failed);
  SshConnections(const SshConnections&) = delete;
  SshConnections& operator=(const SshConnections&) = delete;

  /// `failed` comes at once for all that was reported by now.
  void read();
  /// Those that began and have not reported an end, at the last read(): they go on, or somebody
  /// killed muster-ssh.
  [[nodiscard]] std::vector<SshConnection> open() const;
  /// Forgets all, of another round.
  void drop();

 private:
  SshConnections(Loop& loop, UniqueFd pipe, Failed failed)
      : loop_(loop), pipe_(std::move(pipe)), failed_(std::move(failed)) {}
  std::string take();
  void take_line(std::string_view line);
  void ended_well(const std::string& host);

  Loop& loop_;
  UniqueFd pipe_;
  Failed failed_;
  std::map<pid_t, std::string> hosts_;  // of those that are open
  Watch watch_;
  std::optional<Timer> early_;  // once per round
};

/// The reporter's end; not open where nobody wants to know.
[[nodiscard]] UniqueFd open_ssh_reports(const std::string& folder);
void report_ssh_begin(const UniqueFd& pipe, const SshConnection& connection);
void report_ssh_end(const UniqueFd& pipe, const SshConnection& connection,
                    const ExitStatus& status);

}  // namespace muster::launcher
