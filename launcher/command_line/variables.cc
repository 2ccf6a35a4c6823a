#include "launcher/command_line/variables.h"

#include "base/process/process_marks.h"
#include "launcher/frameworks/jax.h"
#include "launcher/frameworks/mpi/launcher_files.h"
#include "launcher/frameworks/plain.h"
#include "launcher/frameworks/python_hook.h"
#include "launcher/frameworks/pytorch.h"
#include "launcher/frameworks/xgboost.h"
#include "launcher/progress/progress_watch.h"
#include "launcher/progress/trainer_door.h"
#include "mpi/launch/launched_rank.h"
#include "mpi/rank/rank_variables.h"
#include "mpi/rsh/rsh_environment.h"
#include "mpi/ssh/mpi_ssh_verb.h"
#include "rendezvous/wire/job_secret.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kWorkers = "the agent, for workers";
constexpr std::string_view kTorch = "PyTorch";
constexpr std::string_view kXgboost = "XGBoost, scripts";
constexpr std::string_view kHorovod = "Horovod";
constexpr std::string_view kPaddle = "Paddle";
constexpr std::string_view kHookOfJax = "the hook for JAX, scripts";
constexpr std::string_view kHookOfLightgbm = "the hook for LightGBM, scripts";
constexpr std::string_view kScript = "scripts, PyTorch";

