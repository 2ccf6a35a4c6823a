#include "base/recorded_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <memory>

#include "base/text.h"

namespace muster {
namespace {

constexpr size_t kMaxFolderEntries = 100'000;
constexpr int kMaxTries = 10'000;

Error no_such_call(std::string_view call, const std::string& path, int os_errno) {
  return os_error(std::string(call) + " '" + path + "' in a recorded machine", os_errno);
}

std::string below(const std::string& path) {
  const size_t first = path.find_first_not_of('/');
  return first == std::string::npos ? "." : path.substr(first);
}

}  // namespace

Result<RecordedFiles> RecordedFiles::open(const std::string& folder) {
  UniqueFd root(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.is_open()) {
    Error error = os_error("open '" + folder + "'");
    error.code = Code::kConfig;
    return error;
  }
  RecordedFiles files(std::move(root));
  // A kernel, or a container's filter, that does not know the call would make it an empty machine.
  if (const auto inside = files.open_below("/", O_PATH | O_DIRECTORY); !inside)
    return Error(inside.error()).with_context("openat2");
  return files;
}

Result<UniqueFd> RecordedFiles::open_below(const std::string& path, int flags) const {
  open_how how{};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const std::string relative = below(path);
  int fd = -1;
  // While anybody on the machine renames or mounts, the kernel cannot tell where ".." leads, and
  // asks to be asked again (openat2(2), EAGAIN).
  for (int i = 0; i < kMaxTries; ++i) {
    fd = static_cast<int>(syscall(SYS_openat2, root_.get(), relative.c_str(), &how, sizeof how));
    if (fd >= 0 || errno != EAGAIN) break;
  }
  if (fd < 0) return os_error("open '" + path + "'");
  return UniqueFd(fd);
}

Result<std::string> RecordedFiles::read(const std::string& path, size_t limit_bytes) const {
  const auto fd = open_below(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!fd) return Error(fd.error());
  struct stat file {};
  if (fstat(fd->get(), &file) != 0) return os_error("fstat '" + path + "'");
  if (S_ISDIR(file.st_mode)) return os_error("read '" + path + "'", EISDIR);
  if (!S_ISREG(file.st_mode))
    return Error{Code::kOs, EINVAL, "read '" + path + "': it is no regular file"};
  const auto too_large = [&] {
    return Error{Code::kLimit, 0,
                 "read '" + path + "': more than " + std::to_string(limit_bytes) + " bytes"};
  };
  if (file.st_size > 0 && static_cast<uint64_t>(file.st_size) > limit_bytes) return too_large();
  std::string content;
  char chunk[4096];
  for (;;) {
    const ssize_t got = ::read(fd->get(), chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_error("read '" + path + "'");
    if (got == 0) return content;
    content.append(chunk, static_cast<size_t>(got));
    if (content.size() > limit_bytes) return too_large();
    if (std::cmp_equal(content.size(), file.st_size)) return content;
  }
}

Result<std::vector<std::string>> RecordedFiles::list(const std::string& path) const {
  auto fd = open_below(path, O_RDONLY | O_DIRECTORY);
  if (!fd) return Error(fd.error());
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(fdopendir(fd->get()), closedir);
  if (directory == nullptr) return os_error("fdopendir '" + path + "'");
  (void)fd->release();  // closedir() closes it
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = readdir(directory.get())) {
    const std::string_view name(entry->d_name);
    if (name == "." || name == "..") continue;
    if (names.size() == kMaxFolderEntries) {
      return Error{
          Code::kLimit, 0,
          "readdir '" + path + "': more than " + std::to_string(kMaxFolderEntries) + " entries"};
    }
    names.emplace_back(name);
  }
  if (errno != 0) return os_error("readdir '" + path + "'");
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> RecordedFiles::link_target(const std::string& path) const {
  const auto fd = open_below(path, O_PATH | O_NOFOLLOW);
  if (!fd) return Error(fd.error());
  char target[PATH_MAX];
  // Of the link itself that the descriptor stands for.
  const ssize_t length = readlinkat(fd->get(), "", target, sizeof target);
  if (length < 0) return os_error("readlink '" + path + "'", errno == ENOENT ? EINVAL : errno);
  return std::string(target, static_cast<size_t>(length));
}

bool RecordedFiles::is_directory(const std::string& path) const {
  return open_below(path, O_PATH | O_DIRECTORY).has_value();
}

bool RecordedFiles::exists(const std::string& path) const {
  return open_below(path, O_PATH).has_value();
}

Result<std::string> RecordedFiles::read_private(const std::string& path, size_t limit_bytes) const {
  return read(path, limit_bytes);
}

Status RecordedFiles::check_executable(const std::string& path) const {
  return no_such_call("exec", path, EACCES);
}
Status RecordedFiles::write(const std::string& path, std::string_view /*bytes*/) {
  return no_such_call("write", path, EROFS);
}
Status RecordedFiles::make_directories(const std::string& path) {
  return no_such_call("mkdir", path, EROFS);
}
Status RecordedFiles::check_writable_directory(const std::string& path) const {
  return no_such_call("access", path, EROFS);
}
Result<FileSystemSpace> RecordedFiles::space(const std::string& path) const {
  return no_such_call("statvfs", path, ENOSYS);
}
Result<std::string> RecordedFiles::make_private_folder(const std::string& prefix) {
  return no_such_call("mkdtemp", prefix, EROFS);
}
Result<UniqueFd> RecordedFiles::create(const std::string& path) {
  return no_such_call("create", path, EROFS);
}
Status RecordedFiles::remove_file(const std::string& path) {
  return no_such_call("unlink", path, EROFS);
}
Status RecordedFiles::remove_folder(const std::string& path) {
  return no_such_call("rmdir", path, EROFS);
}

Environment recorded_environment(const Files& files) {
  Environment environment;
  const auto text = files.read("/environ");
  if (!text) return environment;
  for (const std::string_view line : split(*text, '\n')) environment.set_entry(line);
  return environment;
}

}  // namespace muster
