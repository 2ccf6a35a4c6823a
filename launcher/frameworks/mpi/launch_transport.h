// LaunchTransport: how an MPI launcher reaches the other nodes of its job, and what follows from
// that for MpiJob, which owns it. This class is `muster rsh`, which needs nothing of its own: it is
// what a transport does unless it says otherwise. The other ways: mpi_ssh.h and mpi_sshd.h.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/own_binary.h"
#include "elastic/failure.h"
#include "launcher/frameworks/mpi/mpi_hosts.h"
#include "launcher/frameworks/mpi/mpi_job_setup.h"
#include "rendezvous/messages/leader_messages.h"

namespace muster::launcher {

/// Borrowed for the life of the transport, but for strings and functions.
struct LaunchTransportSetup {
  const MpiJobSetup& job;
  std::string folder;         ///< for its files, to be made
  std::string muster;         ///< path of this binary
  const MpiHostList* listed;  ///< hosts that a controller lists; null = nobody lists any
  /// A signal that was not ours has ended a process of the transport's, which `what` names: what it
  /// served ends with it.
  std::function<void(const std::string& what, pid_t pid, int signal)> killed;
};

class LaunchTransport {
 public:
  LaunchTransport() = default;
  LaunchTransport(const LaunchTransport&) = delete;
  LaunchTransport& operator=(const LaunchTransport&) = delete;
  virtual ~LaunchTransport() = default;

  /// The link to this binary that the launcher calls as its remote shell (own_binary.h).
  [[nodiscard]] virtual std::string_view link_name() const { return kRshLink; }
  /// What this link needs, for the launcher and what it starts.
  [[nodiscard]] virtual std::vector<PlannedVariable> variables() const { return {}; }
  /// Why nothing of ours runs on the nodes, so that ranks are not watched and what mpirun says must
  /// be believed; "" = an agent runs on each.
  [[nodiscard]] virtual std::string_view no_agents() const { return ""; }
  [[nodiscard]] bool has_agents() const { return no_agents().empty(); }
  /// How a command came here, after "started ". `caller`: the node that its call names.
  [[nodiscard]] virtual std::string way_from(const std::string& caller) const {
    return "by " + caller;
  }

  /// card() is not known yet; MpiJobSetup::prepared comes when it is.
  [[nodiscard]] virtual bool is_preparing() const { return false; }
  /// What the other nodes must know to call this one; "" = nothing.
  [[nodiscard]] virtual std::string card() const { return ""; }

  /// Before any node starts anything of the round. `ready` comes once, at once or from the loop,
  /// unless round_over() comes before.
  virtual void prepare_round(const rendezvous::Assign& /*assign*/,
                             const std::function<void(Status)>& ready) {
    ready({});
  }
  virtual void round_over() {}
  /// After `ready`: numeric, by which the nodes of the round reach this machine; "" = not known.
  [[nodiscard]] virtual std::string own_host(const rendezvous::Assign& assign) const {
    return assign.master_host;
  }
  /// The launcher's failure, with what explains it, if the transport knows more.
  [[nodiscard]] virtual elastic::FailureRecord explained(
      const elastic::FailureRecord& launcher) const {
    return launcher;
  }

  /// A child of this process was reaped; true: it was one of the transport's.
  virtual bool process_exited(const Reaped& /*reaped*/) { return false; }
  /// It serves another node now.
  [[nodiscard]] virtual bool busy() const { return false; }
  /// From process_exited(), when busy() has become false.
  virtual void on_idle(const std::function<void()>& /*idle*/) {}
};

/// The one that --mpi-transport names. Errors: create() of mpi_ssh.h and mpi_sshd.h.
Result<std::unique_ptr<LaunchTransport>> make_launch_transport(LaunchTransportSetup setup);

}  // namespace muster::launcher
