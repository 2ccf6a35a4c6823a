// Grammars of the values of `muster render`: those of Kubernetes' names and quantities, and those
// of the flags that have parts. Pure. Errors are kUsage, without the flag's name and the value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "launcher/render/render_request.h"

namespace muster::launcher {

/// No byte in it that is not UTF-8: YAML cannot carry it.
[[nodiscard]] bool is_utf8(std::string_view text);

/// What a Kubernetes quantity stands for: "500m" is 0.5, "1Ki" is 1024. None: no such, or negative.
/// Source: apimachinery, pkg/api/resource/quantity.go.
[[nodiscard]] std::optional<double> quantity_of(std::string_view text);

Result<std::string> as_any_text(std::string_view text);
/// DNS-1035 label: that of a workload.
Result<std::string> as_workload_name(std::string_view text);
/// DNS-1123 subdomain, at most 253 bytes: those of most objects.
Result<std::string> as_object_name(std::string_view text);
/// DNS-1123 label: those of namespaces, containers and volumes.
Result<std::string> as_dns_label(std::string_view text);
/// Of a container's port.
Result<std::string> as_port_name(std::string_view text);
/// That a namespace can end with, behind "runai-".
Result<std::string> as_project(std::string_view text);
/// [PREFIX/]NAME, as of labels.
Result<std::string> as_label_key(std::string_view text);
Result<std::string> as_label_value(std::string_view text);
/// From the root, and nowhere up again.
[[nodiscard]] bool is_absolute_path(std::string_view text);
/// Absolute, without ':' and "..".
Result<std::string> as_mount_path(std::string_view text);
Result<std::string> as_cpu(std::string_view text);
Result<std::string> as_quantity(std::string_view text);
/// Whole ones, or a share between 0 and 1.
Result<std::string> as_gpus(std::string_view text);
/// A quantity of bytes, in MiB, rounded up.
Result<int64_t> as_mib(std::string_view text);
/// "90", "45s", "1h30m", "30d"; 0 to `most_seconds`.
Result<int64_t> as_seconds(std::string_view text, int64_t most_seconds);
Result<int64_t> as_identity(std::string_view text);  ///< of a user or a group
Result<std::vector<int64_t>> as_identities(std::string_view text);

using TextPair = std::pair<std::string, std::string>;
Result<TextPair> as_label(std::string_view text);       ///< KEY=VALUE
Result<TextPair> as_annotation(std::string_view text);  ///< KEY=VALUE
Result<TextPair> as_secret_key(std::string_view text);  ///< SECRET:KEY
Result<VariableFlag> as_variable(std::string_view text);
Result<VariableFlag> as_secret_variable(std::string_view text);

/// Parts of "KEY=VALUE,KEY=VALUE", each of `keys` at most once.
Result<std::vector<TextPair>> as_fields(std::string_view text,
                                        std::initializer_list<std::string_view> keys);

}  // namespace muster::launcher
