#include "launcher/frameworks/mpi/rank_environment.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>

#include "base/log.h"
#include "base/process/memory_reading.h"
#include "launcher/frameworks/mpi/mpi_launcher.h"
#include "launcher/frameworks/pytorch.h"
#include "launcher/rank/rank_network.h"
#include "launcher/rank/rank_streams.h"
#include "mpi/launch/launch_settings.h"
#include "mpi/launch/launched_rank.h"
#include "mpi/rank/rank_variables.h"

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

std::vector<PlannedVariable> network_below_launcher(std::vector<PlannedVariable> planned) {
  const auto names = mpi::network_variables();
  std::erase_if(planned, [&names](const PlannedVariable& variable) {
    return std::ranges::find(names, variable.name) != names.end();
  });
  return planned;
}

PlannedVariable rank_network_variable(const std::vector<PlannedVariable>& planned) {
  return launcher_variable(mpi::kLauncherNetworkVariable, encode_network(planned),
                           "the network of a rank's node");
}

std::vector<PlannedVariable> network_of_launcher(const std::vector<PlannedVariable>& planned) {
  std::vector<PlannedVariable> read;
  std::ranges::copy_if(planned, std::back_inserter(read), [](const PlannedVariable& variable) {
    return variable.name.starts_with("OMPI_MCA_") || variable.name.starts_with("PRTE_MCA_");
  });
  return read;
}

void tell_threads(const std::vector<mpi::HostSlots>& hosts, const Environment& user) {
  const bool crowded = std::ranges::any_of(hosts, [](const auto& host) { return host.slots > 1; });
  if (crowded && !user.has(kThreadsVariable)) log::info("job.notice", {{"text", kThreadsNotice}});
}

PlannedVariable rank_streams_variable(const Options& options, bool scripted) {
  constexpr int kSeveral = 2;
  RankStreams streams;
  streams.redirects = options.redirects;
  streams.tee = options.tee;
  streams.shown = options.local_ranks_filter;
  streams.role = options.role;
  if (!scripted) streams.prefix = console_prefix_template(options, kSeveral, /*teed=*/true);
  streams.prefix_tee_only = console_prefix_template(options, kSeveral, /*teed=*/false).empty();
  streams.prefix_several_only = !options.prefix_template;
  return launcher_variable(mpi::kRankStreamsVariable, encode(streams),
                           "what happens to the output of a rank");
}

std::vector<PlannedVariable> rank_place_variables(const std::string& node,
                                                  const std::string& attempt_dir, bool by_daemon) {
  std::vector<PlannedVariable> variables = {launcher_variable(
      by_daemon ? mpi::kRankNodeVariable : mpi::kLauncherNodeVariable, node, "the node of a rank")};
  if (!attempt_dir.empty()) {
    variables.push_back(
        launcher_variable(by_daemon ? mpi::kRankLogsVariable : mpi::kLauncherLogsVariable,
                          attempt_dir, "for the files of its output"));
  }
  return variables;
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
