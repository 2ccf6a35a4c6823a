#include "launcher/framework_options.h"

namespace muster::launcher {

std::string_view launch_problem(const FrameworkOptions& options) {
  const bool is_open_mpi = options.mpi == mpi::Implementation::kOpenMpi;
  if (options.uses_pmi() && is_open_mpi)
    return "--mpi-launch pmi: Open MPI speaks PMIx, not PMI 1: say pmix";
  if (options.uses_pmix() && options.mpi && !is_open_mpi)
    return "--mpi-launch pmix: that is for Open MPI; MPICH and Intel MPI speak pmi";
  if (options.starts_ranks() && options.launches())
    return "--mpi-role: with --mpi-launch pmi or pmix no node starts the ranks of others";
  if (options.starts_ranks() && options.mpi_transport == MpiTransport::kSsh)
    return "--mpi-transport ssh: only mpirun starts anything on other nodes";
  return "";
}

std::string role_problem(MpiRole role, const RoleSurroundings& given) {
  const bool needs_others = role == MpiRole::kLauncher || role == MpiRole::kWorker;
  if (role == MpiRole::kAny) return "";
  if (!given.c10d) return "the launcher leads, so --rdzv-backend must be c10d";
  if (needs_others && !given.alone.empty()) return "there is no other node with " + given.alone;
  if (role == MpiRole::kWorker && !given.others_named)
    return "where the launcher is is not known: give --rdzv-endpoint LAUNCHER";
  return "";
}

}  // namespace muster::launcher
