#include "launcher/doctor/probes.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/exit_code.h"
#include "base/process.h"
#include "base/process/memory_probes.h"
#include "base/process/own_binary.h"
#include "base/process/verb_loop.h"
#include "base/resolver.h"
#include "base/text.h"
#include "nccl/checks/check.h"
#include "nccl/checks/memory_checks.h"
#include "nccl/plan/interface_choice.h"

namespace muster::launcher {
namespace {

constexpr const char* kLock = "lock";
constexpr const char* kHugePage = "huge-page";
constexpr int kNothingToTry = 125;  // beside the errnos of mlock(2)
// Where so little may be used, locking it could end somebody else.
constexpr uint64_t kMemoryForProbe = 4 * nccl::kProbedLockBytes;

// None: the child could not be started, or did not end in time.
std::optional<ExitStatus> try_in_child(const char* name, const Files& files,
                                       const Environment& environment, const ProcessSetup& setup) {
  const auto binary = own_binary(files);
  if (!binary) return std::nullopt;
  SpawnRequest request;
  request.program = *binary;
  request.arguments = {"muster", "doctor", "--probe", name};
  request.environment = environment.to_exec_strings();
  request.signal_mask = setup.original_mask;
  const auto status = run_to_end(request, kProbeDeadline);
  return status ? std::optional(*status) : std::nullopt;
}

std::optional<nccl::ProbeResults::Locked> probe_lock(const ExitStatus& status) {
  // Ended from outside, it has found nothing.
  if (status.signal != 0 || status.code == kNothingToTry) return std::nullopt;
  return nccl::ProbeResults::Locked{nccl::kProbedLockBytes, status.code};
}

std::string problem_of(const LookupAnswer& answer) {
  if (answer.status != LookupStatus::kFound) return answer.reason;
  return std::ranges::all_of(answer.addresses, nccl::is_loopback_text)
             ? "it means " + join(answer.addresses, ", ") + " to itself"
             : "";
}

std::optional<std::string> probe_own_name(const std::string& name) {
  const auto verb = VerbLoop::create();
  if (!verb) return std::nullopt;
  Loop& loop = (*verb)->loop();
  DnsResolver resolver(loop);
  std::string problem;
  const Lookup lookup = resolver.resolve(name, kProbeDeadline, [&](const LookupAnswer& answer) {
    problem = problem_of(answer);
    loop.stop();
  });
  if (!loop.run()) return std::nullopt;
  return problem;
}

}  // namespace

nccl::ProbeResults run_probes(const nccl::NodeFacts& node, const Files& files,
                              const Environment& environment, const ProcessSetup& setup) {
  nccl::ProbeResults results;
  const nccl::Machine& machine = node.fabric.machine;
  const auto ready = nccl::ready_rdma_devices(machine);
  const bool has_room = node.container.memory_bytes.value_or(kMemoryForProbe) >= kMemoryForProbe;
  if (!ready.empty() && has_room) {
    if (const auto status = try_in_child(kLock, files, environment, setup))
      results.locked = probe_lock(*status);
  }
  if (std::ranges::any_of(ready, [](const auto* device) { return device->is_efa(); })) {
    if (const auto status = try_in_child(kHugePage, files, environment, setup))
      results.huge_page_signal = status->signal;
  }
  if (machine.own_addresses.empty() && !machine.host_name.empty())
    results.own_name_problem = probe_own_name(machine.host_name);
  return results;
}

int run_probe(const std::string& name) {
  if (name == kLock) {
    const int failed = lock_memory(nccl::kProbedLockBytes);
    return failed < kNothingToTry ? failed : kNothingToTry;
  }
  if (name == kHugePage) {
    return touch_huge_page() == HugePage::kTouched ? kExitSuccess : kNothingToTry;
  }
  return kExitUsage;
}

}  // namespace muster::launcher
