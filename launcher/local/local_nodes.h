// LocalNodes: the agents of a job on this machine, each a process with a loopback address of its
// own, and what --chaos does to them. The agents do everything else.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/loop.h"
#include "base/process.h"
#include "base/process/init.h"
#include "base/signals.h"
#include "base/socket.h"
#include "launcher/local/chaos.h"
#include "launcher/local/local_output.h"
#include "launcher/local/namespace_network.h"

namespace muster::launcher {

/// When every node that no fault hit has ended, the job is over. The others get so long to notice.
inline constexpr Duration kLeftoverWait = std::chrono::seconds(3);
/// So long they get to end after they are told to.
inline constexpr Duration kLeftoverGrace = std::chrono::seconds(5);

struct LocalOptions {
  bool help = false;
  int nodes = 0;
  int added = 0;   ///< nodes that faults add
  int spares = 0;  ///< nodes, also added ones, beyond what a round takes
  std::vector<Fault> faults;
  bool calls_nodes = false;        ///< by `muster rsh`, as MPI jobs do
  int status_port = 0;             ///< of each node, at its address; 0 = none
  std::string run_dir;             ///< with a folder for each node; "" = none
  std::string file;                ///< a manifest; "" = none
  std::vector<int> kinds = {0};    ///< a node rank of each kind of pods in it
  std::string nnodes;              ///< of each agent; "" = the manifest says it
  std::vector<std::string> words;  ///< for muster run
};

class LocalNodes {
 public:
  /// All borrowed for the life of this object.
  LocalNodes(Loop& loop, Network& network, Console& console, const LocalOptions& options,
             const Environment& environment, const ProcessSetup& setup);
  LocalNodes(const LocalNodes&) = delete;
  LocalNodes& operator=(const LocalNodes&) = delete;

  /// Starts all agents. kOs. The loop is stopped when all have ended and everything is shown.
  Status start();
  void handle_signal(const ReceivedSignal& signal);
  /// That of the first node that no fault hit, as those nodes agree on it. If faults hit all nodes:
  /// 0 if one of them ended with 0.
  [[nodiscard]] int exit_code() const;

 private:
  Status start_node(int node);
  Status open_network();
  [[nodiscard]] std::string endpoints() const;
  [[nodiscard]] std::optional<pid_t> pid_of(int node) const;
  void take_line(std::string_view line);
  void inject(const Fault& fault);
  /// Carries the fault out. "" = done, else why nothing happened.
  std::string carry_out(const Fault& fault);
  std::string signal_node(const Fault& fault, int signal);
  std::string add_node(const Fault& fault);
  std::string kill_rank(const Fault& fault);
  std::string separate(const Fault& fault);
  bool heal();
  void reap();
  void end_leftovers();
  [[nodiscard]] std::string summary() const;

  Loop& loop_;
  Network& network_;
  const LocalOptions& options_;
  const Environment& environment_;
  const ProcessSetup& setup_;
  LocalOutput output_;
  RealProcessHost processes_;
  uint16_t port_ = 0;
  std::map<pid_t, int> running_;               // pid -> node
  std::map<int, ExitStatus> ends_;             // by node, the last one
  std::set<int> hit_;                          // nodes that a fault hit, or that came later
  std::set<int> stopped_;                      // by SIGSTOP
  std::set<int> leaving_;                      // told to end
  std::set<int> returning_;                    // of those: to be started again
  std::unique_ptr<NamespaceNetwork> between_;  // null = no partitions: all are on our loopback
  bool ending_ = false;                        // asked to
  bool finished_ = false;                      // the last line is said
  bool is_cut_ = false;                        // by a partition
  std::vector<Timer> timers_;                  // of the faults
  std::vector<Fault> waiting_;                 // for their time or for a line
  std::vector<std::string> injected_;          // as it was written
  std::vector<std::string> in_vain_;           // the same, with why nothing happened
  Timer leftovers_;
};

}  // namespace muster::launcher
