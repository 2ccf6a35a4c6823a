#include "mpi/ssh/ssh_banner.h"

namespace muster::mpi {

std::optional<bool> is_ssh_banner(std::string_view bytes) {
  const bool is_full = bytes.size() > kMaxSshBannerBytes;
  for (;;) {
    if (bytes.starts_with("SSH-")) return true;
    const size_t end = bytes.find('\n');
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + 1);
  }
  return is_full ? std::optional(false) : std::nullopt;
}

}  // namespace muster::mpi
