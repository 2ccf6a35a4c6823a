// SiteProfile: what belongs to the switches of a site and no machine can tell: traffic class,
// service level, adaptive routing. The administrator writes it; Muster never guesses it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"

namespace muster::nccl {

inline constexpr size_t kMaxProfileBytes = 64 * 1024;
inline constexpr size_t kMaxProfileLines = 512;
inline constexpr std::string_view kProfilePath = "/etc/muster/fabric.conf";

struct ProfileLine {
  std::string name;
  std::string value;
  std::string reason;  ///< the comment above it; "" = none
};

struct SiteProfile {
  std::string path;  ///< "" = there is none
  std::vector<ProfileLine> lines;
};

/// `NAME=VALUE` a line; white space around the two parts does not count; '#' begins a line of
/// comment, and the comment directly above a line is its reason. Only names of libraries that move
/// data: NCCL_, RCCL_, TORCH_NCCL_, UCX_, FI_, OFI_NCCL_, OMPI_MCA_, PRTE_MCA_, GLOO_, HSA_,
/// IONIC_. kConfig names the line: no '=', another name, a name twice, too many lines.
Result<SiteProfile> parse_profile(std::string path, std::string_view text);

/// The file that the user names, or kProfilePath if `path` is "". kConfig: a named file that cannot
/// be read, and parse_profile()'s.
Result<SiteProfile> read_profile(const Files& files, const std::string& path);

}  // namespace muster::nccl
