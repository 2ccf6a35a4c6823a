#include "mpi/launch/launch_env.h"

#include <array>

namespace muster::mpi {
namespace {

constexpr bool kPrefix = true;
constexpr bool kExact = false;

// Sources of rows seen in the environment of real ranks.
constexpr std::string_view kOpenMpi4 = "recorded: mpirun -np 1 env, Open MPI 4.1.4";
constexpr std::string_view kHydra = "recorded: mpiexec.hydra -n 1 env, MPICH 4.0.2";
constexpr std::string_view kIntelMpi = "Intel MPI 2021.18, environment of a rank";
constexpr std::string_view kSlurmDoc = "srun(1), OUTPUT ENVIRONMENT VARIABLES";

// Slurm: the step's facts go, the job's stay. SLURM_JOB_ID, SLURM_JOB_NODELIST, SLURM_NNODES,
// SLURM_NODEID and SLURM_CPUS_PER_TASK hold for every worker of the node and scripts read them;
// SLURM_STEP_ID goes because Open MPI takes it for "started by srun" and asks Slurm for PMI.
// OMPI_MCA_* is mostly users' settings; only what orted tells its own ranks is listed.
constexpr std::array kTable = {
    RankVariable{"OMPI_COMM_WORLD_", kPrefix, "Open MPI", kOpenMpi4},
    RankVariable{"OMPI_MCA_orte_hnp_uri", kExact, "Open MPI", kOpenMpi4},
    RankVariable{"OMPI_MCA_orte_local_daemon_uri", kExact, "Open MPI", kOpenMpi4},
    RankVariable{"OMPI_MCA_orte_ess_", kPrefix, "Open MPI", kOpenMpi4},
    RankVariable{"OMPI_MCA_orte_app_num", kExact, "Open MPI", kOpenMpi4},
    RankVariable{"OMPI_MCA_orte_num_nodes", kExact, "Open MPI", kOpenMpi4},
    RankVariable{"OMPI_MCA_orte_launch", kExact, "Open MPI", kOpenMpi4},
    RankVariable{"OMPI_MCA_orte_bound_at_launch", kExact, "Open MPI", kOpenMpi4},
    RankVariable{"OMPI_MCA_orte_precondition_transports", kExact, "Open MPI", kOpenMpi4},
    RankVariable{"OMPI_MCA_orte_top_session_dir", kExact, "Open MPI", kOpenMpi4},
    RankVariable{"OMPI_MCA_orte_jobfam_session_dir", kExact, "Open MPI", kOpenMpi4},
    RankVariable{"OMPI_MCA_ess", kPrefix, "Open MPI", kOpenMpi4},
    RankVariable{"OMPI_MCA_pmix", kExact, "Open MPI", kOpenMpi4},
    RankVariable{"OMPI_MCA_initial_wdir", kExact, "Open MPI", kOpenMpi4},
    RankVariable{"OMPI_UNIVERSE_SIZE", kExact, "Open MPI", kOpenMpi4},
    RankVariable{"OMPI_NUM_APP_CTX", kExact, "Open MPI", kOpenMpi4},
    RankVariable{"OMPI_FIRST_RANKS", kExact, "Open MPI", kOpenMpi4},
    RankVariable{"OMPI_APP_CTX_NUM_PROCS", kExact, "Open MPI", kOpenMpi4},
    RankVariable{"OMPI_FILE_LOCATION", kExact, "Open MPI", kOpenMpi4},
    RankVariable{"OMPI_COMMAND", kExact, "Open MPI", kOpenMpi4},
    RankVariable{"OMPI_ARGV", kExact, "Open MPI", kOpenMpi4},
    RankVariable{"PMIX_", kPrefix, "PMIx", kOpenMpi4},
    RankVariable{"PMI_", kPrefix, "PMI", kHydra},
    RankVariable{"PMI2_", kPrefix, "PMI", "unverified: Cray and Slurm PMI-2 plugins"},
    RankVariable{"MPI_LOCALRANKID", kExact, "Hydra", kHydra},
    RankVariable{"MPI_LOCALNRANKS", kExact, "Hydra", kHydra},
    RankVariable{"MPIR_CVAR_CH3_INTERFACE_HOSTNAME", kExact, "Hydra", kHydra},
    RankVariable{"HYDI_CONTROL_FD", kExact, "Hydra", kHydra},
    RankVariable{"HYDRA_BSTRAP_", kPrefix, "Intel MPI", kIntelMpi},
    RankVariable{"I_MPI_INFO_", kPrefix, "Intel MPI", kIntelMpi},
    RankVariable{"MV2_COMM_WORLD_", kPrefix, "MVAPICH2", "MVAPICH2 user guide, 2.3"},
    RankVariable{"SLURM_PROCID", kExact, "Slurm step", kSlurmDoc},
    RankVariable{"SLURM_LOCALID", kExact, "Slurm step", kSlurmDoc},
    RankVariable{"SLURM_NTASKS", kExact, "Slurm step", kSlurmDoc},
    RankVariable{"SLURM_NPROCS", kExact, "Slurm step", kSlurmDoc},
    RankVariable{"SLURM_TASK_PID", kExact, "Slurm step", kSlurmDoc},
    RankVariable{"SLURM_GTIDS", kExact, "Slurm step", kSlurmDoc},
    RankVariable{"SLURM_STEP_ID", kExact, "Slurm step", kSlurmDoc},
    RankVariable{"SLURM_STEPID", kExact, "Slurm step", kSlurmDoc},
    RankVariable{"SLURM_STEP_NUM_TASKS", kExact, "Slurm step", kSlurmDoc},
    RankVariable{"SLURM_STEP_TASKS_PER_NODE", kExact, "Slurm step", kSlurmDoc},
    RankVariable{"SLURM_PMI", kPrefix, "Slurm step", "Slurm mpi/pmi2 and mpi/pmix plugins"},
    RankVariable{"FLUX_TASK_", kPrefix, "Flux", "flux-environment(7)"},
    RankVariable{"PALS_RANKID", kExact, "PALS", "HPE Cray PALS, aprun(1)"},
    RankVariable{"PALS_LOCAL_RANKID", kExact, "PALS", "HPE Cray PALS, aprun(1)"},
    RankVariable{"PALS_LOCAL_SIZE", kExact, "PALS", "HPE Cray PALS, aprun(1)"},
};

// Parameters of the PMIx library: users' settings with the prefix of a rank family.
constexpr std::string_view kPmixSettings = "PMIX_MCA_";

bool matches(const RankVariable& row, std::string_view name) {
  return row.is_prefix ? name.starts_with(row.name) : name == row.name;
}

}  // namespace

std::span<const RankVariable> rank_variables() { return kTable; }

const RankVariable* find_rank_variable(std::string_view name) {
  if (name.empty() || name.starts_with(kPmixSettings)) return nullptr;
  for (const RankVariable& row : kTable) {
    // The first letter turns most of them down: this runs for every variable of every worker.
    if (row.name.front() == name.front() && matches(row, name)) return &row;
  }
  return nullptr;
}

std::vector<PlannedVariable> outer_ranks(const Environment& environment) {
  std::vector<PlannedVariable> ranks;
  for (const auto& [name, value] : environment.variables()) {
    const RankVariable* row = find_rank_variable(name);
    if (row == nullptr) continue;
    ranks.push_back({.name = name,
                     .value = std::nullopt,
                     .reason = "rank of an outer " + std::string(row->family) + " launch",
                     .source = std::string(row->source)});
  }
  return ranks;
}

}  // namespace muster::mpi
