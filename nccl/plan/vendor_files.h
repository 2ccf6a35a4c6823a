// VendorFiles: what the maker of a machine or its cloud has put into the file system for NCCL:
// topology files, and shell scripts that export what the installed plugin wants. Muster runs no
// scripts; it reads those that only export plain values.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "nccl/machine/machine.h"

namespace muster::nccl {

inline constexpr size_t kMaxScriptBytes = 64 * 1024;
inline constexpr size_t kMaxTopologyBytes = 512 * 1024;
inline constexpr size_t kMaxTopologyFiles = 64;  ///< looked into

inline constexpr std::string_view kGibScript = "/usr/local/gib/scripts/set_nccl_env.sh";
inline constexpr std::string_view kFastrakScript = "/usr/local/nvidia/lib64/nccl-env-profile.sh";

/// `exports` is what the plain lines say; a line with anything but a plain `export NAME=VALUE`
/// makes the script one that only a shell understands.
struct VendorScript {
  std::string path;  ///< "" = there is none
  std::vector<std::pair<std::string, std::string>> exports;
  int first_odd_line = 0;  ///< 0 = all lines are plain
};
/// Comments, empty lines, and `export NAME=VALUE` (also without `export`) with a value without
/// '$', '`' and spaces, or in quotes. Pure.
[[nodiscard]] VendorScript parse_exports(std::string path, std::string_view text);

struct VendorFiles {
  VendorScript script;          ///< of Google's plugins
  bool has_gib = false;         ///< Google's plugin for RoCE, by its script
  bool has_fastrak = false;     ///< Google's plugin for A3 Mega
  bool has_efa_plugin = false;  ///< aws-ofi-nccl, in the folder of the EFA installer
  /// A topology file of NCCL's that names every GPU of this container; "" = none was found.
  std::string topology_file;
  /// NCCL loads it without being told.
  bool has_virtual_topology = false;
};

[[nodiscard]] VendorFiles read_vendor_files(const Files& files, const Machine& machine);

/// Whether the XML names all these addresses as busid. Pure.
[[nodiscard]] bool names_all(std::string_view topology, const std::vector<std::string>& addresses);

}  // namespace muster::nccl
