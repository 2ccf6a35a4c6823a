#include "nccl/capture/noting_files.h"

#include <cerrno>

namespace muster::nccl {
namespace {

Error read_only(const std::string& path) { return os_error("write '" + path + "'", EROFS); }

}  // namespace

Result<std::string> NotingFiles::read(const std::string& path, size_t limit_bytes) const {
  read_.insert(path);
  return files_.read(path, limit_bytes);
}

Result<std::vector<std::string>> NotingFiles::list(const std::string& path) const {
  listed_.insert(path);
  return files_.list(path);
}

Result<std::string> NotingFiles::link_target(const std::string& path) const {
  asked_.insert(path);
  return files_.link_target(path);
}

bool NotingFiles::is_directory(const std::string& path) const {
  asked_.insert(path);
  return files_.is_directory(path);
}

Result<std::string> NotingFiles::read_private(const std::string& path, size_t limit_bytes) const {
  read_.insert(path);
  return files_.read_private(path, limit_bytes);
}

bool NotingFiles::exists(const std::string& path) const {
  asked_.insert(path);
  return files_.exists(path);
}

Status NotingFiles::check_executable(const std::string& path) const {
  asked_.insert(path);
  return files_.check_executable(path);
}

Status NotingFiles::write(const std::string& path, std::string_view /*bytes*/) {
  return read_only(path);
}

Status NotingFiles::make_directories(const std::string& path) { return read_only(path); }

Status NotingFiles::check_writable_directory(const std::string& path) const {
  return read_only(path);
}

Result<FileSystemSpace> NotingFiles::space(const std::string& path) const {
  return files_.space(path);
}

Result<std::string> NotingFiles::make_private_folder(const std::string& prefix) {
  return read_only(prefix);
}

Result<UniqueFd> NotingFiles::create(const std::string& path) { return read_only(path); }

Status NotingFiles::remove_file(const std::string& path) { return read_only(path); }

Status NotingFiles::remove_folder(const std::string& path) { return read_only(path); }

}  // namespace muster::nccl
