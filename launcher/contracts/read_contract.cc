#include "launcher/contracts/read_contract.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "launcher/contracts/determined.h"
#include "launcher/contracts/dlrover.h"
#include "launcher/contracts/indexed_job.h"
#include "launcher/contracts/jobset.h"
#include "launcher/contracts/lws.h"
#include "launcher/contracts/mpi_job_v1.h"
#include "launcher/contracts/mpi_operator.h"
#include "launcher/contracts/overlay.h"
#include "launcher/contracts/sagemaker.h"
#include "launcher/contracts/slurm.h"
#include "launcher/contracts/tf_job.h"
#include "launcher/contracts/trainer.h"
#include "launcher/contracts/training_operator.h"
#include "launcher/contracts/volcano.h"
#include "launcher/options/contract_names.h"

namespace muster::launcher {

namespace {

// Set by agents for their workers, and by those who start ranks of MPI for these. Not all that
// such a rank has (mpi/launch/launch_env.h): images and users set some of it themselves.
constexpr std::string_view kOfWorkers[] = {"TORCHELASTIC_RUN_ID", "OMPI_COMM_WORLD_RANK",
                                           "FLUX_TASK_RANK", "PALS_RANKID", "MV2_COMM_WORLD_RANK"};
// The same, unless srun serves PMI to whatever it starts. Agents take SLURM_STEP_ID from workers.
constexpr std::string_view kOfPmi[] = {"PMI_RANK", "PMIX_RANK"};

// A worker inherits the variables of its pod, also those that tell what the pod is.
bool is_worker(const Environment& environment) {
  const auto has = [&environment](std::string_view name) { return environment.has(name); };
  return std::ranges::any_of(kOfWorkers, has) ||
         (std::ranges::any_of(kOfPmi, has) && !has("SLURM_STEP_ID"));
}

constexpr ContractRow kRows[] = {
    {"mpi-operator", "mpi-operator", "K_MPI_JOB_ROLE", read_mpi_operator},
    {"training-operator", "Kubeflow MPIJob 1", "/etc/mpi/kubexec.sh", read_mpi_job_v1},
    {"lws", "LeaderWorkerSet", "LWS_LEADER_ADDRESS, LWS_GROUP_SIZE and LWS_WORKER_INDEX", read_lws},
    {"dlrover", "DLRover", "DLROVER_MASTER_ADDR", read_dlrover},
    {"determined", "Determined", "DET_ALLOCATION_ID and DET_MASTER", read_determined},
    {"sagemaker", "SageMaker", "resourceconfig.json, or TRAINING_JOB_NAME and SM_HOSTS",
     read_sagemaker},
    {"trainer", "Kubeflow Trainer, MPI",
     "JOB_COMPLETION_INDEX, and the name JOB-launcher-0-0 or JOB-node-0-N", read_trainer_mpi},
    {"trainer", "Kubeflow Trainer, torch", "PET_NODE_RANK, and PET_MASTER_ADDR=JOB-node-0-0.*",
     read_trainer_torch},
    {"trainer", "Kubeflow Trainer, JAX", "JAX_COORDINATOR_ADDRESS=JOB-node-0-0.*",
     read_trainer_jax},
    {"trainer", "Kubeflow Trainer, XGBoost", "DMLC_TRACKER_URI=JOB-node-0-0.*",
     read_trainer_xgboost},
    {"volcano", "Volcano, TensorFlow", "TF_CONFIG, and VC_TASK_INDEX or /etc/volcano",
     read_volcano_tensorflow},
    {"volcano", "Volcano", "VC_<TASK>_HOSTS, or lists of hosts in /etc/volcano", read_volcano},
    {"training-operator", "Kubeflow TFJob", "TF_CONFIG with the environment \"cloud\"",
     read_tf_job},
    {"training-operator", "Kubeflow PaddleJob", "PADDLE_MASTER and PADDLE_JOB_ID", read_paddle_job},
    {"training-operator", "Kubeflow JAXJob", "COORDINATOR_ADDRESS=JOB-worker-0 and PROCESS_ID",
     read_jax_job},
    {"training-operator", "Kubeflow PyTorchJob",
     "PET_NNODES, and MASTER_ADDR=JOB-master-0, PET_RDZV_ENDPOINT=JOB-worker-0:* or the name "
     "JOB-worker-N",
     read_pytorch_job},
    {"training-operator", "Kubeflow XGBoostJob", "MASTER_ADDR=JOB-master-0, RANK and WORLD_SIZE",
     read_xgboost_job},
    {"slurm", "Slurm", "SLURM_JOB_ID, SLURM_STEP_ID and SLURM_NODEID", read_slurm},
    {"jobset", "JobSet",
     "JOB_COMPLETION_INDEX, and the labels jobset.sigs.k8s.io/* in /etc/podinfo or the name "
     "SET-RJOB-JOB-POD.SET",
     read_jobset},
    {"indexed-job", "Indexed Job", "JOB_COMPLETION_INDEX", read_indexed_job},
};

}  // namespace

std::span<const ContractRow> contract_rows() { return kRows; }

Result<std::optional<Contract>> read_contract(const PodFacts& pod, std::string_view wanted) {
  if (is_worker(pod.environment)) return std::optional<Contract>();
  PodFacts asked = pod;
  asked.wanted = wanted;
  std::vector<std::string> marks;
  for (const ContractRow& row : kRows) {
    if (wanted != kAutoContract && row.name != wanted) continue;
    marks.emplace_back(row.marks);
    auto contract = row.read(asked);
    if (!contract) continue;
    contract->name = row.name;
    if (contract->recognised_by.empty()) contract->recognised_by = row.marks;
    add_overlays(*contract, pod);
    return contract;
  }
  // A name that no row has is refused with the other values of flags.
  if (wanted == kAutoContract || marks.empty()) return std::optional<Contract>();
  return Error{
      Code::kConfig, 0,
      "this is no pod of " + std::string(wanted) + ": it has not " + join(marks, ", nor ")};
}

}  // namespace muster::launcher
