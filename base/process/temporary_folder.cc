#include "base/process/temporary_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/fd.h"

namespace muster {

TemporaryPlace find_temporary_place(const Files& files, const Environment& environment) {
  const std::string given(environment.get("TMPDIR").value_or(""));
  const std::string wanted = given.empty() ? "/tmp" : absolute_path(given).value_or(given);
  const Status usable = files.check_writable_directory(wanted);
  if (usable) return {wanted, ""};
  const std::string problem = given.empty() ? "" : "TMPDIR: " + usable.error().text;
  for (const char* folder : {"/tmp", "/var/tmp", "/dev/shm"}) {
    if (files.check_writable_directory(folder)) return {folder, problem};
  }
  return {wanted, ""};
}

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

void TemporaryFolder::clear() const {
  std::error_code ignored;
  std::filesystem::directory_iterator entry(path_, ignored);
  for (; !ignored && entry != std::filesystem::directory_iterator(); entry.increment(ignored)) {
    std::error_code stays;
    std::filesystem::remove_all(entry->path(), stays);
  }
}

Result<std::string> TemporaryFolder::link(const std::string& name,
                                          const std::string& target) const {
  std::string path = path_ + "/" + name;
  if (symlink(target.c_str(), path.c_str()) != 0) return os_error("symlink '" + path + "'");
  return path;
}

Result<std::string> TemporaryFolder::put(const std::string& name, std::string_view bytes) const {
  std::string path = path_ + "/" + name;
  const std::string fresh = path + ".new";
  const UniqueFd file(open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file.is_open()) return os_error("open '" + fresh + "'");
  const ssize_t written = write(file.get(), bytes.data(), bytes.size());
  if (written < 0) return os_error("write '" + fresh + "'");
  // A file system that takes a part has no room for the rest.
  if (static_cast<size_t>(written) != bytes.size())
    return os_error("write '" + fresh + "'", ENOSPC);
  if (rename(fresh.c_str(), path.c_str()) != 0) return os_error("rename '" + path + "'");
  return path;
}

}  // namespace muster
