#include "nccl/pairs/provider_choice.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace muster::nccl {
namespace {

constexpr std::string_view kNoProbe = "-";
constexpr char kProbe = '+';  // and the names, with commas between them

// "a, b and 3 more".
std::string shown(std::vector<std::string> names) {
  constexpr size_t kShown = 8;
  if (names.size() <= kShown) return join(names, ", ");
  const size_t more = names.size() - kShown;
  names.resize(kShown);
  return join(names, ", ") + fmt::format(" and {} more", more);
}

}  // namespace

bool is_provider_name(std::string_view text) {
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == ';';
  };
  return !text.empty() && text.size() <= kMaxProviderBytes && std::ranges::all_of(text, is_part);
}

std::string encode(const NodeProviders& providers) {
  if (!providers.has_probe) return std::string(kNoProbe);
  std::vector<std::string> names;
  for (const std::string& name : providers.names)
    if (is_provider_name(name) && names.size() < kMaxToldProviders) names.push_back(name);
  return kProbe + join(names, ",");
}

std::optional<NodeProviders> parse_providers(std::string_view word) {
  if (word == kNoProbe) return NodeProviders{};
  if (!word.starts_with(kProbe)) return std::nullopt;
  NodeProviders providers{.has_probe = true};
  word.remove_prefix(1);
  if (word.empty()) return providers;
  for (const std::string_view name : split(word, ',')) {
    if (!is_provider_name(name) || providers.names.size() == kMaxToldProviders) return std::nullopt;
    providers.names.emplace_back(name);
  }
  return providers;
}

bool offers(const NodeProviders& node, std::string_view provider) {
  const std::string with_messages = std::string(provider) + ";ofi_rxm";
  return std::ranges::any_of(node.names, [&](const std::string& name) {
    // By its plain name verbs has datagrams alone.
    return name == with_messages || (name == provider && provider != "verbs");
  });
}

std::string choose_provider(const std::vector<NodeProviders>& nodes) {
  constexpr std::array<std::string_view, 3> kOfFabrics{"efa", "cxi", "verbs"};
  for (const std::string_view provider : kOfFabrics) {
    const auto has_it = [provider](const NodeProviders& node) { return offers(node, provider); };
    if (!nodes.empty() && std::ranges::all_of(nodes, has_it)) return std::string(provider);
  }
  return "";
}

std::vector<Finding> judge_providers(std::string_view provider,
                                     const std::vector<NodeProviders>& nodes,
                                     const std::vector<std::string>& names) {
  std::vector<std::string> without_provider;
  std::vector<std::string> without_probe;
  for (size_t node = 0; node < nodes.size(); ++node) {
    if (!nodes[node].has_probe) {
      without_probe.push_back(names[node]);
    } else if (!offers(nodes[node], provider)) {
      without_provider.push_back(names[node]);
    }
  }
  std::vector<Finding> findings;
  if (!without_provider.empty()) {
    findings.push_back(
        {"lib_missing", Severity::kError,
         fmt::format("{}: libfabric offers no {}, so nothing was measured over it",
                     shown(without_provider), provider),
         "install a libfabric that has it; muster-probe fabric shows what there is"});
  }
  if (!without_probe.empty()) {
    findings.push_back({"lib_missing", Severity::kWarning,
                        fmt::format("{}: no muster-probe, so nothing was measured over {}",
                                    shown(without_probe), provider),
                        "put muster-probe beside muster there, or on PATH"});
  }
  return findings;
}

}  // namespace muster::nccl
