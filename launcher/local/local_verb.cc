#include "launcher/local/local_verb.h"

#include <unistd.h>

#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/loop.h"
#include "base/process.h"
#include "base/signals.h"
#include "base/socket.h"
#include "base/text.h"
#include "launcher/exit_codes.h"
#include "launcher/local/chaos.h"
#include "launcher/signal_policy.h"

namespace muster::launcher {

namespace {

constexpr int kCandidates = 3;  // nodes that may lead

constexpr const char* kHelp =
    "usage: muster local --nodes N [--chaos FAULTS] [flags of muster run] [--] SCRIPT|PROGRAM ...\n"
    "\n"
    "Runs a job of N nodes on this machine: N agents on 127.0.1.1, 127.0.1.2, ...\n"
    "\n"
    "  --nodes N         how many agents to start\n"
    "  --chaos FAULTS    WHAT-node:N@TIME,...: kill, term, stop or cont the agent of node N,\n"
    "                    TIME after the start: kill-node:2@5s,stop-node:1@500ms\n"
    "\n"
    "Both come first. `--nnodes MIN:MAX` lets the job go on with fewer nodes; without it all N "
    "are\n"
    "needed.\n";

struct LocalOptions {
  bool help = false;
  int nodes = 0;
  std::vector<Fault> faults;
  std::vector<std::string> words;  // for muster run
};

Error usage(std::string text) { return {Code::kUsage, 0, std::move(text)}; }

Result<LocalOptions> parse(const std::vector<std::string>& words) {
  LocalOptions options;
  std::string chaos;
  size_t next = 0;
  while (next < words.size()) {
    const std::string& word = words[next];
    const std::string name = word.substr(0, word.find('='));
    if (name == "--help" || name == "-h") options.help = true;
    if (name != "--nodes" && name != "--chaos") break;
    const bool joined = name.size() < word.size();
    if (!joined && next + 1 == words.size()) return usage(name + " needs a value");
    const std::string value = joined ? word.substr(name.size() + 1) : words[next + 1];
    next += joined ? 1 : 2;
    if (name == "--chaos") {
      chaos = value;
      continue;
    }
    const auto nodes = parse_integer(value);
    if (!nodes || *nodes < 1 || *nodes > kMaxLocalNodes) {
      return usage("--nodes '" + value + "': not a number from 1 to " +
                   std::to_string(kMaxLocalNodes));
    }
    options.nodes = static_cast<int>(*nodes);
  }
  if (options.help) return options;
  if (options.nodes == 0) return usage("--nodes N must come first");
  auto faults = parse_chaos(chaos, options.nodes);
  if (!faults) return std::move(faults).error();
  options.faults = std::move(*faults);
  options.words.assign(words.begin() + static_cast<std::ptrdiff_t>(next), words.end());
  return options;
}

std::string host_of(int node) { return "127.0.1." + std::to_string(node); }

// The agents of one job on this machine.
class LocalNodes {
 public:
  LocalNodes(Loop& loop, const LocalOptions& options, const Environment& environment,
             const ProcessSetup& setup)
      : loop_(loop), options_(options), environment_(environment), setup_(setup) {}

  Status start();
  void handle_signal(const ReceivedSignal& signal);
  [[nodiscard]] int exit_code() const;

 private:
  Status start_node(int node, const std::string& port, const std::string& endpoints);
  void hit(const Fault& fault);
  void reap();

