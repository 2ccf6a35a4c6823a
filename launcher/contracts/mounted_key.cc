#include "launcher/contracts/mounted_key.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace muster::launcher {

namespace {

constexpr const char* kMountInfo = "/proc/self/mountinfo";
constexpr std::string_view kKey = "/id_rsa";
constexpr std::string_view kCompanions[] = {"/id_rsa.pub", "/authorized_keys"};
constexpr size_t kMountPointWord = 4;  // of a line; proc(5)
constexpr std::string_view kMemory = "tmpfs";

// "36 35 0:3 / /root/.ssh ro,relatime shared:1 - tmpfs tmpfs rw": the type is the word behind "-".
// Spaces in a path are written as \040; such a folder is none of a controller's.
std::string_view memory_mount(std::string_view line) {
  const auto words = split(line, ' ');
  const auto dash = std::find(words.begin(), words.end(), "-");
  const bool whole = words.size() > kMountPointWord && words.end() - dash > 1;
  return whole && dash[1] == kMemory ? words[kMountPointWord] : std::string_view{};
}

bool holds_key(const Files& files, const std::string& folder) {
  return files.exists(folder + std::string(kKey)) &&
         std::all_of(std::begin(kCompanions), std::end(kCompanions), [&](std::string_view name) {
           return files.exists(folder + std::string(name));
         });
}

}  // namespace

std::string find_mounted_key(const Files& files) {
  const auto mounts = files.read(kMountInfo, kMaxMountInfoBytes);
  if (!mounts) return "";
  std::set<std::string> folders;  // in an order that is the same in every pod
  for (const std::string_view line : split(*mounts, '\n')) {
    std::string_view folder = memory_mount(line);
    if (folder.ends_with(kKey)) folder.remove_suffix(kKey.size());  // subPath: a mount per file
    if (!folder.empty()) folders.emplace(folder);
  }
  const auto found = std::find_if(folders.begin(), folders.end(), [&files](const auto& folder) {
    return holds_key(files, folder);
  });
  return found == folders.end() ? "" : *found + std::string(kKey);
}

}  // namespace muster::launcher
