// MpiSsh: an agent's part in `--mpi-transport ssh`. It has this node's keys and the files that
// OpenSSH reads, in a folder of its own, and the server (mpi_ssh_server.h) at which the other
// nodes' launcher and daemons log in. What a login asks for is run by this agent, as with `muster
// rsh`: in the pod's environment, watched, and gone when the caller is. MpiJob owns it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launcher/agent_context.h"
#include "launcher/frameworks/mpi_ssh_server.h"
#include "launcher/frameworks/temporary_folder.h"
#include "mpi/ssh_config.h"
#include "rendezvous/leader_messages.h"

namespace muster::launcher {

/// Borrowed for the life of the job, but for strings and functions.
struct MpiSshSetup {
  AgentDoors doors;
  const AgentContext& context;
  std::string folder;       ///< its own, to be made
  std::string muster;       ///< path of this binary
  std::string listen_host;  ///< numeric, "::" = every interface
  /// "NAME=value" that `muster rsh` needs to find this agent.
  std::vector<std::string> rsh_variables;
  /// As SshServerSetup::killed.
  std::function<void(pid_t pid, int signal)> killed;
};

class MpiSsh {
 public:
  /// Makes or reads the keys and listens. kConfig, kExec: no ssh or sshd in the image, the mounted
  /// keys are none that can be used, the temporary folder cannot hold what programs are started
  /// with. kOs: the port is taken; no folder.
  static Result<std::unique_ptr<MpiSsh>> create(MpiSshSetup setup);
  MpiSsh(const MpiSsh&) = delete;
  MpiSsh& operator=(const MpiSsh&) = delete;

  /// For Join: what the others must know to call this node.
  [[nodiscard]] std::string card() const;
  /// Writes the files for the nodes of this round; before any of them may call. kConfig: a node is
  /// there without SSH, or with a name that ssh would take for something else. kLimit: too many.
  Status prepare_round(const rendezvous::Assign& assign);
  /// "NAME=value" for the launcher and for what it starts: there muster-ssh finds the files.
  [[nodiscard]] std::string variable() const;
  [[nodiscard]] SshServer& server() { return *server_; }

 private:
  MpiSsh(MpiSshSetup setup, TemporaryFolder folder)
      : setup_(std::move(setup)), folder_(std::move(folder)) {}
  Status find_programs();
  Status make_keys();
  Status put(std::string_view name, std::string_view bytes);
  Result<mpi::SshPublicKey> make_key(std::string_view file);
  Status listen();
  Status write_server_config(const std::string& own_name);

  MpiSshSetup setup_;
  TemporaryFolder folder_;
  std::string sshd_;
  mpi::SshPublicKey host_key_;
  std::optional<mpi::SshPublicKey> user_key_;    // made here
  std::vector<mpi::SshPublicKey> mounted_keys_;  // that may log in, too
  std::unique_ptr<SshServer> server_;
};

}  // namespace muster::launcher
