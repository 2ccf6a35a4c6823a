// TemporaryFolder: a folder of our own that goes, with all it holds, when its owner goes.
#pragma once

#include <string>
#include <string_view>

#include "base/environment.h"
#include "base/files.h"
#include "base/result.h"

namespace muster {

/// Where temporary files are made.
struct TemporaryPlace {
  std::string folder;   ///< absolute
  std::string problem;  ///< why it is not TMPDIR, which is set; "" = it is, or nobody named one
};

/// The first folder in which files can be made: TMPDIR, /tmp, /var/tmp, /dev/shm, which is what a
/// pod with a read-only root has left. If there is none, TMPDIR or /tmp: who makes a file there is
/// told why not.
[[nodiscard]] TemporaryPlace find_temporary_place(const Files& files,
                                                  const Environment& environment);

class TemporaryFolder {
 public:
  /// Mode 0700. kOs, also EEXIST: it may be somebody else's.
  static Result<TemporaryFolder> create(std::string path);
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept;
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Removes all that is in it, as far as that can be removed. The folder itself stays: if it were
  /// made again under the same name, others could be there first.
  void clear() const;
  /// A symbolic link `name` in it; returns its path. kOs.
  Result<std::string> link(const std::string& name, const std::string& target) const;
  /// A file `name` of mode 0600 in it, in place of what was there: whoever reads it sees the old
  /// bytes or the new ones. Returns its path. kOs.
  Result<std::string> put(const std::string& name, std::string_view bytes) const;

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;  // "" = moved away
};

}  // namespace muster
