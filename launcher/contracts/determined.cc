#include "launcher/contracts/determined.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"

namespace muster::launcher {

namespace {

constexpr const char* kFile = "/run/determined/info/rendezvous.json";
constexpr std::string_view kTrial = "DET_TRIAL_ID";

}  // namespace

std::optional<Contract> read_determined(const PodFacts& pod) {
  if (!pod.environment.has("DET_ALLOCATION_ID") || !pod.environment.has("DET_MASTER"))
    return std::nullopt;
  // A notebook, a shell and a command are one container each, and meet nobody.
  if (!pod.environment.has(kTrial) && !pod.files.exists(kFile)) return std::nullopt;
  Contract contract;
  contract.controller = "Determined";
  contract.job = pod.environment.has(kTrial) ? "trial-" + text_of(pod, kTrial) : "";
  const auto text = pod.files.read(kFile);
  const auto info = parse_json(text ? *text : "");
  const bool is_object = info && info->is_object();
  const auto field = [&](const char* name) {
    return is_object ? info->value(name, nlohmann::json()) : nlohmann::json();
  };
  const nlohmann::json addresses = field("container_addrs");
  const nlohmann::json rank = field("container_rank");
  const nlohmann::json slots = field("container_slot_counts");
  const auto hosts = texts_in(addresses);
  const bool has_rank = rank.is_number_unsigned() && rank.get<size_t>() < hosts.size();
  if (!has_rank) {
    lack(contract, flag::kNnodes,
         text ? std::string(kFile) + " does not say the containers and which one this is"
              : text.error().text);
    return contract;
  }
  const auto own = rank.get<size_t>();
  say_hosts(contract, hosts, 0, kFile);
  say(contract, flag::kNodeRank, std::to_string(own), kFile);
  const bool has_slots = slots.is_array() && own < slots.size() && slots[own].is_number_unsigned();
  if (has_slots && slots[own].get<uint64_t>() > 0)
    say(contract, flag::kNprocPerNode, std::to_string(slots[own].get<uint64_t>()), kFile);
  return contract;
}

}  // namespace muster::launcher
