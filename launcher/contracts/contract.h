// Contract: what the controller that made this pod says of it and of its job, in variables, files
// and names. It stands for flags that nobody gave. One file per controller reads it; here is what
// they write into. Which one is asked first: read_contract.h.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/contracts/pod_facts.h"
#include "launcher/options/flags.h"
#include "mpi/launch/hostfile.h"

namespace muster::launcher {

/// A flag that the contract stands for. `source`: "mpi-operator: /etc/mpi/hostfile".
struct ContractValue {
  Flag flag;
  std::string text;
  std::string source;
};
/// A flag that it should stand for and cannot; must then be given. `problem` says why, in one line.
struct ContractGap {
  Flag flag;
  std::string problem;
  /// What it says contradicts itself: it must be given by a flag or a MUSTER_ variable, also
  /// where the controller says that there is one node.
  bool always = false;
  std::string give = {};  ///< what to write, where it is more than the flag
  /// Of a rank that is said, and not below the nodes: more nodes or spares fill it. -1: nothing
  /// else.
  int rank = -1;
};

struct Contract {
  std::string_view name = {};  ///< of --contract: "lws"; read_contract() fills it in
  std::string controller;      ///< in messages: "LWS"
  std::string recognised_by;   ///< "LWS_GROUP_SIZE"
  std::string job = {};        ///< what the controller calls the job; "" = unknown
  std::vector<ContractValue> values;
  std::vector<ContractGap> gaps;
  /// Flags whose variables are the controller's and stand in `values` already, in another form.
  std::vector<Flag> absorbed;
  /// The nodes, in the order of their ranks, and their slots, where the controller says them; by
  /// name as it writes it. Of MPI jobs only those with ranks.
  std::vector<mpi::HostSlots> hosts;
  int port = 0;             ///< the job port on them; 0 = the usual one
  bool says_slots = false;  ///< false: the slots of `hosts` mean nothing
  std::string hostfile;  ///< where `hosts` came from, read again while the job runs; "" = nowhere
  mpi::Implementation format = mpi::Implementation::kOpenMpi;  ///< of the hostfile
  std::string secret_file;  ///< the same secret in every pod of this job and in no other; "" = none
  /// Variables that are for the controller's own way to start workers, which must not reach ours.
  std::vector<std::string> scrubbed;
  /// Variables that it should set and does not, for programs that are newer: names and values.
  std::vector<std::pair<std::string, std::string>> added = {};
  bool holds = false;  ///< this pod waits for its end: others start here what shall run
};

/// What to write in a pod of a job whose programs find each other.
inline constexpr const char* kGiveNoContract =
    "--contract none, and the program of this pod runs alone";

/// The nodes that may lead when all are alike, as with --hosts.
inline constexpr size_t kMayLead = 3;

/// `controller` + ": " + `what`, for sources.
[[nodiscard]] std::string contract_source(const Contract& contract, std::string_view what);
/// Adds a value. `what`: the variable, file or name that it was read from.
void say(Contract& contract, Flag flag, std::string text, std::string_view what);
/// Adds a gap. `give`: what to write; "" = the flag.
void lack(Contract& contract, Flag flag, std::string problem, std::string give = {});
/// Adds a gap because what the controller says contradicts itself.
void contradict(Contract& contract, Flag flag, std::string problem);
/// Adds the rank of this node, one of `nodes`, and a gap if it is not below their number.
void say_rank(Contract& contract, int rank, int nodes, std::string_view what);
/// "HOST:PORT"; `port` 0: "HOST", which means the usual one.
[[nodiscard]] std::string endpoint_of(const std::string& host, int port);
/// Adds the nodes by name, the first of which lead, and their number. `port`: the job port; 0 =
/// the usual one. They are not empty.
void say_hosts(Contract& contract, const std::vector<std::string>& hosts, int port,
               std::string_view what);
/// The text of its value for `flag`; "" = it says nothing of it.
[[nodiscard]] std::string said(const Contract& contract, Flag flag);

}  // namespace muster::launcher
