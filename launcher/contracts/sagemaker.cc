#include "launcher/contracts/sagemaker.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"

namespace muster::launcher {

namespace {

constexpr const char* kConfig = "/opt/ml/input/config/resourceconfig.json";
constexpr const char* kFailure = "/opt/ml/output/failure";
constexpr std::string_view kHosts = "SM_HOSTS";
constexpr std::string_view kOwnHost = "SM_CURRENT_HOST";
constexpr const char* kOwnKey = "current_host";  // of the file
constexpr std::string_view kGpus = "SM_NUM_GPUS";
constexpr int kToolkitPort = 7777;

struct Hosts {
  std::vector<std::string> names;
  std::string own;
  std::string source;
  std::string own_source;
};

// The file is SageMaker's, the variables are its toolkit's, which not every image has.
Hosts read_hosts(const PodFacts& pod) {
  if (const auto text = pod.files.read(kConfig)) {
    const auto config = parse_json(*text);
    const std::string own_source = std::string(kOwnKey) + " of " + kConfig;
    if (!config || !config->is_object()) return {{}, "", kConfig, own_source};
    const auto own = config->find(kOwnKey);
    const bool named = own != config->end() && own->is_string();
    return {texts_in(config->value("hosts", nlohmann::json())),
            named ? own->get<std::string>() : "", kConfig, own_source};
  }
  const auto list = parse_json(text_of(pod, kHosts));
  return {list ? texts_in(*list) : std::vector<std::string>(), text_of(pod, kOwnHost),
          std::string(kHosts), std::string(kOwnHost)};
}

}  // namespace

std::optional<Contract> read_sagemaker(const PodFacts& pod) {
  const bool is_marked = pod.environment.has("TRAINING_JOB_NAME") && pod.environment.has(kHosts);
  if (!is_marked && !pod.files.exists(kConfig)) return std::nullopt;
  const Hosts hosts = read_hosts(pod);
  Contract contract;
  contract.controller = "SageMaker";
  contract.recognised_by = hosts.source;
  contract.job = text_of(pod, "TRAINING_JOB_NAME");
  say(contract, flag::kTerminationLog, kFailure, hosts.source);
  if (const auto gpus = number_of(pod, kGpus); gpus && *gpus > 0)
    say(contract, flag::kNprocPerNode, std::to_string(*gpus), kGpus);
  if (hosts.names.empty()) {
    lack(contract, flag::kNnodes, hosts.source + " lists no hosts");
    return contract;
  }
  say_hosts(contract, hosts.names, kToolkitPort, hosts.source);
  const auto own = std::ranges::find(hosts.names, hosts.own);
  if (own != hosts.names.end()) {
    say(contract, flag::kNodeRank, std::to_string(own - hosts.names.begin()), hosts.source);
  } else if (hosts.own.empty()) {
    lack(contract, flag::kNodeRank, hosts.own_source + " is not set");
  } else {
    contradict(contract, flag::kNodeRank,
               hosts.source + " does not list its own host '" + hosts.own + "'");
  }
  return contract;
}

}  // namespace muster::launcher
