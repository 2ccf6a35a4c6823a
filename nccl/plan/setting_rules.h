// SettingRules: settings of the user that cannot work, or that harm: read by a library otherwise
// than they look, matching nothing here, excluding each other, advice of older versions. Each is
// reported; none is changed. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "nccl/machine/machine.h"
#include "nccl/plan/finding.h"
#include "nccl/plan/settings.h"

namespace muster::nccl {

/// In the order of the rules. Nothing for settings that are fine.
/// Source: nccl-env.html (NCCL 2.30), fi_efa(7) (libfabric 2.x), UCX and Open MPI documentation.
[[nodiscard]] std::vector<Finding> check_settings(const Settings& settings, const Machine& machine,
                                                  bool has_many_nodes);

/// As NCCL reads an integer: strtoll() with base 0; what does not begin with a number is 0. Pure.
[[nodiscard]] int64_t read_as_nccl(std::string_view text);
/// Whether all of `text` is such a number, or it is empty (the default).
[[nodiscard]] bool is_nccl_integer(std::string_view text);

}  // namespace muster::nccl
