#include "base/process_tree.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "base/text.h"

namespace muster {

namespace {

constexpr size_t kMaxEnvironmentBytes =
    8 << 20;  // the kernel's own limit is a quarter of the stack limit, 2 MiB by default

// /proc/<pid>/stat: "pid (comm) state ppid ..."; comm may hold anything, so look from the last ')'.
std::optional<pid_t> parent_of(const std::string& stat_text) {
  const size_t comm_end = stat_text.rfind(')');
  if (comm_end == std::string::npos || comm_end + 4 >= stat_text.size()) return std::nullopt;
  const size_t start = comm_end + 4;  // ") S "
  const auto parent =
      parse_integer(std::string_view(stat_text).substr(start, stat_text.find(' ', start) - start));
  return parent ? std::optional<pid_t>(static_cast<pid_t>(*parent)) : std::nullopt;
}

// Every process' parent, for kernels that do not list children.
std::multimap<pid_t, pid_t> children_by_parent() {
  std::multimap<pid_t, pid_t> children;
  const RealFiles files;
  const auto entries = files.list("/proc");
  if (!entries) return children;
  for (const std::string& entry : *entries) {
    const auto pid = parse_integer(entry);
    if (!pid) continue;
    const auto stat_text = files.read("/proc/" + entry + "/stat");
    const auto parent = stat_text ? parent_of(*stat_text) : std::nullopt;
    if (parent) children.emplace(*parent, static_cast<pid_t>(*pid));
  }
  return children;
}

// None: the kernel does not list children. A process that is gone has none.
std::optional<std::vector<pid_t>> listed_children(pid_t pid) {
  const RealFiles files;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  const auto threads = files.list(tasks);
  std::vector<pid_t> children;
  if (!threads) return children;
  for (const std::string& thread : *threads) {
    const auto text = files.read(tasks + "/" + thread + "/children");
    if (!text && text.error().os_errno == ENOENT && files.exists(tasks + "/" + thread))
      return std::nullopt;
    if (!text) continue;
    for (const std::string_view word : split(trim(*text), ' ')) {
      if (const auto child = parse_integer(word)) children.push_back(static_cast<pid_t>(*child));
    }
  }
  return children;
}

// /proc/<pid>/status: "SigCgt:\t0000000000004000", a bit for each signal, SIGHUP's the lowest.
bool has_signal(std::string_view status, std::string_view set, int signal) {
  constexpr int kHex = 16;
  const size_t at = status.find(set);
  if (at == std::string_view::npos) return false;
  const std::string_view digits = trim(status.substr(at + set.size(), kHex + 1));
  uint64_t bits = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), bits, kHex).ec != std::errc())
    return false;
  return (bits >> (signal - 1) & 1) != 0;
}

// Who blocks a signal waits for it in another way (signalfd, sigwait).
bool handles(pid_t pid, int signal) {
  const auto status = RealFiles().read("/proc/" + std::to_string(pid) + "/status");
  return status &&
         (has_signal(*status, "SigCgt:", signal) || has_signal(*status, "SigBlk:", signal));
}

bool is_spared(pid_t pid, const std::vector<pid_t>& spared) {
  return std::find(spared.begin(), spared.end(), pid) != spared.end();
}

}  // namespace

bool is_marked_with(pid_t pid, const std::string& entry) {
  const auto environment =
      RealFiles().read("/proc/" + std::to_string(pid) + "/environ", kMaxEnvironmentBytes);
  if (!environment) return false;
  const auto variables = split(*environment, '\0');
  return std::find(variables.begin(), variables.end(), entry) != variables.end();
}

std::vector<pid_t> processes_marked_with(const std::string& entry) {
  std::vector<pid_t> marked;
  const auto entries = RealFiles().list("/proc");
  if (!entries) return marked;
  for (const std::string& name : *entries) {
    const auto pid = parse_integer(name);
    if (pid && is_marked_with(static_cast<pid_t>(*pid), entry))
      marked.push_back(static_cast<pid_t>(*pid));
  }
  return marked;
}

bool is_child_of(pid_t pid, pid_t parent) {
  const auto stat_text = RealFiles().read("/proc/" + std::to_string(pid) + "/stat");
  return stat_text && parent_of(*stat_text) == parent;
}

bool asks_for_end(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

std::string name_of_process(pid_t pid) {
  const auto name = RealFiles().read("/proc/" + std::to_string(pid) + "/comm");
  return name ? one_line(trim(*name)) : "";  // a process names itself
}

bool would_end_of(pid_t pid, int signal) {
  const auto status = RealFiles().read("/proc/" + std::to_string(pid) + "/status");
  if (!status) return false;
  return !has_signal(*status, "SigCgt:", signal) && !has_signal(*status, "SigBlk:", signal) &&
         !has_signal(*status, "SigIgn:", signal);
}

std::vector<Descendant> untold(const std::vector<Descendant>& all,
                               const std::map<pid_t, int>& told) {
  std::vector<Descendant> rest;
  std::set<pid_t> heard;
  for (const Descendant& each : all) {
    if (!told.contains(each.pid) && !heard.contains(each.parent)) rest.push_back(each);
    heard.insert(each.pid);
  }
  return rest;
}

std::vector<Descendant> receivers_of(pid_t root, pid_t parent, int signal) {
  std::vector<Descendant> reached{{root, parent}};
  if (handles(root, signal)) return reached;
  std::set<pid_t> open{root};  // what is below these hears of it
  std::vector<Descendant> handlers;
  for (const Descendant& descendant : descendants_of(root, {})) {
    if (!open.contains(descendant.parent)) continue;
    reached.push_back(descendant);
    if (handles(descendant.pid, signal)) {
      handlers.push_back(descendant);
    } else {
      open.insert(descendant.pid);
    }
  }
  if (asks_for_end(signal)) return reached;
  return handlers.empty() ? std::vector<Descendant>{{root, parent}} : handlers;
}

std::vector<Descendant> descendants_of(pid_t root, const std::vector<pid_t>& spared, size_t most) {
  std::vector<Descendant> found{{root, 0}};
  std::optional<std::multimap<pid_t, pid_t>> scan;
  for (size_t next = 0; next < found.size() && found.size() <= most; ++next) {
    const pid_t parent = found[next].pid;
    std::vector<pid_t> children;
    if (auto listed = scan ? std::nullopt : listed_children(parent)) {
      children = std::move(*listed);
    } else {
      if (!scan) scan = children_by_parent();
      const auto [first, last] = scan->equal_range(parent);
      for (auto child = first; child != last; ++child) children.push_back(child->second);
    }
    for (const pid_t child : children) {
      if (!is_spared(child, spared)) found.push_back({child, parent});
    }
  }
  found.erase(found.begin());
  if (found.size() > most) found.resize(most);
  return found;
}

}  // namespace muster
