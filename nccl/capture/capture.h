// Capture: the files of this machine from which another one can be told what it is: what the
// readers of nccl/machine and nccl/plan look at, and of that only what is on a list. Nothing
// secret, and nothing that tells one card from its sisters: serial numbers are not read, UUIDs,
// GUIDs and MAC addresses are replaced by numbers. Host names and IP addresses stay: the plan is
// made from them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "base/interfaces.h"

namespace muster::nccl {

inline constexpr size_t kMaxCapturedFileBytes = 256 * 1024;
inline constexpr size_t kMaxCapturedBytes = 32 << 20;
inline constexpr size_t kMaxCapturedEntries = 200'000;  ///< a large node has some 20,000
inline constexpr size_t kMaxCapturedValueBytes = 1024;  ///< of a variable

struct CapturedEntry {
  enum class Kind { kFile, kLink, kFolder };
  Kind kind = Kind::kFile;
  std::string text;  ///< content, or the target of a link: relative, and inside of the tree
};

struct Capture {
  std::map<std::string, CapturedEntry> entries;  ///< by absolute path, without "." and ".."
  bool is_cut = false;                           ///< a limit was met, and some are missing
};

/// Reads a machine as `muster run`, `muster env` and `muster doctor` do, and keeps what they read.
/// `addresses`: those that the kernel lists, which stand in no file. Empty: `files` are a recorded
/// tree, whose own /addresses and /ulimits are taken; of a living machine those two files are not
/// looked at. Never fails: what cannot be read is left out.
[[nodiscard]] Capture capture_machine(const Files& files, const Environment& environment,
                                      const std::vector<InterfaceAddress>& addresses);

/// Whether a variable may be captured: it belongs to a library that moves data, and its name does
/// not look as if it held a secret. Pure.
[[nodiscard]] bool is_captured_variable(std::string_view name);
/// Whether a file of this absolute path may be. Pure.
[[nodiscard]] bool is_captured_path(std::string_view path);

}  // namespace muster::nccl
