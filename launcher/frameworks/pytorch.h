// The environment of a PyTorch worker: what torchrun gives it, no more. Pure. Which store serves
// MASTER_ADDR:MASTER_PORT, and when, is the agent's business.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/environment_plan.h"
#include "base/result.h"
#include "launcher/options/options.h"

namespace muster::launcher {

/// torch's own switch (2.5 and newer) for who serves MASTER_ADDR:MASTER_PORT.
inline constexpr std::string_view kDisableSharingVariable = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE";
/// The user has set it to a truth: rank 0 serves the store, not the agent.
[[nodiscard]] bool worker_serves_store(const Environment& environment);
/// The same for a job of one node, where a Python that is its only worker (`muster run python3
/// x.py`) serves its own store, too: it may start ranks itself, with a store of theirs. PyTorch up
/// to 2.13 would make clients of them all if they were told that an agent serves one. Scripts,
/// modules and whatever torchrun starts find what torchrun gives them, and who asks for a port
/// wants a server there.
[[nodiscard]] bool worker_hosts_store(const Options& options, const Environment& environment);

/// Where several workers of a node would each start a thread per CPU.
inline constexpr std::string_view kThreadsVariable = "OMP_NUM_THREADS";
inline constexpr const char* kThreadsNotice =
    "OMP_NUM_THREADS=1 for each worker, so that they do not crowd each other out; set it to tune";

/// What one round says about one worker. Ranks count from 0.
struct RoundFacts {
  int rank = 0;
  int local_rank = 0;
  int group_rank = 0;  ///< of the node
  int role_rank = 0;
  int world_size = 1;
  int local_world_size = 1;
  int group_world_size = 1;  ///< number of nodes
  int role_world_size = 1;
  std::string role;         ///< may be empty (TorchX passes "")
  std::string master_addr;  ///< the same text on every node: torch 2.14 compares it
  uint16_t master_port = 0;
  int restart_count = 0;  ///< attempt of the group, 0 for the first
  int max_restarts = 0;
  std::string run_id;             ///< not empty
  std::string error_file;         ///< where @record writes; "" = nowhere
  std::string signals_to_handle;  ///< "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
  std::string agent_id;           ///< goes to MUSTER_AGENT_ID, by which strays are found

  /// The agent serves the job store (True). False leaves the server to rank 0 on `master_port`,
  /// which then must be free: for a torch built without libuv, whose clients of an agent's store
  /// fail with use_libuv=True and ignore USE_LIBUV=0 (pytorch 148283). Nothing outside the worker
  /// can tell such a build, so this follows the user's TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1, and
  /// USE_LIBUV itself is left as the user set it.
  bool use_agent_store = true;
  /// --virtual-local-rank: each worker sees one device and is LOCAL_RANK 0.
  bool virtual_local_rank = false;
  /// FrameworkNeeds::rank_variables is false: none of PyTorch's variables, nor OMP_NUM_THREADS.
  bool is_plain = false;
  bool one_thread = true;  ///< FrameworkNeeds
  /// PYTHONUNBUFFERED, unless the user has set it: the command is no script that Muster gives to
  /// Python itself, with -u.
  bool unbuffered = false;
};

/// What a worker gets on top of the agent's own environment, `agent`: the variables of torchrun
/// 2.14.1, and MUSTER_AGENT_ID. Rank variables always; OMP_NUM_THREADS, PYTHONUNBUFFERED and
/// TORCH_NCCL_ASYNC_ERROR_HANDLING only when unset, as torchrun does. Beyond torchrun's,
/// when unset: Lightning's number of nodes. PET_*, TORCHELASTIC_* and TORCH_* of the agent are
/// inherited. Taken away: rank variables of MPI, PMI and Slurm launches
/// around the agent (mpi/launch/launch_env.h), and MUSTER_JOB_SECRET*, with which a worker could
/// command the agents. With virtual_local_rank: element `local_rank` of HIP_VISIBLE_DEVICES or
/// CUDA_VISIBLE_DEVICES, or without either CUDA_VISIBLE_DEVICES=local_rank; a list that hides all
/// devices stays. Errors: kConfig when that list is shorter than the local ranks.
[[nodiscard]] Result<EnvironmentPlan> pytorch_plan(const Environment& agent,
                                                   const RoundFacts& facts);

}  // namespace muster::launcher
