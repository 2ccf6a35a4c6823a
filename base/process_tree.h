// Who descends from whom, read from /proc. Snapshots only: what they say may be out of date at
// once. Used by ProcessHost to reach everything that a worker ever started.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace muster {

/// A process and the parent it had when it was listed.
struct Descendant {
  pid_t pid = 0;
  pid_t parent = 0;
};

/// Everything below `root`, parents before children; neither `root` itself nor `spared` and what is
/// below those. Reads /proc/<pid>/task/*/children (proc(5), needs CONFIG_PROC_CHILDREN):
/// O(descendants); where the kernel lacks that file every /proc/<pid>/stat: O(all processes).
/// No more than the first `most`, and then no others are looked for.
[[nodiscard]] std::vector<Descendant> descendants_of(pid_t root, const std::vector<pid_t>& spared,
                                                     size_t most = SIZE_MAX);

/// SIGTERM, SIGINT, SIGHUP, SIGQUIT.
[[nodiscard]] bool asks_for_end(int signal);

/// At and below `root`, which `parent` started: those for which a signal to `root` is meant,
/// parents before children. A process that catches or blocks the signal decides itself what becomes
/// of what it has started. One that does neither, as a shell without a trap, cannot: what is below
/// it hears of it, too. A signal that asks for an end is also
/// meant for that one, lest a script go on with its next line. Any other would only kill it: it is
/// left out if somebody below catches the signal. O(descendants).
[[nodiscard]] std::vector<Descendant> receivers_of(pid_t root, pid_t parent, int signal);

/// Whether the kernel ends that process when this signal comes: it neither catches, blocks nor
/// ignores it. False if it is gone.
[[nodiscard]] bool would_end_of(pid_t pid, int signal);

/// The topmost of `all`, parents before children, that were not `told` (with which signal) and do
/// not stand below a process that was: what such a process has started is its own business, as a
/// copy of what it saves.
[[nodiscard]] std::vector<Descendant> untold(const std::vector<Descendant>& all,
                                             const std::map<pid_t, int>& told);

/// The name of a process as the kernel has it, up to 15 bytes ("python3"); "" if it is gone.
[[nodiscard]] std::string name_of_process(pid_t pid);

/// Whether `pid` is still the child of `parent`; if so, its number has not been given to a
/// stranger.
[[nodiscard]] bool is_child_of(pid_t pid, pid_t parent);

/// Processes whose environment at exec held exactly `entry` ("NAME=value"), as far as we may read
/// it (proc(5), /proc/<pid>/environ). O(all processes).
[[nodiscard]] std::vector<pid_t> processes_marked_with(const std::string& entry);

/// Whether `pid` is one of them now.
[[nodiscard]] bool is_marked_with(pid_t pid, const std::string& entry);

}  // namespace muster
