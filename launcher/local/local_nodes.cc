#include "launcher/local/local_nodes.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <utility>

#include "base/process/signal_policy.h"
#include "base/text.h"
#include "launcher/report/exit_codes.h"

namespace muster::launcher {

namespace {

constexpr int kCandidates = 3;  // nodes that may lead

}  // namespace

LocalNodes::LocalNodes(Loop& loop, Network& network, Console& console, const LocalOptions& options,
                       const Environment& environment, const ProcessSetup& setup)
    : loop_(loop),
      network_(network),
      options_(options),
      environment_(environment),
      setup_(setup),
      output_(loop, console, [this](std::string_view line) { take_line(line); }) {}

Status LocalNodes::start() {
  // One port that is free now, the same for all: each has an address of its own.
  auto probe = network_.listen({host_of(1), 0});
  if (!probe) return std::move(probe).error();
  auto address = network_.local_address(probe->get());
  if (!address) return std::move(address).error();
  port_ = address->port;
  probe->reset();
  MUSTER_RETURN_IF_ERROR(open_network());
  output_.say(fmt::format("{}; ask for their state with: muster status {}",
                          counted(static_cast<size_t>(options_.nodes), "node", "nodes"),
                          address->to_string()));
  if (options_.status_port != 0 && !between_)
    output_.say(fmt::format("status port of node 1: http://{}:{}/status; of node K: 127.0.1.K",
                            host_of(1), options_.status_port));
  for (int node = 1; node <= options_.nodes; ++node) MUSTER_RETURN_IF_ERROR(start_node(node));
  waiting_ = options_.faults;
  for (const Fault& fault : options_.faults) {
    if (!fault.when.word.empty()) continue;
    timers_.push_back(loop_.after(fault.when.after, [this, fault] {
      const auto found = std::find(waiting_.begin(), waiting_.end(), fault);
      if (found == waiting_.end()) return;
      waiting_.erase(found);
      inject(fault);
    }));
  }
  return {};
}

// Only for partitions: a node in a namespace reaches nothing but the other nodes.
Status LocalNodes::open_network() {
  const Fault* const partition = find_partition(options_.faults);
  if (partition == nullptr) return {};
  auto opened = NamespaceNetwork::make(loop_, network_, options_.nodes, port_);
  if (!opened) {
    return std::move(opened).error().with_context(fmt::format(
        "--chaos '{}' needs network namespaces: run it as root, or below `unshare --map-root-user "
        "--net`",
        to_string(*partition)));
  }
  between_ = std::move(*opened);
  output_.say("nodes are network namespaces, for partitions: a node reaches nothing outside");
  return {};
}

std::string LocalNodes::endpoints() const {
  std::vector<std::string> endpoints;
  for (int candidate = 1; candidate <= std::min(options_.nodes, kCandidates); ++candidate)
    endpoints.push_back(fmt::format("{}:{}", host_of(candidate), port_));
  return join(endpoints, ",");
}

Status LocalNodes::start_node(int node) {
  if (between_) MUSTER_RETURN_IF_ERROR(between_->prepare(node));
  auto streams = output_.open();
  if (!streams) return std::move(streams).error();
  SpawnRequest request;
  request.program = "/proc/self/exe";
  request.arguments = {"muster",
                       "run",
                       "--rdzv-backend=c10d",
                       "--contract=none",
                       fmt::format("--rdzv-id=local-{}", port_),
                       "--rdzv-endpoint=" + endpoints(),
                       "--local-addr=" + host_of(node),
                       fmt::format("--node-name=node-{}", node)};
  if (!options_.nnodes.empty()) request.arguments.push_back("--nnodes=" + options_.nnodes);
  if (!options_.file.empty())  // which of its containers runs is a matter of the rank
    request.arguments.insert(request.arguments.end(),
                             {"--file=" + options_.file, fmt::format("--node-rank={}", node - 1)});
  if (!options_.run_dir.empty())
    request.arguments.push_back(fmt::format("--run-dir={}/node-{}", options_.run_dir, node));
  if (options_.spares > 0 && !environment_.has("MUSTER_SPARES"))
    request.arguments.push_back(fmt::format("--spares={}", options_.spares));
  request.arguments.insert(request.arguments.end(), options_.words.begin(), options_.words.end());
  request.environment = environment_.to_exec_strings();
  request.signal_mask = setup_.original_mask;
  request.fd_limit = setup_.original_fd_limit;
  request.stdout_fd = streams->out.get();
  request.stderr_fd = streams->err.get();
  // An agent that is left alone must still be able to end its workers in good order.
  request.parent_death_signal = SIGTERM;
  if (between_) between_->place(node, request);
  auto pid = processes_.spawn(request);
  if (!pid)
    return std::move(pid).error().with_context(fmt::format("starting the agent of node {}", node));
  running_[*pid] = node;
  return {};
}

std::optional<pid_t> LocalNodes::pid_of(int node) const {
  for (const auto& [pid, running] : running_) {
    if (running == node) return pid;
  }
  return std::nullopt;
}

// ---- faults

void LocalNodes::take_line(std::string_view line) {
  if (waiting_.empty() || ending_) return;
  std::vector<Fault> due;
  std::erase_if(waiting_, [&due, line](const Fault& fault) {
    if (!is_due(fault.when, line)) return false;
    due.push_back(fault);
    return true;
  });
  for (const Fault& fault : due) inject(fault);
}

void LocalNodes::inject(const Fault& fault) {
  const std::string text = to_string(fault);
  const std::string problem = ending_ ? "the job was ending" : carry_out(fault);
  if (problem.empty()) return (void)injected_.push_back(text);
  in_vain_.push_back(text + " (" + problem + ")");
  output_.say(text + ": " + problem);
}

std::string LocalNodes::carry_out(const Fault& fault) {
  output_.say(to_string(fault));
  switch (fault.kind) {
    case FaultKind::kKillNode:
      return signal_node(fault, SIGKILL);
    case FaultKind::kStopNode:
      return signal_node(fault, SIGSTOP);
    case FaultKind::kContinueNode:
      if (!stopped_.contains(fault.target))
        return fmt::format("node {} is not stopped", fault.target);
      return signal_node(fault, SIGCONT);
    case FaultKind::kPreemptNode:
      return signal_node(fault, SIGTERM);
    case FaultKind::kAddNode:
      return add_node(fault);
    case FaultKind::kKillRank:
      return kill_rank(fault);
    case FaultKind::kPartition:
      return separate(fault);
    case FaultKind::kHeal:
      return heal() ? "" : "nothing was cut";
  }
  return "";
}

std::string LocalNodes::signal_node(const Fault& fault, int signal) {
  const auto pid = pid_of(fault.target);
  if (!pid) return fmt::format("node {} does not run", fault.target);
  hit_.insert(fault.target);
  if (signal == SIGTERM || signal == SIGKILL) leaving_.insert(fault.target);
  if (signal == SIGSTOP) stopped_.insert(fault.target);
  if (signal == SIGCONT) stopped_.erase(fault.target);
  processes_.signal_child(*pid, signal);
  return "";
}

std::string LocalNodes::add_node(const Fault& fault) {
  int node = fault.target;
  if (node == 0) {
    node = options_.nodes;
    for (const auto& [pid, running] : running_) node = std::max(node, running);
    if (!ends_.empty()) node = std::max(node, ends_.rbegin()->first);
    ++node;
  }
  if (pid_of(node)) {
    if (!leaving_.contains(node)) return fmt::format("node {} runs already", node);
    returning_.insert(node);
    return "";
  }
  if (node > kMaxLocalNodes) return fmt::format("{} nodes are the limit", kMaxLocalNodes);
  hit_.insert(node);
  const Status started = start_node(node);
  return started ? "" : started.error().text;
}

std::string LocalNodes::kill_rank(const Fault& fault) {
  size_t reached = 0;
  for (const auto& [pid, node] : running_)
    reached += signal_marked_children(pid, fmt::format("RANK={}", fault.target), SIGKILL);
  return reached == 0 ? fmt::format("rank {} does not run", fault.target) : "";
}

std::string LocalNodes::separate(const Fault& fault) {
  const auto cut = between_->cut(fault.side);
  if (!cut) return cut.error().text;
  if (!*cut) return "all nodes are on one side";
  // Whichever side goes on without the other: the smaller one was cut off, of two halves that
  // without the lowest node.
  const auto is_inside = [&fault](int node) { return std::ranges::count(fault.side, node) > 0; };
  int inside = 0;
  int lowest = std::numeric_limits<int>::max();
  for (const auto& [pid, node] : running_) {
    inside += is_inside(node) ? 1 : 0;
    lowest = std::min(lowest, node);
  }
  const int outside = static_cast<int>(running_.size()) - inside;
  const bool inside_is_cut = inside == outside ? !is_inside(lowest) : inside < outside;
  for (const auto& [pid, node] : running_) {
    if (is_inside(node) == inside_is_cut) hit_.insert(node);
  }
  is_cut_ = true;
  return "";
}

// Whether anything was cut.
bool LocalNodes::heal() {
  if (!between_) return false;
  if (const Status healed = between_->heal(); !healed) output_.say(healed.error().text);
  return std::exchange(is_cut_, false);
}

// ---- the end

void LocalNodes::handle_signal(const ReceivedSignal& signal) {
  if (signal.number == SIGCHLD) return reap();
  if (respond_to(signal.number, {}, setup_.ignored_at_start) != SignalResponse::kStop) return;
  ending_ = true;
  (void)heal();  // so that they can agree on the end
  for (const auto& [pid, node] : running_) {
    processes_.signal_child(pid, signal.number);
    processes_.signal_child(pid, SIGCONT);  // one that --chaos stopped
  }
  stopped_.clear();
}

void LocalNodes::reap() {
  while (const auto reaped = processes_.reap()) {
    const auto found = running_.find(reaped->pid);
    if (found == running_.end()) continue;  // an orphan of an agent that was killed
    const int node = found->second;
    running_.erase(found);
    ends_[node] = reaped->status;
    stopped_.erase(node);
    leaving_.erase(node);
    if (returning_.erase(node) == 0 || ending_) continue;
    if (const Status started = start_node(node); !started) output_.say(started.error().text);
  }
  if (running_.empty()) {
    if (std::exchange(finished_, true)) return;  // an orphan came late
    timers_.clear();
    return output_.finish(summary(), [this] { loop_.stop(); });
  }
  const auto is_hit = [this](const auto& entry) { return hit_.contains(entry.second); };
  const bool untouched_run = !std::all_of(running_.begin(), running_.end(), is_hit);
  const bool untouched_ended = std::any_of(
      ends_.begin(), ends_.end(), [this](const auto& end) { return !hit_.contains(end.first); });
  const bool all_stopped = stopped_.size() == running_.size();
  if (leftovers_.is_active() || (!all_stopped && (untouched_run || !untouched_ended))) return;
  leftovers_ = loop_.after(kLeftoverWait, [this] { end_leftovers(); });
}

// The job is over, and these cannot know: they are stopped, cut off or too late.
void LocalNodes::end_leftovers() {
  const bool again = std::exchange(ending_, true);
  (void)heal();  // so that they can agree on the end
  for (const auto& [pid, node] : running_) {
    output_.say(fmt::format("node {} is left over: {}", node, again ? "killed" : "told to end"));
    processes_.signal_child(pid, again ? SIGKILL : SIGTERM);
    processes_.signal_child(pid, SIGCONT);
  }
  leftovers_ = loop_.after(kLeftoverGrace, [this] { end_leftovers(); });
}

// What happened, in one line.
std::string LocalNodes::summary() const {
  const std::string after = injected_.empty() ? "" : " after " + join(injected_, ", ");
  std::vector<std::string> missed = in_vain_;
  for (const Fault& fault : waiting_)
    missed.push_back(to_string(fault) + " (the job ended before)");
  const std::string not_done =
      missed.empty() ? "" : "; these faults did not happen: " + join(missed, ", ");
  std::vector<std::string> ends;
  for (const auto& [node, status] : ends_)
    ends.push_back(fmt::format("node {}: {}", node, status.describe()));
  return fmt::format("the job ended with {}{}{}; {}", exit_code(), after, not_done,
                     join(ends, ", "));
}

int LocalNodes::exit_code() const {
  std::optional<int> hit_code;
  for (const auto& [node, status] : ends_) {
    if (!hit_.contains(node)) return status.shell_code();
    if (!hit_code || status.success()) hit_code = status.shell_code();
  }
  return hit_code.value_or(kExitInternal);
}

}  // namespace muster::launcher
