// The flags that a container's launcher was told, on a machine that is not its cluster.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "launcher/manifest/workload.h"
#include "launcher/options/flags.h"

namespace muster::launcher {

/// A command with its place in a manifest.
struct PlacedCommand {
  const RawFlags& command;  ///< container_command.h
  std::string place;        ///< "FILE: PATH" of the container
};

/// Adds to `raw` those that mean something here, below all that is there. Returns the others, as
/// "--report trainjob". A number of workers that only counts what the pod has is that of
/// `workload`.
std::vector<std::string> add_container_flags(RawFlags& raw, const PlacedCommand& placed,
                                             const Workload& workload, const Files& files);

/// The launcher reads the variable `name` as a flag.
[[nodiscard]] bool is_read_as_flag(const RawFlags& command, std::string_view name);

}  // namespace muster::launcher
