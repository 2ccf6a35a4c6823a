// MpiSshd: the launcher's part if the other pods run an sshd of their own and no agent
// (`--mpi-transport sshd`): the files that ssh reads, and the wait for the servers. What happens on
// those pods is not watched; launch_tender.h watches the connections to them. MpiJob owns it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "elastic/failure.h"
#include "launcher/agent_context.h"
#include "launcher/frameworks/mpi_ssh_wait.h"
#include "launcher/frameworks/ssh_keyring.h"
#include "launcher/frameworks/temporary_folder.h"
#include "mpi/hostfile.h"

namespace muster::launcher {

/// The servers' port if `--mpi-ssh-port` is not given.
inline constexpr int kUsualSshPort = 22;

/// The name by which this uid logs in: that of /etc/passwd (`passwd`), else USER, else root's for
/// uid 0. kConfig: none of them.
Result<std::string> login_name(std::string_view passwd, uid_t uid, const Environment& environment);

class MpiSshd {
 public:
  /// Writes all files into `folder`, which is made. Borrows the rest. kConfig: no keys, none that
  /// can be used, no known_hosts beside them unless the servers are not to be verified, no name.
  static Result<std::unique_ptr<MpiSshd>> create(AgentDoors doors, const AgentContext& context,
                                                 const std::string& folder,
                                                 const std::string& muster);
  MpiSshd(const MpiSshd&) = delete;
  MpiSshd& operator=(const MpiSshd&) = delete;

  /// "NAME=value" for the launcher: there muster-ssh finds the files.
  [[nodiscard]] std::string variable() const;
  /// Checks the key, then waits until the hosts other than this one take logins, or for `deadline`.
  /// `done` comes from the loop, once, unless another wait begins or stop_waiting() is called.
  /// kTimeout names who is missing and why. kConfig, kOs: as SshKeyring::Done.
  void wait(const std::vector<mpi::HostSlots>& hosts, Duration deadline,
            std::function<void(Status)> done);
  void stop_waiting();
  /// A child of this process was reaped; true: it was one of ours.
  bool process_exited(const Reaped& reaped) { return keys_->process_exited(reaped); }
  /// The launcher's failure, with the connection that explains it, if one does.
  [[nodiscard]] elastic::FailureRecord explained(const elastic::FailureRecord& launcher) const;
  /// Numeric, by which the hosts are reached; "" = not known.
  [[nodiscard]] const std::string& own_host() const { return own_host_; }

 private:
  MpiSshd(AgentDoors doors, const AgentContext& context, TemporaryFolder folder)
      : doors_(doors), context_(context), folder_(std::move(folder)) {}
  Status write_files(const std::string& muster);
  Status mount_key(const std::string& keys);
  void look_for(std::vector<rendezvous::Candidate> servers, Duration deadline,
                std::function<void(Status)> done);
  Status put_known_hosts(const std::string& keys);

  AgentDoors doors_;
  const AgentContext& context_;
  TemporaryFolder folder_;
  std::string own_host_;
  std::unique_ptr<SshKeyring> keys_;
  std::unique_ptr<SshWait> wait_;
  Timer later_;
};

}  // namespace muster::launcher
