#include "base/process/control_groups.h"

#include <algorithm>

#include "base/text.h"

namespace muster {

namespace {

constexpr std::string_view kMount = "/sys/fs/cgroup";
constexpr size_t kMaxCgroupFileBytes = 64 << 10;  // a line for each of a dozen hierarchies

// A path that leads upwards belongs to a group outside our cgroup namespace: it names nothing here.
std::string path_below_mount(std::string_view path) {
  return path == "/" || path.find("/..") != std::string_view::npos ? "" : std::string(path);
}

}  // namespace

// Lines "hierarchy:controller,controller:path"; a path may hold colons. (man 7 cgroups)
Result<std::vector<std::string>> control_group_folders(const Files& files,
                                                       std::string_view controller) {
  const auto text = files.read("/proc/self/cgroup", kMaxCgroupFileBytes);
  if (!text) return Error(text.error());
  std::vector<std::string> first;
  std::vector<std::string> unified;
  for (const std::string_view line : split(*text, '\n')) {
    const size_t name = line.find(':');
    const size_t end = name == line.npos ? line.npos : line.find(':', name + 1);
    if (end == line.npos) continue;
    const auto controllers = split(line.substr(name + 1, end - name - 1), ',');
    const std::string group = path_below_mount(line.substr(end + 1));
    const std::string mount(kMount);
    if (line.substr(0, name) == "0") unified = {mount + group, mount};
    if (std::ranges::find(controllers, controller) == controllers.end()) continue;
    const std::string own = mount + "/" + std::string(controller);
    first = {own + group, own};
  }
  first.insert(first.end(), unified.begin(), unified.end());
  return first;
}

}  // namespace muster