  Loop& loop_;
  const LocalOptions& options_;
  const Environment& environment_;
  const ProcessSetup& setup_;
  RealProcessHost processes_;
  std::map<pid_t, int> running_;    // pid -> node
  std::map<int, ExitStatus> ends_;  // by node
  std::set<int> ended_by_us_;
  std::vector<Timer> faults_;
};

Status LocalNodes::start() {
  // One port that is free now, the same for all: each has an address of its own.
  RealNetwork network;
  auto probe = network.listen({host_of(1), 0});
  if (!probe) return std::move(probe).error();
  auto address = network.local_address(probe->get());
  if (!address) return std::move(address).error();
  const std::string port = std::to_string(address->port);
  probe->reset();
  std::vector<std::string> endpoints;
  for (int node = 1; node <= std::min(options_.nodes, kCandidates); ++node)
    endpoints.push_back(host_of(node) + ":" + port);
  for (int node = 1; node <= options_.nodes; ++node)
    MUSTER_RETURN_IF_ERROR(start_node(node, port, join(endpoints, ",")));
  for (const Fault& fault : options_.faults)
    faults_.push_back(loop_.after(fault.at, [this, fault] { hit(fault); }));
  return {};
}

Status LocalNodes::start_node(int node, const std::string& port, const std::string& endpoints) {
  SpawnRequest request;
  request.program = "/proc/self/exe";
  request.arguments = {"muster",
                       "run",
                       "--nnodes=" + std::to_string(options_.nodes),
                       "--rdzv-backend=c10d",
                       "--rdzv-id=local-" + port,
                       "--rdzv-endpoint=" + endpoints,
                       "--local-addr=" + host_of(node),
                       "--node-name=node-" + std::to_string(node)};
  request.arguments.insert(request.arguments.end(), options_.words.begin(), options_.words.end());
  request.environment = environment_.to_exec_strings();
  request.signal_mask = setup_.original_mask;
  request.fd_limit = setup_.original_fd_limit;
  // An agent that is left alone must still be able to end its workers in good order.
  request.parent_death_signal = SIGTERM;
  auto pid = processes_.spawn(request);
  if (!pid)
    return std::move(pid).error().with_context("starting the agent of node " +
                                               std::to_string(node));
  running_[*pid] = node;
  return {};
}

void LocalNodes::hit(const Fault& fault) {
  for (const auto& [pid, node] : running_) {
    if (node != fault.node) continue;
    (void)std::fprintf(stderr, "muster local: %s to node %d\n", signal_name(fault.signal).c_str(),
                       node);
    if (fault.signal == SIGKILL || fault.signal == SIGTERM) ended_by_us_.insert(node);
    processes_.signal_child(pid, fault.signal);
  }
}

void LocalNodes::handle_signal(const ReceivedSignal& signal) {
  if (signal.number == SIGCHLD) return reap();
  if (respond_to(signal.number, {}, setup_.ignored_at_start) != SignalResponse::kStop) return;
  for (const auto& [pid, node] : running_) {
    processes_.signal_child(pid, signal.number);
    processes_.signal_child(pid, SIGCONT);  // one that --chaos stopped
  }
}

void LocalNodes::reap() {
  while (const auto reaped = processes_.reap()) {
    const auto node = running_.find(reaped->pid);
    if (node == running_.end()) continue;  // an orphan of an agent that was killed
    ends_[node->second] = reaped->status;
    running_.erase(node);
  }
  if (running_.empty()) loop_.stop();
}

int LocalNodes::exit_code() const {
  for (const auto& [node, status] : ends_) {
    if (!ended_by_us_.contains(node)) return status.shell_code();
  }
  return ends_.empty() ? kExitInternal : ends_.begin()->second.shell_code();
}

Result<int> run(const LocalOptions& options, const Environment& environment,
                const ProcessSetup& setup) {
  const SystemClock clock;
  auto loop = Loop::create(clock);
  if (!loop) return std::move(loop).error();
  LocalNodes nodes(**loop, options, environment, setup);
  const int signal_fd = setup.signal_fd.get();
  auto watch = (*loop)->watch(signal_fd, Interest::kRead, [&nodes, signal_fd](Ready) {
    for (;;) {
      const auto signal = read_signal(signal_fd);
      if (!signal || !*signal) return;
      nodes.handle_signal(**signal);
    }
  });
  if (!watch) return std::move(watch).error();
  MUSTER_RETURN_IF_ERROR(nodes.start());
  MUSTER_RETURN_IF_ERROR((*loop)->run());
  return nodes.exit_code();
}

}  // namespace

int run_local_verb(const std::vector<std::string>& words, const Environment& environment,
                   const ProcessSetup& setup) {
  auto options = parse(words);
  if (options && options->help) {
    (void)std::fputs(kHelp, stdout);  // nobody is left to tell
    return kExitSuccess;
  }
  auto code = options ? run(*options, environment, setup) : Result<int>(options.error());
  if (code) return *code;
  (void)std::fprintf(stderr, "muster: %s\n", code.error().text.c_str());
  return exit_code_of_error(Personality::kMuster, code.error());
}

}  // namespace muster::launcher
