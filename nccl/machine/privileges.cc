#include "nccl/machine/privileges.h"

#include <charconv>
#include <string>
#include <string_view>

#include "base/text.h"
#include "nccl/machine/sysfs.h"

namespace muster::nccl {
namespace {

std::optional<uint64_t> parse_set(std::optional<std::string_view> text) {
  uint64_t bits = 0;
  if (!text || text->empty()) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), bits, 16);
  if (error != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return bits;
}

// One line that maps every id to itself.
bool maps_everything(std::string_view uid_map) {
  const auto words = words_of(uid_map);
  return words.size() == 3 && words[0] == "0" && words[1] == "0" && words[2] == "4294967295";
}

}  // namespace

Privileges read_privileges(const Files& files) {
  Privileges privileges;
  if (const auto status = files.read("/proc/self/status", 64 * 1024)) {
    privileges.effective = parse_set(line_value(*status, "CapEff"));
    privileges.bounding = parse_set(line_value(*status, "CapBnd"));
    // Real, effective, saved and of the file system.
    const auto users = words_of(line_value(*status, "Uid").value_or(""));
    if (users.size() > 1) privileges.user = parse_integer(users[1]);
  }
  if (const auto map = read_attribute(files, "/proc/self/uid_map"))
    privileges.is_initial_user_namespace = maps_everything(*map);
  return privileges;
}

bool may_lock_all(const Privileges& privileges) {
  return has_capability(privileges.effective, kIpcLock) &&
         privileges.is_initial_user_namespace.value_or(false);
}

bool has_capability(const std::optional<uint64_t>& set, int capability) {
  return set && (*set >> capability & 1U) != 0;
}

}  // namespace muster::nccl
