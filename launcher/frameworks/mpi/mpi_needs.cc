#include "launcher/frameworks/mpi/mpi_needs.h"

namespace muster::launcher {

FrameworkNeeds mpi_needs(const FrameworkOptions& framework, const Contract* contract) {
  FrameworkNeeds needs;
  needs.workers = framework.role != MpiRole::kLauncher;
  if (framework.role == MpiRole::kWorker) {
    needs.leads = Leads::kNever;
    needs.leads_reason = "--mpi-role worker";
  } else if (framework.launches()) {
    needs.leads = Leads::kAlone;
    needs.leads_reason = "--mpi-role";
    // A controller's usual workers run sshd.
    if (contract != nullptr)
      needs.missing_hint = "workers that run sshd and no muster need --mpi-transport sshd here";
  }
  return needs;
}

}  // namespace muster::launcher
