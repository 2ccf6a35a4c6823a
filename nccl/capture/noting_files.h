// NotingFiles: another Files, with a note of every path that somebody asked for. What the readers
// of a machine look at is what a capture of it must hold.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/files.h"

namespace muster::nccl {

/// Only reads; everything that would write is EROFS.
class NotingFiles final : public Files {
 public:
  /// `files` is borrowed.
  explicit NotingFiles(const Files& files) : files_(files) {}

  [[nodiscard]] const std::set<std::string>& read_paths() const { return read_; }
  [[nodiscard]] const std::set<std::string>& listed_paths() const { return listed_; }
  /// Asked for as a link, or only whether they are there.
  [[nodiscard]] const std::set<std::string>& asked_paths() const { return asked_; }

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
  const Files& files_;
  mutable std::set<std::string> read_;
  mutable std::set<std::string> listed_;
  mutable std::set<std::string> asked_;
};

}  // namespace muster::nccl
