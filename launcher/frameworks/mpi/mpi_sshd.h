// MpiSshd: the launcher's part if the other pods run an sshd of their own and no agent
// (`--mpi-transport sshd`): the files that ssh reads, and the wait for the servers. What happens on
// those pods is not watched; launch_tender.h watches the connections to them. MpiJob owns it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/process/temporary_folder.h"
#include "launcher/frameworks/mpi/launch_transport.h"
#include "mpi/ssh/mpi_ssh_wait.h"
#include "mpi/ssh/ssh_keyring.h"

namespace muster::launcher {

/// The servers' port if `--mpi-ssh-port` is not given.
inline constexpr int kUsualSshPort = 22;

/// The name by which this uid logs in: that of /etc/passwd (`passwd`), else USER, else root's for
/// uid 0. kConfig: none of them.
Result<std::string> login_name(std::string_view passwd, uid_t uid, const Environment& environment);

class MpiSshd final : public LaunchTransport {
 public:
  /// Writes all files. kConfig: nobody lists hosts, no keys, none that can be read, no known_hosts
  /// beside them unless the servers are not to be verified, no name. kExec: no ssh, no ssh-keygen.
  static Result<std::unique_ptr<LaunchTransport>> create(LaunchTransportSetup setup);

  [[nodiscard]] std::string_view link_name() const override { return kSshLink; }
  [[nodiscard]] std::vector<PlannedVariable> variables() const override;
  [[nodiscard]] std::string_view no_agents() const override {
    return "the nodes run sshd and no agent";
  }
  /// Checks the key, then waits until all listed hosts but this one take logins, as long as nodes
  /// are waited for. kTimeout names who is missing and why. kConfig: no host has slots, or
  /// ssh-keygen does not take the key.
  void prepare_round(const rendezvous::Assign& assign,
                     const std::function<void(Status)>& ready) override;
  void round_over() override;
  [[nodiscard]] std::string own_host(const rendezvous::Assign& /*assign*/) const override {
    return own_host_;
  }
  [[nodiscard]] elastic::FailureRecord explained(
      const elastic::FailureRecord& launcher) const override;
  bool process_exited(const Reaped& reaped) override { return keys_->process_exited(reaped); }

 private:
  MpiSshd(LaunchTransportSetup setup, TemporaryFolder folder)
      : setup_(std::move(setup)), folder_(std::move(folder)) {}
  Status write_files();
  Status mount_key(const std::string& keys);
  [[nodiscard]] Result<std::vector<rendezvous::Candidate>> servers() const;
  void look_for(std::vector<rendezvous::Candidate> servers,
                const std::function<void(Status)>& done);
  Status put_known_hosts(const std::string& keys);

  LaunchTransportSetup setup_;
  TemporaryFolder folder_;
  std::string own_host_;
  std::unique_ptr<mpi::SshKeyring> keys_;
  std::unique_ptr<mpi::SshWait> wait_;
  Timer later_;
};

}  // namespace muster::launcher
