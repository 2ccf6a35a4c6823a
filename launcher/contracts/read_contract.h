// The table of controllers: in which order they are looked for, and what marks each.
// docs/reference/contracts.md is made from it.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "launcher/contracts/contract.h"

namespace muster::launcher {

struct ContractRow {
  std::string_view name;  ///< of --contract; several rows may bear one
  std::string_view controller;
  std::string_view marks;  ///< by what a pod of it is known
  std::optional<Contract> (*read)(const PodFacts&);
};

/// In the order in which they are asked: who leaves the clearest mark comes first.
[[nodiscard]] std::span<const ContractRow> contract_rows();

/// The contract of this pod, by the first row that recognises it; none = no controller known here,
/// or this process is a worker that Muster or an MPI started already. `wanted`: of --contract,
/// "auto" or a row's name. kConfig: a name, and the pod has none of its marks.
[[nodiscard]] Result<std::optional<Contract>> read_contract(const PodFacts& pod,
                                                            std::string_view wanted = "auto");

}  // namespace muster::launcher
