// MpiSsh: an agent's part in `--mpi-transport ssh`. It has this node's keys and the files that
// OpenSSH reads, in a folder of its own, and the server (mpi_ssh_server.h) at which the other
// nodes' launcher and daemons log in. What a login asks for is run by this agent, as with `muster
// rsh`: in the pod's environment, watched, and gone when the caller is. MpiJob owns it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/process/temporary_folder.h"
#include "launcher/frameworks/mpi/launch_transport.h"
#include "mpi/ssh/mpi_ssh_server.h"
#include "mpi/ssh/ssh_config.h"
#include "mpi/ssh/ssh_keyring.h"

namespace muster::launcher {

class MpiSsh final : public LaunchTransport {
 public:
  /// Listens, and begins to make or check the keys. kConfig, kExec: no ssh, ssh-keygen or sshd in
  /// the image, the mounted keys cannot be read, the temporary folder cannot hold what programs are
  /// started with. kOs: the port is taken; no folder.
  static Result<std::unique_ptr<LaunchTransport>> create(LaunchTransportSetup setup);

  [[nodiscard]] std::string_view link_name() const override { return kSshLink; }
  [[nodiscard]] std::vector<PlannedVariable> variables() const override;
  // The caller of `muster rsh` is this node's own sshd.
  [[nodiscard]] std::string way_from(const std::string& /*caller*/) const override {
    return "over SSH";
  }
  [[nodiscard]] bool is_preparing() const override { return is_preparing_; }
  [[nodiscard]] std::string card() const override;
  /// Writes the files for the nodes of this round. kConfig: a node is there without SSH, or with a
  /// name that ssh would take for something else. kLimit: too many.
  void prepare_round(const rendezvous::Assign& assign,
                     const std::function<void(Status)>& ready) override {
    ready(write_files(assign));
  }
  bool process_exited(const Reaped& reaped) override;
  [[nodiscard]] bool busy() const override { return server_->busy(); }
  void on_idle(const std::function<void()>& idle) override { server_->on_idle(idle); }

 private:
  MpiSsh(LaunchTransportSetup setup, TemporaryFolder folder)
      : setup_(std::move(setup)), folder_(std::move(folder)) {}
  Status find_programs();
  Status begin_keys();
  Status put(std::string_view name, std::string_view bytes);
  Status listen();
  Status write_files(const rendezvous::Assign& assign);
  Status write_server_config(const std::string& own_name);

  LaunchTransportSetup setup_;
  TemporaryFolder folder_;
  std::string sshd_;
  std::string keygen_;
  bool is_preparing_ = true;
  std::unique_ptr<mpi::SshKeyring> keys_;
  std::unique_ptr<mpi::SshServer> server_;
};

}  // namespace muster::launcher
