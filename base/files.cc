#include "base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <memory>

#include "base/text.h"

namespace muster {

namespace {

constexpr int kPipeWaitMs = 5'000;
constexpr int kMostLinks = 16;  // a chain that is longer is taken for a circle

std::string call_on(std::string_view call, const std::string& path) {
  std::string text(call);
  text += " '";
  text += path;
  text += "'";
  return text;
}

Status write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN)
      return Error{Code::kOs, EAGAIN, call_on("write", path) + ": it is full, and nobody reads it"};
    if (written < 0) return os_error(call_on("write", path));
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

// Only pipes and terminals make us wait: for whoever writes there, and not for ever.
bool has_input(int fd) {
  pollfd wanted{.fd = fd, .events = POLLIN, .revents = 0};
  int ready = 0;
  do {
    ready = poll(&wanted, 1, kPipeWaitMs);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

Error too_large(const std::string& path, size_t limit_bytes) {
  return {Code::kLimit, 0,
          call_on("read", path) + ": more than " + std::to_string(limit_bytes) + " bytes"};
}

// `fd` does not block.
Result<std::string> read_all(int fd, const std::string& path, size_t limit_bytes) {
  std::string content;
  char chunk[4096];
  // A large file is refused before it is read. Files of the kernel claim to have one page.
  struct stat file {};
  const bool is_sized = fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_size > 0;
  if (is_sized && file.st_size > off_t{sizeof chunk}) {
    const auto size = static_cast<size_t>(file.st_size);
    if (size > limit_bytes) return too_large(path, limit_bytes);
    content.reserve(size);
  }
  for (;;) {
    const ssize_t got = ::read(fd, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      if (has_input(fd)) continue;
      return Error{Code::kOs, EAGAIN, call_on("read", path) + ": it is a pipe that stays silent"};
    }
    if (got < 0) return os_error(call_on("read", path));
    if (got == 0) return content;
    content.append(chunk, static_cast<size_t>(got));
    if (content.size() > limit_bytes) return too_large(path, limit_bytes);
    // Of a file that claims to have a size less means its end. Those of procfs claim none, and end
    // a read where it suits them.
    if (is_sized && static_cast<size_t>(got) < sizeof chunk) return content;
  }
}

// A file server may give all files another owner than who wrote them: then the folder has it, too.
bool is_trusted(uid_t owner, const std::string& path) {
  if (owner == geteuid() || owner == 0) return true;
  const std::string folder = folder_of(path) + "/";
  struct stat info {};
  return stat(folder.c_str(), &info) == 0 && info.st_uid == owner &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// The rule of fs.protected_symlinks, which not every machine has switched on: in a folder where
// everybody makes files, the link of a stranger leads to a file that the stranger chose. Without
// the sticky bit everybody may put another link in place of ours.
bool is_own_link(const std::string& path) {
  struct stat link {};
  struct stat folder {};
  if (lstat(path.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) return false;
  if (stat((folder_of(path) + "/").c_str(), &folder) != 0) return false;
  const bool is_open_to_all = (folder.st_mode & S_IWOTH) != 0 && (folder.st_mode & S_ISVTX) == 0;
  return !is_open_to_all && is_trusted(link.st_uid, path);
}

// It need not be a file: /dev/stderr is a link to whatever was given, and /dev/null a device.
Result<UniqueFd> open_for_writing(const std::string& path, const std::string& shown) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_NOCTTY;
  UniqueFd fd(open(path.c_str(), kFlags | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!fd.is_open() && errno == ELOOP) {
    if (!is_own_link(path))
      return Error{Code::kOs, EPERM, call_on("open", shown) + ": it is a link that others may set"};
    fd = UniqueFd(open(path.c_str(), kFlags | O_CLOEXEC, 0644));
  }
  if (!fd.is_open() && errno == ENXIO)
    return Error{Code::kOs, ENXIO, call_on("open", shown) + ": it is a pipe that nobody reads"};
  if (!fd.is_open()) return os_error(call_on("open", shown));
  return fd;
}

}  // namespace

Result<std::string> RealFiles::read(const std::string& path, size_t limit_bytes) const {
  // A pipe that nobody writes to would hold up open() itself, and with it every signal.
  const UniqueFd fd(open((root_ + path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.is_open()) return os_error(call_on("open", path));
  return read_all(fd.get(), path, limit_bytes);
}

// What is judged is what was opened, so nobody can exchange it in between.
Result<std::string> RealFiles::read_private(const std::string& path, size_t limit_bytes) const {
  const std::string full = root_ + path;
  const UniqueFd fd(open(full.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!fd.is_open() && errno != ELOOP && errno != ENXIO) return os_error(call_on("open", path));
  struct stat file {};
  if (!fd.is_open() || fstat(fd.get(), &file) != 0 || !S_ISREG(file.st_mode))
    return Error{Code::kOs, EINVAL, "it is no regular file"};
  if (!is_trusted(file.st_uid, full)) {
    return Error{Code::kOs, EPERM,
                 "it belongs to uid " + std::to_string(file.st_uid) + ", not to " +
                     std::to_string(geteuid())};
  }
  return read_all(fd.get(), path, limit_bytes);
}

Result<std::vector<std::string>> RealFiles::list(const std::string& path) const {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir((root_ + path).c_str()), closedir);
  if (directory == nullptr) return os_error(call_on("opendir", path));
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = readdir(directory.get())) {
    const std::string_view name(entry->d_name);
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return os_error(call_on("readdir", path));
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> RealFiles::link_target(const std::string& path) const {
  char target[PATH_MAX];
  const ssize_t length = readlink((root_ + path).c_str(), target, sizeof target);
  if (length < 0) return os_error(call_on("readlink", path));
  return std::string(target, static_cast<size_t>(length));
}

bool RealFiles::is_directory(const std::string& path) const {
  struct stat info {};
  return stat((root_ + path).c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool RealFiles::exists(const std::string& path) const {
  return access((root_ + path).c_str(), F_OK) == 0;
}

Status RealFiles::check_executable(const std::string& path) const {
  struct stat info {};
  const std::string full = root_ + path;
  if (stat(full.c_str(), &info) != 0) return os_error(call_on("exec", path));
  if (S_ISDIR(info.st_mode))
    return Error{Code::kOs, EACCES, call_on("exec", path) + ": it is a directory"};
  if (!S_ISREG(info.st_mode)) return os_error(call_on("exec", path), EACCES);
  if (access(full.c_str(), X_OK) != 0) return os_error(call_on("exec", path));
  return {};
}

Status RealFiles::write(const std::string& path, std::string_view bytes) {
  const auto fd = open_for_writing(root_ + path, path);
  if (!fd) return Error(fd.error());
  return write_all(fd->get(), bytes, path);
}

Status RealFiles::make_directories(const std::string& path) {
  const std::string full = root_ + path;
  if (mkdir(full.c_str(), 0755) == 0 || errno == EEXIST) return {};
  if (errno != ENOENT) return os_error(call_on("mkdir", path));
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos || slash == 0) return os_error(call_on("mkdir", path), ENOENT);
  MUSTER_RETURN_IF_ERROR(make_directories(path.substr(0, slash)));
  if (mkdir(full.c_str(), 0755) != 0 && errno != EEXIST) return os_error(call_on("mkdir", path));
  return {};
}

Status RealFiles::check_writable_directory(const std::string& path) const {
  // With a '/' behind it anything but a folder is ENOTDIR.
  if (access((root_ + path + "/").c_str(), W_OK | X_OK) != 0)
    return os_error(call_on("access", path));
  return {};
}

Result<FileSystemSpace> RealFiles::space(const std::string& path) const {
  struct statvfs info {};
  if (statvfs((root_ + path).c_str(), &info) != 0) return os_error(call_on("statvfs", path));
  return FileSystemSpace{uint64_t{info.f_blocks} * info.f_frsize,
                         uint64_t{info.f_bavail} * info.f_frsize};
}

Result<UniqueFd> RealFiles::create(const std::string& path) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND;
  constexpr int kCareful = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  UniqueFd fd(open((root_ + path).c_str(), kFlags | kCareful | O_CLOEXEC, 0644));
  if (!fd.is_open() && errno != ELOOP && errno != ENXIO) return os_error(call_on("open", path));
  struct stat file {};
  if (!fd.is_open() || fstat(fd.get(), &file) != 0 || !S_ISREG(file.st_mode))
    return Error{Code::kOs, EINVAL, call_on("open", path) + ": it is no regular file"};
  // Some worker gets it as its stdout, and finds there what it finds anywhere.
  if (fcntl(fd.get(), F_SETFL, kFlags) != 0) return os_error(call_on("fcntl", path));
  return fd;
}

Result<std::string> RealFiles::make_private_folder(const std::string& prefix) {
  std::string path = root_ + prefix + "XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return os_error(call_on("mkdtemp", prefix + "XXXXXX"));
  return path.substr(root_.size());
}

Status RealFiles::remove_file(const std::string& path) {
  if (unlink((root_ + path).c_str()) != 0 && errno != ENOENT)
    return os_error(call_on("unlink", path));
  return {};
}

Status RealFiles::remove_folder(const std::string& path) {
  if (rmdir((root_ + path).c_str()) != 0 && errno != ENOENT)
    return os_error(call_on("rmdir", path));
  return {};
}

Result<std::string> absolute_path(const std::string& path) {
  if (path.starts_with('/')) return path;
  char directory[PATH_MAX];
  if (getcwd(directory, sizeof directory) == nullptr) return os_error("getcwd");
  return std::string(directory) + "/" + path;
}

namespace {
Error cannot_execute(Error error) {
  error.code = Code::kExec;
  return error;
}
}  // namespace

namespace {

// Whoever sees the file beside needs to be told that nobody looks there.
std::string not_on_path(const Files& files, const std::string& name) {
  std::string text = call_on("exec", name) + ": not found on PATH";
  if (name.empty() || !files.exists("./" + name)) return text;
  if (files.is_directory("./" + name)) return text + "; the folder of this name is no program";
  return text + "; it lies in the current folder: write ./" + name;
}

}  // namespace

std::string follow_links(const Files& files, std::string path) {
  for (int hop = 0; hop < kMostLinks; ++hop) {
    auto target = files.link_target(path);
    if (!target) break;
    path = target->starts_with('/') ? *target : folder_of(path) + "/" + *target;
  }
  return path;
}

Result<std::string> find_program(const Files& files, const std::string& name,
                                 std::string_view search_path) {
  if (name.find('/') != std::string::npos) {
    if (Status executable = files.check_executable(name); !executable) {
      return cannot_execute(std::move(executable).error());
    }
    return name;
  }
  std::string forbidden;
  for (const std::string_view directory : split(search_path, ':')) {
    // An empty entry means the working directory (POSIX.1-2017, PATH).
    std::string candidate = directory.empty() ? "./" + name : std::string(directory) + "/" + name;
    const Status executable = files.check_executable(candidate);
    if (executable) return candidate;
    // In a folder that may not be searched nobody knows whether it is there.
    const bool found = executable.error().os_errno == EACCES && files.exists(candidate);
    if (found && forbidden.empty()) forbidden = candidate;
  }
  if (!forbidden.empty()) return cannot_execute(files.check_executable(forbidden).error());
  return cannot_execute(Error{Code::kOs, ENOENT, not_on_path(files, name)});
}

}  // namespace muster
