// Check: what one check of the catalogue is asked and answers. The checks themselves stand in files
// by subject (rdma_checks.h and others); catalogue.h lists them all. Pure.
#pragma once

#include <string>
#include <vector>

#include "nccl/checks/node_facts.h"
#include "nccl/plan/finding.h"

namespace muster::nccl {

/// What the job will be on this node.
struct CheckedJob {
  int workers = 1;  ///< of this node
  bool has_many_nodes = true;
};

/// What every check is asked. Made by make_question(); borrows the facts.
struct CheckQuestion {
  const NodeFacts& node;
  const ProbeResults& probes;
  CheckedJob job;
  FabricPlan plan;  ///< for this job
  HcaChoice hcas;   ///< RDMA devices that the job should use
  size_t gpus = 0;  ///< that this container may use
  [[nodiscard]] const Machine& machine() const { return node.fabric.machine; }
};
[[nodiscard]] CheckQuestion make_question(const NodeFacts& node, const ProbeResults& probes,
                                          const CheckedJob& job);

/// A Finding without the id, which the catalogue knows.
struct Verdict {
  Severity severity = Severity::kInfo;
  std::string what;
  std::string remedy;
};
using Verdicts = std::vector<Verdict>;

/// Devices whose device node this container has and that have a link: EFA ones, too.
[[nodiscard]] std::vector<const RdmaDevice*> ready_rdma_devices(const Machine& machine);

/// "64 MiB", "1.5 GiB", "0 B".
[[nodiscard]] std::string format_bytes(uint64_t bytes);

}  // namespace muster::nccl
