// FrameworkDriver: what is special about a framework's workers. An agent has one driver for the
// life of its job, tells it what happens and asks it what is to be done. This class serves PyTorch
// and every plain command, which need nothing special: a driver overrides what is different. Who
// makes drivers: program/drivers.h. How to write one: docs/internals/framework-drivers.md.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/environment_plan.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/result.h"
#include "base/tls.h"
#include "elastic/failure.h"
#include "launcher/frameworks/agent_context.h"
#include "rendezvous/messages/job_options.h"
#include "rendezvous/messages/leader_messages.h"
#include "rendezvous/messages/round_report.h"
#include "rendezvous/port/job_port.h"

namespace muster::launcher {

/// In values that are known before the job starts, for `muster env`: what is made then.
inline constexpr std::string_view kMadeAtStart = "/made-at-start";

/// Whether this node may lead the job.
enum class Leads {
  kIfListed,  ///< if it is among those who may
  kAlone,     ///< it and no other, whoever is listed
  kNever,
};

/// What a job asks of its agents because of its framework. It stays the same for the whole job.
struct FrameworkNeeds {
  /// One process on the node of rank 0 starts the workers of all nodes: no agent starts any.
  bool launcher = false;
  bool workers = true;         ///< this node has workers
  bool roster = false;         ///< each round must tell this node of all its nodes
  bool rank_variables = true;  ///< workers get PyTorch's variables
  bool one_thread = true;      ///< of several workers of a node each gets OMP_NUM_THREADS=1
  bool folder = false;         ///< AgentContext::folder is used from the beginning
  /// How long the end of a worker that misses another one waits for that one's; zero = not at all.
  Duration lost_peer_wait = Duration::zero();
  Leads leads = Leads::kIfListed;
  std::string leads_reason = {};  ///< of kAlone and kNever: the flag
  std::string missing_hint = {};  ///< for people, if nodes do not come; may be empty
};

/// What an agent does for its driver. The functions may be called from the loop only.
struct DriverHost {
  AgentDoors doors;
  const AgentContext& context;
  const rendezvous::JobOptions& job;
  std::string own_host;             ///< numeric, under which other nodes reach this agent
  const TlsContext* tls = nullptr;  ///< null = the job has no secret
  /// Connections to the job port that begin in this protocol.
  std::function<void(rendezvous::Protocol, rendezvous::JobPort::Handler)> serve;
  /// The same for what workers dial, who prove nothing: from nodes of the round alone, and bounded
  /// together with the clients of the job store. `clients`: how many the driver has.
  std::function<void(rendezvous::Protocol, rendezvous::JobPort::Handler,
                     std::function<size_t()> clients)>
      serve_workers = {};
  /// is_preparing() is over. An error says why this node cannot take part.
  std::function<void(const Status&)> prepared;
  /// Something that is no worker of this node failed, once per round: the round ends. The workers
  /// here are told nothing: end_workers() is the driver's to call.
  std::function<void(const elastic::FailureRecord&)> failed;
  /// A worker has succeeded whose success is that of the job, once per round. In a job of one
  /// node nobody else need know: end_workers() and WorkerVerdict are the driver's.
  std::function<void(rendezvous::JobDecision)> decided = {};
  /// is_serving() has become false.
  std::function<void()> idle;
  /// has_ranks() may have become false.
  std::function<void()> ranks_gone;
  /// To all nodes of the round; the answer is exchanged(). Numbered from 0 in each attempt.
  std::function<void(uint64_t sequence, std::string bytes)> exchange;
  /// The nodes that the leader here has, without those that leave; empty = it is not here.
  std::function<std::vector<rendezvous::RosterEntry>()> nodes;
  /// The controller wants so many nodes with workers.
  std::function<void(int hosts)> hosts_changed;
  /// The folder of the attempt for files of workers; "" = nobody asked for any.
  std::function<std::string()> log_dir;
  /// How many workers this node starts in each attempt. After start().
  std::function<int()> workers = {};
  /// The process that was started for this local rank, while it runs.
  std::function<std::optional<pid_t>(int local_rank)> process_of;
  /// SIGKILL to it; its end counts as its own.
  std::function<void(int local_rank)> kill;
  /// What follows the end of a worker that is kept: it starts again, or its end counts. Nothing if
  /// all were told to end meanwhile. From the loop, not from keeps().
  std::function<void(int local_rank, bool again)> resolve = {};
  /// This signal to all processes of this node; how they end after it is no failure.
  std::function<void(int signal)> signal;
  /// SIGTERM to them, SIGKILL after `grace`.
  std::function<void(Duration grace)> end_workers;
};

/// One process that starts the workers of all nodes.
struct JobLauncher {
  std::string name;  ///< "mpirun"
  std::string program;
  std::vector<std::string> arguments;          ///< argv
  std::vector<std::string> environment;        ///< "NAME=value"
  std::shared_ptr<const UniqueFd> input = {};  ///< its stdin; null = the agent's
};

/// A worker that is about to start.
struct WorkerStart {
  SpawnRequest request;                  ///< but for its environment
  EnvironmentPlan environment;           ///< on top of the agent's own
  std::vector<UniqueFd> inherited = {};  ///< open until it has started
};

/// What the end of a worker means, if not what its status says.
struct WorkerVerdict {
  int exit_code = 1;  ///< 0 = it is a success
  std::string reason;
  bool infrastructure = false;  ///< the program is not to blame
};

/// Workers that start and end one by one, and not all together.
class ApartWorkers {
 public:
  ApartWorkers() = default;
  ApartWorkers(const ApartWorkers&) = delete;
  ApartWorkers& operator=(const ApartWorkers&) = delete;
  virtual ~ApartWorkers() = default;

