// FrameworkDriver: what is special about a framework's workers. An agent has one driver for the
// life of its job, tells it what happens and asks it what is to be done. This class serves PyTorch,
// and every program that nobody said more of: a driver overrides what is different. Who makes
// drivers: program/drivers.h. How to write one: docs/internals/framework-drivers.md.
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
#include "elastic/failure.h"
#include "launcher/frameworks/apart_workers.h"
#include "launcher/frameworks/driver_host.h"
#include "rendezvous/messages/leader_messages.h"

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
  bool workers = true;             ///< this node has workers
  bool roster = false;             ///< each round must tell this node of all its nodes
  bool rank_variables = true;      ///< workers get PyTorch's variables
  bool one_thread = true;          ///< of several workers of a node each gets OMP_NUM_THREADS=1
  bool folder = false;             ///< AgentContext::folder is used from the beginning
  std::string python_module = {};  ///< without which no script of it can run; "" = none
  /// How long the end of a worker that misses another one waits for that one's; zero = not at all.
  Duration lost_peer_wait = Duration::zero();
  Leads leads = Leads::kIfListed;
  std::string leads_reason = {};  ///< of kAlone and kNever: the flag
  std::string missing_hint = {};  ///< for people, if nodes do not come; may be empty
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
