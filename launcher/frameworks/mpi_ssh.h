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
#include "launcher/frameworks/ssh_keyring.h"
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
  /// The keys are there: card() may be asked for. An error: kConfig, kOs. Once, from the loop.
  SshKeyring::Done ready;
};

class MpiSsh {
 public:
  /// Listens, and begins to make or check the keys. kConfig, kExec: no ssh, ssh-keygen or sshd in
  /// the image, the mounted keys cannot be read, the temporary folder cannot hold what programs are
  /// started with. kOs: the port is taken; no folder.
  static Result<std::unique_ptr<MpiSsh>> create(MpiSshSetup setup);
  MpiSsh(const MpiSsh&) = delete;
  MpiSsh& operator=(const MpiSsh&) = delete;

  /// A child of this process was reaped; true: it was one of ours.
  bool process_exited(const Reaped& reaped);
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
  Status begin_keys();
  Status put(std::string_view name, std::string_view bytes);
  Status listen();
  Status write_server_config(const std::string& own_name);

  MpiSshSetup setup_;
  TemporaryFolder folder_;
  std::string sshd_;
  std::string keygen_;
  std::unique_ptr<SshKeyring> keys_;
  std::unique_ptr<SshServer> server_;
};

}  // namespace muster::launcher
