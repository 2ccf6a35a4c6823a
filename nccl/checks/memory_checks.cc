#include "nccl/checks/memory_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace muster::nccl {
namespace {

// Of what this process may lock. None: without limit, or not known.
std::optional<uint64_t> lock_limit(const NodeFacts& node) {
  const Limit& limit = node.limits.locked_bytes;
  if (!limit.is_known || may_lock_all(node.privileges)) return std::nullopt;
  return limit.soft;
}

std::string lock_remedy(const NodeFacts& node) {
  const Limit& limit = node.limits.locked_bytes;
  if (!limit.hard || *limit.hard >= kEnoughLockedBytes)
    return "raise the soft limit before the job starts: ulimit -l unlimited";
  if (!node.privileges.is_initial_user_namespace.value_or(true))
    return "raise LimitMEMLOCK of the container runtime: in a user namespace IPC_LOCK is no help";
  return "add the capability IPC_LOCK to the pod (it works for root), or raise LimitMEMLOCK of "
         "the container runtime";
}

// Registered memory counts as locked, so this is what RDMA libraries meet.
bool is_short_of_locks(const CheckQuestion& question) {
  const auto limit = lock_limit(question.node);
  return limit && *limit < kEnoughLockedBytes;
}

// Virtual machines without GPUs have such cards for their own network and use TCP over them.
Severity severity_of(const CheckQuestion& question) {
  return question.gpus == 0 ? Severity::kInfo : Severity::kError;
}

bool uses_efa(const CheckQuestion& question) {
  return std::ranges::any_of(question.machine().rdma, [](const RdmaDevice& device) {
    return device.is_efa() && device.has_device_node;
  });
}

}  // namespace

Verdicts check_memlock(const CheckQuestion& question) {
  const auto ready = ready_rdma_devices(question.machine());
  const auto& locked = question.probes.locked;
  if (locked && locked->os_errno != 0 && !ready.empty()) {
    return {{severity_of(question),
             fmt::format("{} could not be locked ({}): RDMA libraries register more and will fail",
                         format_bytes(locked->bytes), std::strerror(locked->os_errno)),
             lock_remedy(question.node)}};
  }
  if (!is_short_of_locks(question)) return {};
  const std::string limit = format_bytes(*lock_limit(question.node));
  if (ready.empty()) {
    return {{Severity::kInfo,
             fmt::format("memlock is {} and IPC_LOCK is not effective; without RDMA devices "
                         "nothing needs more",
                         limit),
             ""}};
  }
  return {{severity_of(question),
           fmt::format("memlock is {} and IPC_LOCK is not effective: {} will not be able to "
                       "register memory",
                       limit, counted(ready.size(), "RDMA device", "RDMA devices")),
           lock_remedy(question.node)}};
}

Verdicts check_ipc_lock_ineffective(const CheckQuestion& question) {
  const Privileges& privileges = question.node.privileges;
  const bool is_granted = has_capability(privileges.bounding, kIpcLock);
  if (!is_granted || may_lock_all(privileges) || !is_short_of_locks(question) ||
      ready_rdma_devices(question.machine()).empty())
    return {};
  if (!has_capability(privileges.effective, kIpcLock)) {
    const std::string user =
        privileges.user ? fmt::format("user id {}", *privileges.user) : "this user";
    return {{severity_of(question),
             fmt::format("IPC_LOCK is granted and not effective for {}: Kubernetes gives "
                         "capabilities to root only",
                         user),
             "run as root, give the program the file capability, or raise memlock"}};
  }
  if (privileges.is_initial_user_namespace.value_or(true)) return {};
  return {{severity_of(question),
           "IPC_LOCK is granted inside a user namespace, where the kernel does not count it for "
           "registered memory",
           "run without a user namespace (hostUsers: true), or raise memlock in the runtime"}};
}

Verdicts check_shm_size(const CheckQuestion& question) {
  const Container& container = question.node.container;
  if (!container.shared_bytes) return {};
  const std::string remedy =
      "mount an emptyDir with medium Memory at /dev/shm, of 1 GiB or more (8 to 64 GiB are usual)";
  const uint64_t size = *container.shared_bytes;
  const std::string workers =
      counted(static_cast<size_t>(question.job.workers), "worker", "workers");
  const std::string what = fmt::format("/dev/shm has {} for {}", format_bytes(size), workers);
  if (question.job.workers < 2) {
    if (size >= kLeastSharedBytes) return {};
    return {
        {Severity::kInfo, what + ": data loaders with several processes may need more", remedy}};
  }
  if (size < kLeastSharedBytes) {
    return {{Severity::kError,
             what + ": NCCL fails to extend its segments, and data loaders end by SIGBUS", remedy}};
  }
  if (size < kEnoughSharedBytes)
    return {{Severity::kWarning, what + ": little for NCCL and data loaders together", remedy}};
  if (container.shared_free_bytes && *container.shared_free_bytes < kLeastFreeSharedBytes) {
    return {{Severity::kWarning,
             fmt::format("/dev/shm has {}, of which {} are free", format_bytes(size),
                         format_bytes(*container.shared_free_bytes)),
             "remove what earlier jobs have left there (nccl-*, torch_*)"}};
  }
  return {};
}

Verdicts check_hugepages(const CheckQuestion& question) {
  const auto* setting = question.node.fabric.settings.find("FI_EFA_USE_HUGE_PAGE");
  if (!uses_efa(question) || (setting != nullptr && setting->value == "0")) return {};
  const std::string remedy = "add hugepages-2Mi to the pod's limits, or set FI_EFA_USE_HUGE_PAGE=0";
  if (question.probes.huge_page_signal.value_or(0) != 0) {
    return {{Severity::kError,
             "a huge page of 2 MiB could be had and not touched: EFA's library will end the "
             "process by SIGBUS",
             remedy}};
  }
  const KernelState& kernel = question.node.kernel;
  const bool has_pages = kernel.huge_pages.value_or(0) > 0;
  const auto& limit = question.node.container.huge_page_bytes;
  if (has_pages && limit && *limit == 0) {
    return {{Severity::kError,
             fmt::format("the node has {} huge pages of 2 MiB and this container may have none: "
                         "EFA's library may end the process by SIGBUS",
                         *kernel.huge_pages),
             remedy}};
  }
  if (has_pages && kernel.free_huge_pages && *kernel.free_huge_pages == 0) {
    return {{Severity::kWarning,
             fmt::format("none of the node's {} huge pages of 2 MiB is free: others have them, or "
                         "an earlier job has left them behind",
                         *kernel.huge_pages),
             "end who has them, or set FI_EFA_USE_HUGE_PAGE=0"}};
  }
  return {};
}

Verdicts check_mem_limit(const CheckQuestion& question) {
  const Container& container = question.node.container;
  Verdicts verdicts;
  if (container.memory_bytes &&
      *container.memory_bytes / static_cast<uint64_t>(question.job.workers) < kLeastWorkerBytes) {
    verdicts.push_back(
        {Severity::kWarning,
         fmt::format("the container may use {} of memory for {}",
                     format_bytes(*container.memory_bytes),
                     counted(static_cast<size_t>(question.job.workers), "worker", "workers")),
         "raise the pod's memory limit"});
  }
  if (container.oom_kills.value_or(0) > 0) {
    verdicts.push_back({Severity::kInfo,
                        fmt::format("the OOM killer has ended {} here: other nodes see that as an "
                                    "error of the network",
                                    counted(*container.oom_kills, "process", "processes")),
                        "raise the pod's memory limit"});
  }
  return verdicts;
}

}  // namespace muster::nccl
