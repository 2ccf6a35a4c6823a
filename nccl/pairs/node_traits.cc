#include "nccl/pairs/node_traits.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace muster::nccl {
namespace {

// NCCL user guide, "Environment Variables": those by which the ranks of a communicator choose ways,
// algorithms and buffers, each for itself. Gloo: a transport with TLS speaks to no other.
constexpr std::string_view kAgreed[] = {"NCCL_ALGO",
                                        "NCCL_PROTO",
                                        "NCCL_NET",
                                        "NCCL_NET_PLUGIN",
                                        "NCCL_TUNER_PLUGIN",
                                        "NCCL_MIN_NCHANNELS",
                                        "NCCL_MAX_NCHANNELS",
                                        "NCCL_MIN_CTAS",
                                        "NCCL_MAX_CTAS",
                                        "NCCL_BUFFSIZE",
                                        "NCCL_P2P_NET_CHUNKSIZE",
                                        "NCCL_P2P_PCI_CHUNKSIZE",
                                        "NCCL_P2P_NVL_CHUNKSIZE",
                                        "NCCL_NVLS_ENABLE",
                                        "NCCL_NVLS_CHUNKSIZE",
                                        "NCCL_NVLS_NCHANNELS",
                                        "NCCL_NVLSTREE_MAX_CHUNKSIZE",
                                        "NCCL_CROSS_NIC",
                                        "NCCL_IB_MERGE_NICS",
                                        "NCCL_IB_MERGE_VFS",
                                        "NCCL_NETDEVS_POLICY",
                                        "NCCL_P2P_LEVEL",
                                        "NCCL_NET_GDR_LEVEL",
                                        "NCCL_COLLNET_ENABLE",
                                        "NCCL_CUMEM_ENABLE",
                                        "NCCL_MNNVL_ENABLE",
                                        "NCCL_SOCKET_MAGIC",
                                        "GLOO_DEVICE_TRANSPORT"};

// FNV-1a of 64 bits: tells values apart, and is the same on every node.
std::string digest(std::string_view text) {
  uint64_t value = 14'695'981'039'346'656'037U;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 1'099'511'628'211U;
  return fmt::format("{:016x}", value);
}

// Which nodes have the same, the most first. A node that has nothing to say is in none.
using Groups = std::vector<std::vector<size_t>>;

template <typename ValueOf>
Groups groups_of(const std::vector<NodeTraits>& traits, const ValueOf& value_of) {
  std::map<std::string, std::vector<size_t>> by_value;
  for (size_t node = 0; node < traits.size(); ++node) {
    if (const auto value = value_of(traits[node])) by_value[*value].push_back(node);
  }
  Groups groups;
  for (auto& [value, nodes] : by_value) groups.push_back(std::move(nodes));
  std::ranges::stable_sort(
      groups, [](const auto& left, const auto& right) { return left.size() > right.size(); });
  return groups;
}

bool has_most(const Groups& groups) {
  return groups.size() > 1 && groups[0].size() > groups[1].size();
}

std::string shown(const std::vector<std::string>& names) {
  constexpr size_t kShown = 8;
  if (names.size() <= kShown) return join(names, ", ");
  const std::vector<std::string> first(names.begin(), names.begin() + kShown);
  return join(first, ", ") + fmt::format(" and {} more", names.size() - kShown);
}

std::string names_of(const std::vector<size_t>& nodes, const std::vector<std::string>& names) {
  std::vector<std::string> chosen;
  for (const size_t node : nodes) chosen.push_back(names[node]);
  return shown(chosen);
}

struct VersionRow {
  std::string NodeTraits::*field;
  std::string_view what;
  std::string_view id;
  Severity severity;
};
constexpr VersionRow kVersions[] = {
    {&NodeTraits::nccl, "NCCL", "nccl_version", Severity::kError},
    {&NodeTraits::libfabric, "libfabric", "nccl_version", Severity::kWarning},
    {&NodeTraits::muster, "Muster", "nccl_version", Severity::kWarning},
    {&NodeTraits::driver, "the GPU driver", "cuda_driver", Severity::kWarning},
};

std::vector<Finding> judge_version(const VersionRow& row, const std::vector<NodeTraits>& traits,
                                   const std::vector<std::string>& names) {
  const Groups groups = groups_of(traits, [&row](const NodeTraits& node) {
    const std::string& version = node.*row.field;
    return version.empty() ? std::nullopt : std::optional(version);
  });
  if (groups.size() < 2) return {};
  std::vector<std::string> parts;
  // Those first who are not like most.
  for (size_t i = has_most(groups) ? 1 : 0; i < groups.size(); ++i) {
    parts.push_back(fmt::format("{}: {} {}", names_of(groups[i], names), row.what,
                                traits[groups[i].front()].*row.field));
  }
  if (has_most(groups)) {
    parts.push_back(fmt::format("{}: {}", counted(groups[0].size(), "node", "nodes"),
                                traits[groups[0].front()].*row.field));
  }
  return {{std::string(row.id), row.severity, join(parts, "; "),
           "start all nodes from the same image, on nodes with the same driver"}};
}

// By node, so that one which was started with another environment is told of once.
std::vector<Finding> judge_settings(const std::vector<NodeTraits>& traits,
                                    const std::vector<std::string>& names) {
  std::set<std::string> all;
  for (const NodeTraits& node : traits) {
    for (const auto& [name, value] : node.settings) all.insert(name);
  }
  std::map<std::vector<size_t>, std::vector<std::string>> differing;  // nodes -> settings
  std::vector<std::string> undecided;
  for (const std::string& name : all) {
    const Groups groups = groups_of(traits, [&name](const NodeTraits& node) {
      const auto found = node.settings.find(name);
      return std::optional(found == node.settings.end() ? "" : found->second);
    });
    if (groups.size() < 2) continue;
    if (!has_most(groups)) {
      undecided.push_back(name);
      continue;
    }
    std::vector<size_t> others;
    for (size_t i = 1; i < groups.size(); ++i)
      others.insert(others.end(), groups[i].begin(), groups[i].end());
    std::ranges::sort(others);
    differing[others].push_back(name);
  }
  const std::string remedy = "give all nodes the same, or none";
  std::vector<Finding> findings;
  for (const auto& [nodes, settings] : differing) {
    findings.push_back({"env_conflict", Severity::kError,
                        fmt::format("{}: not the same as on most nodes: {}. All ranks must have "
                                    "the same, else a job may fail or hang",
                                    names_of(nodes, names), shown(settings)),
                        remedy});
  }
  if (!undecided.empty()) {
    findings.push_back({"env_conflict", Severity::kError,
                        fmt::format("not the same on all nodes, and no value is that of most: {}. "
                                    "All ranks must have the same, else a job may fail or hang",
                                    shown(undecided)),
                        remedy});
  }
  return findings;
}

std::string text_of(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? one_line(found->get<std::string>()) : "";
}

}  // namespace