  /// Whether the worker starts with the attempt; else it is kept from the beginning.
  [[nodiscard]] virtual bool starts(int /*local_rank*/) const { return true; }
  /// Whether it may ever be kept, to start again while the others run.
  [[nodiscard]] virtual bool starts_again(int local_rank) const = 0;
  /// The worker has ended, by itself, and others may run. True: it is kept, neither a success nor a
  /// failure of the group, until DriverHost::resolve says what follows.
  virtual bool keeps(int local_rank, const elastic::Classified& end) = 0;
};

/// In a job of one node nobody joins or leaves, nothing is served to other nodes, and the agent
/// itself judges failures: prepare_round(), follow(), hold(), round_over(), leave() and hurry() are
/// of jobs of several nodes.
class FrameworkDriver {
 public:
  FrameworkDriver() = default;
  FrameworkDriver(const FrameworkDriver&) = delete;
  FrameworkDriver& operator=(const FrameworkDriver&) = delete;
  virtual ~FrameworkDriver() = default;

  // ---- before the first round
  [[nodiscard]] virtual FrameworkNeeds needs() const { return {}; }
  /// Once, when the job port is open. After an error nothing was started. kConfig, kExec, kOs.
  virtual Status start(const DriverHost& /*host*/) { return {}; }
  /// Whether `program`, a path, can be a worker. On a node with workers, after start(). kConfig.
  virtual Status check(const std::string& /*program*/) { return {}; }
  /// This node must not join others yet; DriverHost::prepared tells when.
  [[nodiscard]] virtual bool is_preparing() const { return false; }
  /// What the drivers of other nodes must know of this one (RosterEntry::note): as soon as nothing
  /// is prepared any more. "" = nothing.
  [[nodiscard]] virtual std::string card() const { return ""; }

  // ---- a round
  /// Before any node starts anything of it. `ready` comes once, at once or from the loop, unless
  /// round_over() comes before.
  virtual void prepare_round(const rendezvous::Assign& /*round*/,
                             const std::function<void()>& ready) {
    ready();
  }
  /// Before this node starts its `workers` of an attempt. The launcher, if this node starts one. An
  /// error is a failed start.
  virtual Result<std::optional<JobLauncher>> begin_attempt(const rendezvous::Assign& /*round*/,
                                                           int /*workers*/) {
    return std::optional<JobLauncher>();
  }
  /// Adds what the worker of this local rank gets as variables besides those of PyTorch. Changes
  /// nothing else: `muster env` calls it without start(), and the roster may be empty. What takes
  /// another value from the user is told once, by name.
  virtual Status add_variables(const rendezvous::Assign& /*round*/, int /*local_rank*/,
                               EnvironmentPlan& /*plan*/) const {
    return {};
  }
  /// Right before that worker starts. kOs.
  virtual Status attach(int /*local_rank*/, WorkerStart& /*worker*/) { return {}; }
  /// What all nodes gave to DriverHost::exchange, by node rank, or why there is no answer.
  virtual void exchanged(uint64_t /*sequence*/, const Result<std::vector<std::string>>& /*all*/) {}
  /// After every turn of the agent: whether this node has a leader.
  virtual void follow(bool /*has_leader*/) {}
  /// A child of the agent was reaped that is no worker.
  virtual void process_exited(const Reaped& /*reaped*/) {}
  /// Something runs here for other nodes, for which this node stays in the round.
  [[nodiscard]] virtual bool is_serving() const { return false; }

  // ---- how its workers are told to end
  /// A stop signal to the ranks that a launcher has started on this node. True: some run still,
  /// here or elsewhere, and the launcher is told when they have ended, for it would kill them.
  virtual bool tell_ranks(int /*signal*/) { return false; }
  /// Some of those still run.
  [[nodiscard]] virtual bool has_ranks() const { return false; }

  // ---- how its workers end
  /// Null = they start together, and a failure is one of all.
  [[nodiscard]] virtual ApartWorkers* apart() { return nullptr; }
  /// When the worker told that it would end, which its process may outlive. Before ended().
  [[nodiscard]] virtual std::optional<TimePoint> told_end(int /*local_rank*/) const { return {}; }
  /// The worker's process has ended; `success`: with 0, by itself.
  virtual std::optional<WorkerVerdict> ended(int /*local_rank*/, bool /*success*/) { return {}; }
  /// A worker or launcher failed. True: DriverHost::failed tells of it a little later, if nothing
  /// explains it by then.
  virtual bool hold(const elastic::FailureRecord& /*record*/) { return false; }
  /// All processes of this node have ended. `settled` comes once, when all is told that was held:
  /// at once or from the loop, unless round_over() comes before.
  virtual void group_ended(bool /*well*/, const std::function<void()>& settled) { settled(); }
  /// After `settled`: whether this node succeeded. `well`: each of its processes did.
  virtual bool succeeded(bool well) { return well; }
  /// The round is over here and no worker is left: ends what runs here for other nodes.
  virtual void round_over() {}

  // ---- the end
  /// The job is over for this node. What runs here for others has `grace` to end, none = it is
  /// killed. `done` comes once, at once or from the loop, when nothing is left.
  virtual void leave(std::optional<Duration> /*grace*/, const std::function<void()>& done) {
    done();
  }
  /// Ends the waiting of leave().
  virtual void hurry() {}
  /// The last word, when all processes have ended: removes what killed workers have left.
  virtual void clean_up(const std::function<void()>& done) { done(); }
};

}  // namespace muster::launcher
