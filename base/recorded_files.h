// RecordedFiles: a folder that holds the files of another machine, read as if it were the root.
// Nothing outside of it is ever read, wherever its links lead, and nothing is written.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/fd.h"
#include "base/files.h"

namespace muster {

/// Links inside of the folder are followed; an absolute one, and one that leaves the folder, is
/// EXDEV. Pipes and devices are EINVAL. Everything that would write is EROFS.
/// Needs openat2(2) (Linux 5.6).
class RecordedFiles final : public Files {
 public:
  /// kConfig: `folder` is no folder that can be opened.
  static Result<RecordedFiles> open(const std::string& folder);

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
  /// None of the recorded machine is known: ENOSYS.
  Result<FileSystemSpace> space(const std::string& path) const override;
  Result<std::string> make_private_folder(const std::string& prefix) override;
  Result<UniqueFd> create(const std::string& path) override;
  Status remove_file(const std::string& path) override;
  Status remove_folder(const std::string& path) override;

 private:
  explicit RecordedFiles(UniqueFd root) : root_(std::move(root)) {}
  [[nodiscard]] Result<UniqueFd> open_below(const std::string& path, int flags) const;

  UniqueFd root_;
};

/// The environment that the machine's process had: /environ of the tree, NAME=VALUE a line. Empty
/// without such a file.
[[nodiscard]] Environment recorded_environment(const Files& files);

}  // namespace muster