std::map<std::string, std::string> agreed_settings(const Settings& settings,
                                                   const std::vector<PlannedVariable>& planned) {
  std::map<std::string, std::string> agreed;
  for (const std::string_view name : kAgreed) {
    if (const Setting* setting = settings.find(name)) {
      agreed[std::string(name)] = digest(setting->value);
      continue;
    }
    const auto found = std::ranges::find(planned, name, &PlannedVariable::name);
    if (found != planned.end() && found->value) agreed[std::string(name)] = digest(*found->value);
  }
  return agreed;
}

std::string encode(const NodeTraits& traits) {
  return dump_json({{"muster", traits.muster},
                    {"driver", traits.driver},
                    {"nccl", traits.nccl},
                    {"libfabric", traits.libfabric},
                    {"settings", traits.settings}});
}

Result<NodeTraits> parse_traits(std::string_view text) {
  const Error wrong{Code::kProtocol, 0, "what a node tells of itself is not readable"};
  const auto json = parse_json(text, kMaxTraitsBytes);
  if (!json) return json.error().code == Code::kLimit ? json.error() : wrong;
  const auto settings = json->is_object() ? json->find("settings") : json->end();
  if (settings == json->end() || !settings->is_object()) return wrong;
  NodeTraits traits{.muster = text_of(*json, "muster"),
                    .driver = text_of(*json, "driver"),
                    .nccl = text_of(*json, "nccl"),
                    .libfabric = text_of(*json, "libfabric"),
                    .settings = {}};
  for (const auto& [name, value] : settings->items()) {
    if (!value.is_string()) return wrong;
    traits.settings[one_line(name)] = value.get<std::string>();
  }
  return traits;
}

std::vector<Finding> judge_traits(const std::vector<NodeTraits>& traits,
                                  const std::vector<std::string>& names) {
  std::vector<Finding> findings = judge_settings(traits, names);
  for (const VersionRow& row : kVersions) {
    for (Finding& finding : judge_version(row, traits, names))
      findings.push_back(std::move(finding));
  }
  std::ranges::stable_sort(findings, std::ranges::greater(), &Finding::severity);
  return findings;
}

}  // namespace muster::nccl
