// Settings: what is set already of the libraries' variables, by the environment of the pod or by
// NCCL's configuration files, and where. Whatever stands here counts as the user's own word. NCCL
// puts lines of its files into the environment if the name is not set there: a variable that Muster
// exports would beat them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/files.h"

namespace muster::nccl {

/// What NCCL reads of one line and of the two parts of it (param.cc, NCCL 2.30).
inline constexpr size_t kMaxConfLineBytes = 4096;
inline constexpr size_t kMaxConfPartBytes = 1023;
inline constexpr size_t kMaxConfFileBytes = 256 * 1024;  ///< larger ones are left alone
inline constexpr size_t kMaxConfLines = 4096;

inline constexpr std::string_view kEnvironmentSource = "environment";

struct Setting {
  std::string value;
  std::string source;  ///< kEnvironmentSource, or the path of the file
  [[nodiscard]] bool is_in_file() const { return source != kEnvironmentSource; }
};

class Settings {
 public:
  /// The first word counts: a name that is there stays as it is.
  void add(std::string name, Setting setting);
  /// Null: not set. An empty value is a setting.
  [[nodiscard]] const Setting* find(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  [[nodiscard]] const std::map<std::string, Setting, std::less<>>& all() const { return settings_; }

 private:
  std::map<std::string, Setting, std::less<>> settings_;
};

/// The whole environment, and behind it the files that NCCL reads, in its order: $NCCL_CONF_FILE
/// or, if that is unset or empty, ~/.nccl.conf; then /etc/nccl.conf. `rocm`: RCCL's names of the
/// two files, too. A file that cannot be read is none, as for NCCL.
/// Source: NCCL user guide, "Environment Variables"; RCCL documentation, "Environment variables".
[[nodiscard]] Settings read_settings(const Files& files, const Environment& environment, bool rocm);

/// Names and values by NCCL's rules: '#' in the first column is a comment, the line is parted at
/// its first '=', nothing is trimmed, unquoted or expanded; what is longer than kMaxConfPartBytes
/// is cut. Lines without '=' and with an empty name are skipped. Pure.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> parse_nccl_conf(
    std::string_view text);

}  // namespace muster::nccl
