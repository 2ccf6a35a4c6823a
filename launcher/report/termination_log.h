// Termination log: the container's last words, which the kubelet copies into the pod's status
// (lastState.terminated.message). Not a log file: it holds one message, written once.
#pragma once

#include <string>
#include <string_view>

#include "base/files.h"

namespace muster::launcher {

/// What the kubelet keeps of a container's message. In pods of more than three containers it keeps
/// less, so a message has the most important first. (Kubernetes: terminationMessagePath.)
inline constexpr size_t kMaxTerminationBytes = 4096;
inline constexpr std::string_view kDefaultTerminationLog = "/dev/termination-log";

/// Writes `message`, clipped to kMaxTerminationBytes and made valid UTF-8, to `path`; with an empty
/// path to kDefaultTerminationLog, but only where that exists, that is in a pod. In place: the file
/// is a bind mount and cannot be replaced. A failure to write is logged as a warning
/// ("termination_log.failed") and changes nothing else.
void write_termination_log(Files& files, const std::string& path, std::string_view message);

}  // namespace muster::launcher
