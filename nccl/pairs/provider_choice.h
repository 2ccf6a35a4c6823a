// ProviderChoice: over which provider of libfabric nodes measure, by what muster-probe has found on
// each of them; and which node cannot take part. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl/plan/finding.h"

namespace muster::nccl {

inline constexpr size_t kMaxToldProviders = 32;  ///< libfabric 2.x has about 20
inline constexpr size_t kMaxProviderBytes = 64;  ///< of a name

/// What a node tells the others of libfabric.
struct NodeProviders {
  bool has_probe = false;               ///< muster-probe is there
  std::vector<std::string> names = {};  ///< as libfabric lists them: "efa", "verbs;ofi_rxm"
};

/// Letters, digits, '_', '-' and ';', at most kMaxProviderBytes.
[[nodiscard]] bool is_provider_name(std::string_view text);

/// One word. Names that are none, and those above kMaxToldProviders, are left out.
[[nodiscard]] std::string encode(const NodeProviders& providers);
/// None: it is no word that encode() has written.
[[nodiscard]] std::optional<NodeProviders> parse_providers(std::string_view word);

/// As muster-probe takes it: by itself, or with ofi_rxm above it.
[[nodiscard]] bool offers(const NodeProviders& node, std::string_view provider);

/// The first of efa, cxi and verbs that all nodes offer; "" = there is none.
[[nodiscard]] std::string choose_provider(const std::vector<NodeProviders>& nodes);

/// Which nodes have no muster-probe (a warning), and which not that provider (an error). `names`:
/// of the nodes, as many as `nodes`. Id: lib_missing. Errors first.
[[nodiscard]] std::vector<Finding> judge_providers(std::string_view provider,
                                                   const std::vector<NodeProviders>& nodes,
                                                   const std::vector<std::string>& names);

}  // namespace muster::nccl
