#include "launcher/frameworks/temporary_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

namespace muster::launcher {

Result<TemporaryFolder> TemporaryFolder::create(std::string path) {
  if (mkdir(path.c_str(), S_IRWXU) != 0) return os_error("mkdir '" + path + "'");
  return TemporaryFolder(std::move(path));
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

TemporaryFolder& TemporaryFolder::operator=(TemporaryFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

TemporaryFolder::~TemporaryFolder() {
  if (path_.empty()) return;
  // What cannot be removed stays; nobody is left to tell.
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Result<std::string> TemporaryFolder::link(const std::string& name,
                                          const std::string& target) const {
  std::string path = path_ + "/" + name;
  if (symlink(target.c_str(), path.c_str()) != 0) return os_error("symlink '" + path + "'");
  return path;
}

}  // namespace muster::launcher
