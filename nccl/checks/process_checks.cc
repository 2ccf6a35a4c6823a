#include "nccl/checks/process_checks.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace muster::nccl {
namespace {

constexpr int kSysResource = 24;  // CAP_SYS_RESOURCE: the kernel does not count root's processes

uint64_t workers_of(const CheckQuestion& question) {
  return static_cast<uint64_t>(question.job.workers);
}

std::string workers_text(const CheckQuestion& question) {
  return counted(workers_of(question), "worker", "workers");
}

// `limit` threads for all workers: an error if NCCL's alone do not fit, a warning if little is
// left.
Verdicts judge_threads(const CheckQuestion& question, uint64_t limit, const std::string& name,
                       const std::string& remedy) {
  const uint64_t needed = workers_of(question) * kThreadsPerWorker;
  if (limit >= 2 * needed) return {};
  return {{limit < needed ? Severity::kError : Severity::kWarning,
           fmt::format("{} allows {} processes and threads for {}, which start about {} each: "
                       "pthread_create fails",
                       name, limit, workers_text(question), kThreadsPerWorker),
           remedy}};
}

}  // namespace

Verdicts check_fds(const CheckQuestion& question) {
  const Limit& limit = question.node.limits.open_files;
  if (!limit.is_known || !limit.hard) return {};
  const uint64_t wanted = std::max(kFewDescriptors, workers_of(question) * kDescriptorsPerRank);
  if (*limit.hard >= wanted) return {};
  return {{Severity::kWarning,
           fmt::format("a process may open {} files at most: with some hundred ranks NCCL needs "
                       "more ({} for each)",
                       *limit.hard, kDescriptorsPerRank),
           fmt::format("raise the hard limit to {} or more: ulimit -n, LimitNOFILE", wanted)}};
}

Verdicts check_stack(const CheckQuestion& question) {
  const Limit& limit = question.node.limits.stack_bytes;
  if (!limit.is_known || limit.soft || question.gpus == 0) return {};
  return {{Severity::kWarning,
           "the stack has no limit (ulimit -s unlimited): threads of NCCL before 2.28 then get "
           "2 MiB and may overflow it",
           "ulimit -s 8192"}};
}

Verdicts check_nproc(const CheckQuestion& question) {
  const Limit& limit = question.node.limits.processes;
  const auto& capabilities = question.node.privileges.effective;
  const bool is_root =
      question.node.privileges.user.value_or(1) == 0 && has_capability(capabilities, kSysResource);
  if (!limit.is_known || !limit.soft || is_root) return {};
  return judge_threads(question, *limit.soft, "the user's limit (ulimit -u)",
                       "raise it: ulimit -u, LimitNPROC");
}

Verdicts check_pids(const CheckQuestion& question) {
  const auto& limit = question.node.container.processes;
  if (!limit) return {};
  return judge_threads(question, *limit, "the container (pids.max)",
                       "raise podPidsLimit of the kubelet, or the runtime's --pids-limit");
}

Verdicts check_cpu_quota(const CheckQuestion& question) {
  const Container& container = question.node.container;
  std::optional<double> cpus;
  std::string source;
  if (container.cpu) {
    cpus = container.cpu->cpus;
    source = container.cpu->source;
  }
  if (container.allowed_cpus && !container.allowed_cpus->empty()) {
    const auto allowed = static_cast<double>(container.allowed_cpus->size());
    if (!cpus || allowed < *cpus) {
      cpus = allowed;
      source = "Cpus_allowed_list";
    }
  }
  if (!cpus) return {};
  const double each = *cpus / static_cast<double>(workers_of(question));
  const double wanted = question.gpus > 0 ? 2 : 1;  // a worker and NCCL's proxy threads
  if (each >= wanted) return {};
  const bool is_error = question.gpus > 0 && each < 1;
  return {{is_error ? Severity::kError : Severity::kWarning,
           fmt::format("{:g} CPUs ({}) for {}: {}", *cpus, source, workers_text(question),
                       question.gpus > 0 ? "NCCL's proxy threads spin and need 2 to 4 for each"
                                         : "less than one for each"),
           "raise the pod's CPU limit, or start fewer workers"}};
}

Verdicts check_numa_cpuset(const CheckQuestion& question) {
  Verdicts verdicts;
  const auto& allowed = question.node.container.allowed_cpus;
  std::vector<std::string> far;
  for (const Accelerator& accelerator : usable_accelerators(question.machine())) {
    if (!allowed || allowed->empty() || accelerator.local_cpus.empty()) continue;
    if (intersect(*allowed, accelerator.local_cpus).empty()) far.push_back(accelerator.pci_address);
  }
  if (!far.empty()) {
    constexpr size_t kShown = 3;
    const size_t count = far.size();
    far.resize(std::min(count, kShown));
    verdicts.push_back(
        {Severity::kWarning,
         fmt::format("this container may not use any CPU near {} ({}{})",
                     counted(count, "of its GPUs", "of its GPUs"), join(far, ", "),
                     count > kShown ? ", ..." : ""),
         "let the kubelet align them (topologyManagerPolicy), or ask for other CPUs"});
  }
  const bool is_amd = accelerator_kind(question.machine()) == AcceleratorKind::kAmd;
  if (is_amd && question.node.kernel.numa_balancing.value_or(false)) {
    verdicts.push_back({Severity::kWarning,
                        "automatic NUMA balancing is on, which stops AMD's GPUs for each page "
                        "that moves",
                        "on the node: sysctl kernel.numa_balancing=0"});
  }
  return verdicts;
}

}  // namespace muster::nccl
