#include "launcher/frameworks/horovod.h"

#include <algorithm>
#include <utility>

#include "base/interfaces.h"
#include "base/socket.h"
#include "base/strangers.h"
#include "base/text.h"
#include "launcher/frameworks/worker_network.h"

namespace muster::launcher {

namespace {

// It stands in URLs. Another node may have a name that differs by such a letter alone.
std::string host_name(size_t node_rank, const std::string& node) {
  std::string name = "node" + std::to_string(node_rank);
  for (const char c : node) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  return name;
}

std::string interface_to(const rendezvous::Assign& round) {
  const Address master{round.master_host, static_cast<uint16_t>(round.master_port)};
  if (master.is_loopback()) return "lo";
  const auto own = source_host(master);
  const auto addresses = interface_addresses();
  return own && addresses ? interface_of(*addresses, *own) : "";
}

}  // namespace

HorovodDriver::HorovodDriver(const Options& options)
    : options_(options), store_([this](std::string_view slot) { return place_of(slot); }) {}

FrameworkNeeds HorovodDriver::needs() const {
  FrameworkNeeds needs;
  needs.roster = true;
  needs.python_module = "horovod";
  return needs;
}

Status HorovodDriver::start(const DriverHost& host) {
  host_.emplace(host);
  server_ =
      std::make_unique<HttpServer>(host.doors.loop, quarter_of_descriptors(),
                                   [this](const HttpCall& call) { return store_.answer(call); });
  host_->serve_workers(
      rendezvous::Protocol::kHttp, [this](Arrival arrival) { server_->adopt(std::move(arrival)); },
      [this] { return server_->clients(); });
  return {};
}

// No process of the round may find what the last one has left, or lose what it has put: none starts
// before the store of node rank 0 is empty, which the exchange proves.
void HorovodDriver::prepare_round(const rendezvous::Assign& round,
                                  const std::function<void()>& ready) {
  begin(round);
  ready_ = ready;
  host_->exchange(0, "");
}

void HorovodDriver::exchanged(uint64_t /*sequence*/,
                              const Result<std::vector<std::string>>& /*all*/) {
  if (ready_) std::exchange(ready_, nullptr)();
}

Result<std::optional<JobLauncher>> HorovodDriver::begin_attempt(const rendezvous::Assign& round,
                                                                int /*workers*/) {
  if (round.node_count == 1) begin(round);
  return std::optional<JobLauncher>();
}

void HorovodDriver::begin(const rendezvous::Assign& round) {
  round_ = round;
  interface_ = interface_to(round);
  store_.clear();
}

void HorovodDriver::round_over() { server_->clear(); }

HorovodPlace HorovodDriver::place(const rendezvous::Assign& round, size_t node,
                                  int local_rank) const {
  HorovodPlace place;
  place.size = round.world_size;
  place.local_rank = local_rank;
  place.rank = local_rank;
  place.cross_size = 0;
  for (size_t other = 0; other < round.roster.size(); ++other) {
    const int workers = round.roster[other].workers;
    if (other < node) place.rank += workers;
    if (other == node) place.local_size = workers;
    if (workers <= local_rank) continue;
    if (other < node) ++place.cross_rank;
    ++place.cross_size;
  }
  return place;
}

std::optional<std::string> HorovodDriver::place_of(std::string_view slot) const {
  const size_t cut = slot.rfind(':');
  const auto local_rank = parse_integer(cut == std::string_view::npos ? "" : slot.substr(cut + 1));
  for (size_t node = 0; local_rank && node < round_.roster.size(); ++node) {
    const auto& entry = round_.roster[node];
    if (slot.substr(0, cut) != host_name(node, entry.identity.name)) continue;
    if (*local_rank < 0 || *local_rank >= entry.workers) return std::nullopt;
    const HorovodPlace found = place(round_, node, static_cast<int>(*local_rank));
    std::vector<std::string> numbers;
    for (const int number : {found.rank, found.size, found.local_rank, found.local_size,
                             found.cross_rank, found.cross_size})
      numbers.push_back(std::to_string(number));
    return join(numbers, ",");
  }
  return std::nullopt;
}

Status HorovodDriver::add_variables(const rendezvous::Assign& round, int local_rank,
                                    EnvironmentPlan& plan) const {
  const auto node = static_cast<size_t>(round.node_rank);
  HorovodPlace own = place(round, node, local_rank);
  if (round.roster.empty()) {
    own = {local_rank, round.world_size, local_rank, round.world_size, 0, 1};
  }
  const auto set = [&plan](std::string_view name, std::string value, std::string reason) {
    plan.add(EnvironmentLayer::kFramework, {.name = std::string(name),
                                            .value = std::move(value),
                                            .reason = std::move(reason),
                                            .source = "round",
                                            .claim = Claim::kOverrides});
  };
  const std::string node_name =
      node < round.roster.size() ? round.roster[node].identity.name : options_.nodes.name;
  set("HOROVOD_RANK", std::to_string(own.rank), "this process among all");
  set("HOROVOD_SIZE", std::to_string(own.size), "processes of the job");
  set("HOROVOD_LOCAL_RANK", std::to_string(own.local_rank), "this process on its node");
  set("HOROVOD_LOCAL_SIZE", std::to_string(own.local_size), "processes of this node");
  set("HOROVOD_CROSS_RANK", std::to_string(own.cross_rank), "this node among those with that rank");
  set("HOROVOD_CROSS_SIZE", std::to_string(own.cross_size), "nodes with that local rank");
  set("HOROVOD_HOSTNAME", host_name(node, node_name), "this node");
  set("HOROVOD_GLOO_RENDEZVOUS_ADDR", round.master_host, "the agent of node rank 0");
  set("HOROVOD_GLOO_RENDEZVOUS_PORT", std::to_string(round.master_port), "its key-value store");
  set("HOROVOD_CONTROLLER", "gloo", "no MPI is needed");
  set("HOROVOD_CPU_OPERATIONS", "gloo", "no MPI is needed");
  if (!interface_.empty()) {
    plan.add(EnvironmentLayer::kFabric,
             {"HOROVOD_GLOO_IFACE", interface_, "the other nodes reach this one by it",
              "route to node rank 0"});
  }
  plan.add(EnvironmentLayer::kDefault, {"HOROVOD_GLOO_TIMEOUT_SECONDS", "300",
                                        "30 s are short for many nodes", "horovod/horovod#2015"});
  return {};
}

}  // namespace muster::launcher
