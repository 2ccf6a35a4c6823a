#include "nccl/plan/settings.h"

#include <algorithm>

#include "base/text.h"

namespace muster::nccl {
namespace {

void add_file(const Files& files, const std::string& path, Settings& settings) {
  const auto text = files.read(path, kMaxConfFileBytes);
  if (!text) return;
  for (auto& [name, value] : parse_nccl_conf(*text))
    settings.add(std::move(name), {std::move(value), path});
}

}  // namespace

void Settings::add(std::string name, Setting setting) {
  settings_.emplace(std::move(name), std::move(setting));
}

const Setting* Settings::find(std::string_view name) const {
  const auto found = settings_.find(name);
  return found == settings_.end() ? nullptr : &found->second;
}

std::vector<std::pair<std::string, std::string>> parse_nccl_conf(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (std::string_view line : split(text, '\n')) {
    if (entries.size() == kMaxConfLines) break;
    line = line.substr(0, kMaxConfLineBytes);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with('#')) continue;
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    // A NUL would end what the environment holds.
    if (line.find('\0') != std::string_view::npos) continue;
    entries.emplace_back(line.substr(0, std::min(equals, kMaxConfPartBytes)),
                         line.substr(equals + 1, kMaxConfPartBytes));
  }
  return entries;
}

Settings read_settings(const Files& files, const Environment& environment, bool rocm) {
  Settings settings;
  for (const auto& [name, value] : environment.variables())
    settings.add(name, {value, std::string(kEnvironmentSource)});
  const std::string named(environment.get("NCCL_CONF_FILE").value_or(""));
  const std::string home(environment.get("HOME").value_or(""));
  if (!named.empty()) {
    add_file(files, named, settings);
  } else if (!home.empty()) {
    add_file(files, home + "/.nccl.conf", settings);
  }
  if (rocm && !home.empty()) add_file(files, home + "/.rccl.conf", settings);
  add_file(files, "/etc/nccl.conf", settings);
  if (rocm) add_file(files, "/etc/rccl.conf", settings);
  return settings;
}

}  // namespace muster::nccl
