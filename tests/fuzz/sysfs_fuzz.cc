// Feeds a whole machine to everything that reads /sys, /proc and /dev. The input is text: a line
// "== PATH" begins a file, "== =NAME" a variable of the environment; what follows up to the next
// such line is its content.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "launcher/workers/numa_binding.h"
#include "launcher/workers/worker_count.h"
#include "nccl/machine/accelerators.h"
#include "nccl/machine/cpu_quota.h"
#include "nccl/machine/topology.h"
#include "nccl/machine/visible_devices.h"
#include "tests/support/fake_files.h"

namespace {

using muster::CpuSet;

constexpr std::string_view kMark = "== ";

struct Machine {
  muster::testing::FakeFiles files;
  muster::Environment environment;
};

void build(Machine& machine, std::string_view text) {
  while (text.starts_with(kMark)) {
    const size_t line_end = std::min(text.find('\n'), text.size());
    const std::string name(text.substr(kMark.size(), line_end - kMark.size()));
    const size_t next = text.find("\n== ", line_end);
    const size_t end = next == std::string_view::npos ? text.size() : next + 1;
    const std::string_view content =
        text.substr(std::min(line_end + 1, end), end - std::min(line_end + 1, end));
    if (name.starts_with('=')) {
      machine.environment.set(name.substr(1), muster::trim(content));
    } else {
      machine.files.add_file(name, content);
    }
    text.remove_prefix(end);
  }
}

void check_partition(const CpuSet& online, const std::vector<CpuSet>& groups) {
  CpuSet all;
  for (const CpuSet& group : groups) all.insert(all.end(), group.begin(), group.end());
  std::sort(all.begin(), all.end());
  MUSTER_CHECK(all == online);
}

void check_bindings(const muster::nccl::Topology& topology,
                    const std::vector<muster::nccl::Accelerator>& devices, const CpuSet& allowed) {
  using muster::launcher::NumaBinding;
  constexpr int kWorkers = 3;
  for (const NumaBinding mode : {NumaBinding::kNode, NumaBinding::kSocket, NumaBinding::kExclusive,
                                 NumaBinding::kCoreComplex}) {
    for (int rank = 0; rank < kWorkers; ++rank) {
      const auto binding =
          muster::launcher::decide_binding(mode, {topology, devices, allowed}, rank, kWorkers);
      if (!binding) continue;
      MUSTER_CHECK(!binding->cpus.empty());
      MUSTER_CHECK(muster::intersect(binding->cpus, allowed) == binding->cpus);
    }
  }
}

void check_worker_counts(const muster::launcher::CpuBudget& budget,
                         const std::vector<muster::nccl::Accelerator>& devices,
                         const muster::Environment& environment) {
  using muster::launcher::WorkerCountKind;
  for (const WorkerCountKind kind : {WorkerCountKind::kAuto, WorkerCountKind::kCpu,
                                     WorkerCountKind::kGpu, WorkerCountKind::kXpu}) {
    const auto decision =
        muster::launcher::decide_worker_count({kind, 1}, budget, devices, environment);
    MUSTER_CHECK(!decision || decision->number >= 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(data, data + size);
  Machine machine;
  build(machine, text);
  const muster::nccl::Topology topology = muster::nccl::read_topology(machine.files);
  check_partition(topology.online, topology.cores);
  check_partition(topology.online, topology.cache_groups);
  const auto devices = muster::nccl::discover_accelerators(machine.files);
  const auto budget = muster::launcher::read_cpu_budget(machine.files, topology.online);
  MUSTER_CHECK(!budget.quota || budget.quota->cpus > 0);
  check_worker_counts(budget, devices, machine.environment);
  constexpr size_t kFewCpus = 256;  // the decision is quadratic; real machines are small
  if (topology.online.size() <= kFewCpus) check_bindings(topology, devices, topology.online);
  // The same bytes as the content of single files and variables.
  (void)muster::parse_cpu_list(text);
  (void)muster::nccl::parse_cpu_max(text);
  (void)muster::nccl::parse_visible_devices(text);
  (void)muster::nccl::normalize_pci_address(text);
  (void)muster::nccl::find_cpu_cgroups(text, text);
  return 0;
}