constexpr VariableRow kRows[] = {
    {rendezvous::kJobSecretFileVariable, kSetByUser, "agents, and verbs that ask them",
     "file with the secret of the job (a mounted Secret, say): agents then speak TLS only"},
    {"PYTHON_EXEC", kSetByUser, "the agent", "the interpreter that runs scripts and modules"},
    {"VIRTUAL_ENV", kSetByUser, "the agent",
     "its bin/python3 runs scripts and modules, if nothing names another one"},
    {"PATH", kSetByUser, "the agent", "where programs, interpreters and launchers are looked for"},
    {"KUBERNETES_SERVICE_HOST", kSetByUser, "the agent",
     "this is a pod: the status port is 8080 unless --status-port says otherwise"},
    {"TMPDIR", kSetByUser, "the agent",
     "where temporary folders are made; /tmp if it is not set or cannot be used"},
    {"NVIDIA_VISIBLE_DEVICES", kSetByUser, "the agent",
     "how many devices there are, for --nproc-per-node auto and gpu"},
    {kDisableSharingVariable, kSetByUser, "the agent, PyTorch",
     "on: rank 0 serves the store of the workers, not the agent"},

    {"RANK", kWorkers, kScript, "this worker among all workers"},
    {"WORLD_SIZE", kWorkers, kScript, "workers of the job"},
    {"LOCAL_RANK", kWorkers, kScript, "this worker on its node; 0 with --virtual-local-rank"},
    {"LOCAL_WORLD_SIZE", kWorkers, kScript, "workers of this node"},
    {"GROUP_RANK", kWorkers, kScript, "this node"},
    {"GROUP_WORLD_SIZE", kWorkers, kScript, "nodes of the job"},
    {"ROLE_RANK", kWorkers, kScript, "this worker within its role"},
    {"ROLE_WORLD_SIZE", kWorkers, kScript, "workers of the role"},
    {"ROLE_NAME", kWorkers, kScript, "--role"},
    {"MASTER_ADDR", kWorkers, kTorch,
     "numeric address of node rank 0; its name where that is of IPv6 and may lead the job by a "
     "name"},
    {"MASTER_PORT", kWorkers, kTorch, "port of the store of the workers"},
    {"TORCHELASTIC_RUN_ID", kWorkers, kTorch, "--rdzv-id"},
    {"TORCHELASTIC_RESTART_COUNT", kWorkers, kScript, "how often the workers were started again"},
    {"TORCHELASTIC_MAX_RESTARTS", kWorkers, kScript, "--max-restarts"},
    {"TORCHELASTIC_USE_AGENT_STORE", kWorkers, kTorch,
     "True: the agent serves the store of the workers; False: rank 0 does"},
    {"TORCHELASTIC_ERROR_FILE", kWorkers, kTorch,
     "where @record leaves the exception; an agent below another agent leaves its report there"},
    {kProgressSocketVariable, kWorkers, kScript,
     "a unix datagram socket where this worker may say how far it is (docs/observability.md)"},
    {kTrainerUrlVariable, "the Trainer; the agent, for workers", "the agent, scripts",
     "with --report trainjob workers get one of the agent's own: what they post is progress"},
    {kTrainerTokenVariable, "the Trainer; the agent, for workers", "the agent, scripts",
     "the same: the path of a token"},
    {"TORCHELASTIC_SIGNALS_TO_HANDLE", kWorkers, kTorch, "--signals-to-handle"},
    {"TORCH_NCCL_ASYNC_ERROR_HANDLING", kWorkers, kTorch,
     "1 unless you set it: a failed collective ends the process"},
    {"GLOO_SOCKET_IFNAME", kWorkers, "gloo",
     "with several nodes the interface by which they reach this one, unless you set it"},
    {"TP_SOCKET_IFNAME", kWorkers, "TensorPipe", "as GLOO_SOCKET_IFNAME"},
    {"FI_TCP_IFACE", kWorkers, "libfabric", "as GLOO_SOCKET_IFNAME"},
    {"UCX_NET_DEVICES", kWorkers, "UCX",
     "as GLOO_SOCKET_IFNAME, or the RDMA devices of NCCL_IB_HCA"},
    {"NCCL_SOCKET_IFNAME", kWorkers, "NCCL",
     "that interface, if NCCL would take others (docs/fabric.md), unless you set it"},
    {"NCCL_IB_HCA", kWorkers, "NCCL",
     "the RDMA devices of the job, if NCCL would take more than these, unless you set it"},
    {"NCCL_CONF_FILE", kSetByUser, "NCCL",
     "a file of NCCL's settings, which count as yours; else ~/.nccl.conf, then /etc/nccl.conf"},
    {kThreadsVariable, kWorkers, "OpenMP",
     "1 if a node has several workers, unless you set it: each would start a thread per CPU"},
    {"PYTHONUNBUFFERED", kWorkers, "Python",
     "1 for programs that are no scripts, unless you set it: a line is shown when it is printed"},
    {"CUDA_VISIBLE_DEVICES", kWorkers, "CUDA",
     "with --virtual-local-rank the device of this worker"},
    {"HIP_VISIBLE_DEVICES", kWorkers, "ROCm", "the same, if you set this one"},
    {"DMLC_TRACKER_URI", kWorkers, kXgboost, "with --framework xgboost: the agent of node rank 0"},
    {"DMLC_TRACKER_PORT", kWorkers, kXgboost, "the same: the job port, where the tracker is"},
    {"DMLC_TASK_ID", kWorkers, kXgboost, "the same: this worker among all workers"},
    {"DMLC_NUM_WORKER", kWorkers, kXgboost, "the same: workers of the job"},
    {"DMLC_ROLE", kWorkers, kXgboost, "the same: worker"},
    {"TF_CONFIG", kWorkers, "TensorFlow",
     "with --framework tensorflow: the addresses of all by role, and what this worker is"},
    {"TF_GRPC_REUSE_PORT", kWorkers, "TensorFlow", "the same: 1 unless you set it"},
    {"GRPC_FAIL_FAST", kWorkers, "TensorFlow", "the same: use_caller unless you set it"},
    {"HOROVOD_RANK", kWorkers, kHorovod, "with --framework horovod: this worker among all"},
    {"HOROVOD_SIZE", kWorkers, kHorovod, "the same: workers of the job"},
    {"HOROVOD_LOCAL_RANK", kWorkers, kHorovod, "the same: this worker on its node"},
    {"HOROVOD_LOCAL_SIZE", kWorkers, kHorovod, "the same: workers of this node"},
    {"HOROVOD_CROSS_RANK", kWorkers, kHorovod,
     "the same: this node, of those with that local rank"},
    {"HOROVOD_CROSS_SIZE", kWorkers, kHorovod, "the same: how many these are"},
    {"HOROVOD_HOSTNAME", kWorkers, kHorovod, "the same: this node"},
    {"HOROVOD_GLOO_RENDEZVOUS_ADDR", kWorkers, kHorovod, "the same: the agent of node rank 0"},
    {"HOROVOD_GLOO_RENDEZVOUS_PORT", kWorkers, kHorovod, "the same: the job port"},
    {"HOROVOD_CONTROLLER", kWorkers, kHorovod, "the same: gloo"},
    {"HOROVOD_CPU_OPERATIONS", kWorkers, kHorovod, "the same: gloo"},
    {"HOROVOD_GLOO_IFACE", kWorkers, kHorovod, "as GLOO_SOCKET_IFNAME"},
    {"HOROVOD_GLOO_TIMEOUT_SECONDS", kWorkers, kHorovod, "300 unless you set it"},
    {"PADDLE_TRAINER_ID", kWorkers, kPaddle, "with --framework paddle: this worker among all"},
    {"PADDLE_TRAINERS_NUM", kWorkers, kPaddle, "the same: workers of the job"},
    {"PADDLE_TRAINER_ENDPOINTS", kWorkers, kPaddle, "the same: addresses of all, by rank"},
    {"PADDLE_CURRENT_ENDPOINT", kWorkers, kPaddle, "the same: the address of this worker"},
    {"PADDLE_MASTER", kWorkers, kPaddle, "the same: where rank 0 serves the store"},
    {"PADDLE_GLOBAL_RANK", kWorkers, kPaddle, "as PADDLE_TRAINER_ID"},
    {"PADDLE_GLOBAL_SIZE", kWorkers, kPaddle, "as PADDLE_TRAINERS_NUM"},
    {"PADDLE_LOCAL_RANK", kWorkers, kPaddle, "this worker on its node"},
    {"PADDLE_RANK_IN_NODE", kWorkers, kPaddle, "this worker on its node"},
    {"PADDLE_NNODES", kWorkers, kPaddle, "nodes of the job"},
    {"FLAGS_selected_gpus", kWorkers, kPaddle,
     "the local rank unless you set it, on a node with devices"},
    {"PADDLE_DISTRI_BACKEND", kWorkers, kPaddle, "gloo unless you set it, on a node without"},
    {"PL_TRAINER_NUM_NODES", kWorkers, "Lightning",
     "with several nodes: how many, unless you set it"},
    {"LT_NUM_NODES", kWorkers, "Lightning", "the same, for Fabric"},
    {kRunIndexVariable, kWorkers, "scripts", "with --framework plain: this run, from 0"},
    {"JOB_COMPLETION_INDEX", kWorkers, "scripts",
     "the same; a program that is alone keeps its pod's"},
    {"JAX_COORDINATOR_ADDRESS", kWorkers, "JAX", "with --framework jax: process 0"},
    {"JAX_NUM_PROCESSES", kWorkers, kHookOfJax, "the same: workers of the job"},
    {"JAX_PROCESS_ID", kWorkers, kHookOfJax, "the same: this worker among all workers"},
    {"JAX_LOCAL_DEVICE_IDS", kWorkers, "JAX",
     "the same: the device of this worker, if its node has several"},
    {kJaxHeartbeatVariable, kWorkers, "the hook for JAX",
     "seconds until a silent process is given up, 20 unless you set it; JAX's own default is 100"},
    {kJaxShutdownVariable, kSetByUser, "the hook for JAX",
     "seconds for which a process that has ended well waits for the others; JAX's default is 300"},
    {"LIGHTGBM_MACHINES", kWorkers, kHookOfLightgbm,
     "with --framework lightgbm: where all workers listen, by rank, as LightGBM's `machines`"},
    {"LIGHTGBM_LOCAL_LISTEN_PORT", kWorkers, kHookOfLightgbm, "the same: the port of this worker"},
    {"LIGHTGBM_NUM_MACHINES", kWorkers, kScript, "the same: workers of the job"},
    {"PYTHONPATH", kWorkers, "Python",
     "where a framework has a hook, its folder, in front of what you set"},
    {kPythonHookVariable, kWorkers, "the hook", "the framework that it is for"},
    {kXgboostTrackerVariable, kWorkers, "the hook for XGBoost", "address of the tracker"},
    {kXgboostTaskVariable, kWorkers, "the hook for XGBoost", "this worker among all workers"},
    {kXgboostRetryVariable, kWorkers, "the hook for XGBoost",
     "10 unless you set it: how often a worker tries to reach another one (dmlc_retry)"},
    {kXgboostTimeoutVariable, kSetByUser, "the hook for XGBoost",
     "seconds that a worker waits for others (dmlc_timeout); XGBoost's own default is 1800"},

    {kAgentIdVariable, "the agent, for all it starts", "the agent, its guardian",
     "by it they find what the agent started, however deep, to end it"},
    {kLauncherIdVariable, "the agent, for a launcher of yours", "the agent, its guardian",
     "the same for what that launcher starts on this node"},
    {mpi::kRshAgentVariable, "the agent, for workers", "`muster rsh`", "where the agent listens"},
    {mpi::kRshRequestVariable, "the agent, for commands of `muster rsh`", "the agent, `muster rsh`",
     "by it the agent finds the processes of one request"},
    {mpi::kRankReportVariable, "the agent, for ranks of MPI", "`muster rank`",
     "whom a rank reports to"},
    {mpi::kRankNodeVariable, "the agent, for ranks of MPI", "`muster rank`",
     "the name of the node, if a daemon of the launcher started the rank"},
    {mpi::kLauncherNodeVariable, "the agent, for ranks of MPI", "`muster rank`",
     "the name of the node of a rank that the launcher started without a daemon"},
    {mpi::kRankStreamsVariable, "the agent, for ranks of MPI", "`muster rank`",
     "what happens to the output of a rank: prefix, files, whether it is shown"},
    {mpi::kRankLogsVariable, "the agent, for ranks of MPI", "`muster rank`",
     "the folder of the attempt, if a daemon of the launcher started the rank"},
    {mpi::kLauncherLogsVariable, "the agent, for ranks of MPI", "`muster rank`",
     "the folder of the attempt on the node of the launcher"},
    {mpi::kLauncherNetworkVariable, "the agent, for ranks of MPI", "`muster rank`",
     "what the network libraries of ranks on the node of the launcher need, as JSON"},
    {mpi::kRankInputVariable, "the agent, for ranks of MPI", "`muster rank`",
     "which ranks have a stdin"},
    {mpi::kUnboundRanksVariable, "the agent, for ranks of MPI", "`muster rank`",
     "mpirun binds no rank: several on a node get OMP_NUM_THREADS=1"},
    {kHostfileVariable, "the agent, for a launcher of yours", "your command",
     "path of a file with the nodes, `NAME slots=N` line by line"},
    {kHostListVariable, "the agent, for a launcher of yours", "your command",
     "path of a file with the nodes, `NAME:N` line by line"},
    {kDiscoveryVariable, "the agent, for a launcher of yours", "horovodrun",
     "path of a program that prints that list: horovodrun --host-discovery-script"},
    {mpi::kSshFolderVariable, "the agent, for mpirun", "`muster-ssh`",
     "folder of the keys and the configuration of SSH"},
};

}  // namespace

std::span<const VariableRow> variable_table() { return kRows; }

}  // namespace muster::launcher
