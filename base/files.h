// The door to the file system, with a root prefix so that recorded machines can be read in tests.
// Small synchronous reads of /sys, /proc, /etc and configuration; not for bulk data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace muster {

inline constexpr size_t kMaxSmallFileBytes =
    1 << 20;  ///< more than any sysfs, proc or configuration file we read

/// Of the file system that holds a path (statvfs(3)).
struct FileSystemSpace {
  uint64_t size_bytes = 0;
  uint64_t free_bytes = 0;  ///< for those who are not root
};

/// Paths are absolute (or relative to the working directory for RealFiles without a root).
/// Every error is kOs and names call and path; kLimit for a file larger than the limit.
class Files {
 public:
  virtual ~Files() = default;
  /// Whole content, at most `limit_bytes`. Nothing, of a pipe that nobody has open for writing.
  virtual Result<std::string> read(const std::string& path,
                                   size_t limit_bytes = kMaxSmallFileBytes) const = 0;
  /// Names (without "." and ".."), sorted.
  virtual Result<std::vector<std::string>> list(const std::string& path) const = 0;
  /// Text of a symbolic link.
  virtual Result<std::string> link_target(const std::string& path) const = 0;
  [[nodiscard]] virtual bool is_directory(const std::string& path) const = 0;
  /// The same of a file that somebody else may have put there: only a regular one (no link, pipe or
  /// device) that is ours, root's, or of the owner of its folder where nobody else can write there.
  virtual Result<std::string> read_private(const std::string& path, size_t limit_bytes) const = 0;
  [[nodiscard]] virtual bool exists(const std::string& path) const = 0;
  /// A regular file that this process may execute. The error tells ENOENT from EACCES.
  virtual Status check_executable(const std::string& path) const = 0;
  /// Creates or empties `path` and writes `bytes` in place (no rename: the path may be a mount).
  /// Never waits: a pipe that nobody reads, and one that is full, are errors. A link at the end of
  /// `path` is followed only if it is ours or root's and nobody else may exchange it: EPERM.
  virtual Status write(const std::string& path, std::string_view bytes) = 0;
  /// mkdir -p, mode 0755 before umask.
  virtual Status make_directories(const std::string& path) = 0;
  /// Files can be made in the folder `path`, as far as access(2) can tell.
  virtual Status check_writable_directory(const std::string& path) const = 0;
  virtual Result<FileSystemSpace> space(const std::string& path) const = 0;
  /// Makes a folder that did not exist, mode 0700, named `prefix` and six random characters;
  /// returns its path. torchrun makes its own by the same function (mkdtemp).
  virtual Result<std::string> make_private_folder(const std::string& prefix) = 0;
  /// Creates or empties `path`, mode 0644 before umask, opened O_WRONLY|O_APPEND|O_CLOEXEC. kOs too
  /// if a link, a pipe or anything but a regular file is there.
  virtual Result<UniqueFd> create(const std::string& path) = 0;
  /// Removes a file or a link, not what it leads to; one that is not there is no error.
  virtual Status remove_file(const std::string& path) = 0;
  /// Removes a folder that is empty; one that is not there is no error.
  virtual Status remove_folder(const std::string& path) = 0;
};

class RealFiles final : public Files {
 public:
  /// Every path is read below `root` ("" = the real root). Symbolic links are not re-rooted.
  explicit RealFiles(std::string root = "") : root_(std::move(root)) {}
  Result<std::string> read(const std::string& path,
                           size_t limit_bytes = kMaxSmallFileBytes) const override;
  Result<std::vector<std::string>> list(const std::string& path) const override;
  Result<std::string> link_target(const std::string& path) const override;
  [[nodiscard]] bool is_directory(const std::string& path) const override;
  Result<std::string> read_private(const std::string& path, size_t limit_bytes) const override;
  [[nodiscard]] bool exists(const std::string& path) const override;
  Status check_executable(const std::string& path) const override;
  Status write(const std::string& path, std::string_view bytes) override;
  Status make_directories(const std::string& path) override;
  Status check_writable_directory(const std::string& path) const override;
  Result<FileSystemSpace> space(const std::string& path) const override;
  Result<std::string> make_private_folder(const std::string& prefix) override;
  Result<UniqueFd> create(const std::string& path) override;
  Status remove_file(const std::string& path) override;
  Status remove_folder(const std::string& path) override;

 private:
  std::string root_;
};

/// `path` from the root: below the working directory when it is relative. kOs: no working
/// directory.
Result<std::string> absolute_path(const std::string& path);

/// `path`, or what the symbolic links lead to that begin there: the last one that could be read.
[[nodiscard]] std::string follow_links(const Files& files, std::string path);

/// Where a program named on a command line is: `name` itself when it has a '/', else the first
/// executable on `search_path` (colon-separated, PATH's rules). Errors are kExec, as a shell tells
/// them: os_errno ENOENT = not found (exit 127), EACCES = found but not executable (exit 126). The
/// text of one that is not on PATH says so, and that it lies in the current folder where it does.
Result<std::string> find_program(const Files& files, const std::string& name,
                                 std::string_view search_path);

}  // namespace muster
