#include "launcher/rank/rank_network.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "mpi/rank/rank_variables.h"

namespace muster::launcher {

std::string encode_network(const std::vector<PlannedVariable>& variables) {
  nlohmann::json json = nlohmann::json::object();
  for (const PlannedVariable& variable : variables) {
    if (variable.value) json[variable.name] = *variable.value;
  }
  return dump_json(json);
}

Result<Environment> with_network(const Environment& rank) {
  const auto text = rank.get(mpi::kLauncherNetworkVariable);
  if (!text || rank.has(mpi::kRankNodeVariable)) return rank;
  const auto wrong = [](const std::string& why) {
    return Error{Code::kConfig, 0, std::string(mpi::kLauncherNetworkVariable) + ": " + why};
  };
  const auto json = parse_json(*text);
  if (!json) return wrong(json.error().text);
  if (!json->is_object()) return wrong("no object");
  Environment environment = rank;
  for (const auto& [name, value] : json->items()) {
    if (!value.is_string()) return wrong("'" + name + "' is no text");
    if (!environment.has(name)) environment.set(name, value.get<std::string>());
  }
  return environment;
}

}  // namespace muster::launcher
