#include "launcher/frameworks/mpi/rank_environment.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/log.h"
#include "base/process/memory_reading.h"
#include "launcher/frameworks/pytorch.h"
#include "mpi/launch/launch_settings.h"
#include "mpi/launch/launched_rank.h"

namespace muster::launcher {

namespace {

// Below the ports that Linux hands out by itself (32768) and those of Kubernetes' NodePorts
// (30000), above most services.
constexpr uint32_t kFirstPort = 20'000;
constexpr uint32_t kPorts = 8'000;

// FNV-1a: the same on every node, whatever it was built with.
uint32_t hash(std::string_view text) {
  uint32_t value = 2'166'136'261U;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 16'777'619U;
  return value;
}

}  // namespace

std::vector<PlannedVariable> node_variables(bool unbound) {
  std::vector<PlannedVariable> variables;
  if (!can_read_memory()) variables = mpi::copying_settings();
  if (unbound) {
    variables.push_back({.name = std::string(mpi::kUnboundRanksVariable),
                         .value = "1",
                         .reason = "ranks of one node share its CPUs",
                         .source = "muster",
                         .claim = Claim::kOverrides});
  }
  return variables;
}

void tell_threads(const std::vector<mpi::HostSlots>& hosts, const Environment& user) {
  const bool crowded = std::ranges::any_of(hosts, [](const auto& host) { return host.slots > 1; });
  if (crowded && !user.has(kThreadsVariable)) log::info("job.notice", {{"text", kThreadsNotice}});
}

std::vector<PlannedVariable> master_variables(const rendezvous::Assign& round,
                                              std::string_view seed) {
  const auto first =
      std::ranges::find_if(round.roster, [](const auto& entry) { return entry.workers > 0; });
  if (first == round.roster.end()) return {};
  return {{"MASTER_ADDR", first->host, "the node of rank 0", "round"},
          {"MASTER_PORT", std::to_string(kFirstPort + hash(seed) % kPorts),
           "for a server of rank 0, such as PyTorch's", "round"}};
}

}  // namespace muster::launcher
