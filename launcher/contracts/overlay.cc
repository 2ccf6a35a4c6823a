#include "launcher/contracts/overlay.h"

#include "base/text.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kRunaiJob = "RUNAI_JOB_NAME";
// KAI's name, and Run:ai's, which KAI sets as well.
constexpr std::string_view kGpuShares[] = {"GPU_PORTION", "RUNAI_NUM_OF_GPUS"};

}  // namespace

void add_overlays(Contract& contract, const PodFacts& pod) {
  if (contract.job.empty()) contract.job = text_of(pod, kRunaiJob);
  // A share of one GPU is one worker's.
  for (const std::string_view name : kGpuShares) {
    const auto share = parse_number(text_of(pod, name));
    const bool divided = share && *share > 0 && *share < 1;
    if (divided && said(contract, flag::kNprocPerNode).empty())
      contract.values.push_back({flag::kNprocPerNode, "1", "Run:ai: " + std::string(name)});
  }
}

}  // namespace muster::launcher
