#include "launcher/doctor/tree_writer.h"

#include <unistd.h>

#include <cerrno>
#include <set>

#include "base/text.h"

namespace muster::launcher {
namespace {

using Kind = nccl::CapturedEntry::Kind;

Status check_empty(const Files& files, const std::string& folder) {
  if (!files.exists(folder)) return {};
  const auto names = files.list(folder);
  if (!names) return Error{Code::kConfig, 0, names.error().text};
  if (!names->empty()) return Error{Code::kConfig, 0, "'" + folder + "' is not empty"};
  return {};
}

Status make_link(const std::string& path, const std::string& target) {
  if (symlink(target.c_str(), path.c_str()) == 0) return {};
  return os_error("symlink '" + path + "'", errno);
}

}  // namespace

Result<WrittenTree> write_tree(const nccl::Capture& capture, Files& files,
                               const std::string& folder) {
  MUSTER_RETURN_IF_ERROR(check_empty(files, folder));
  MUSTER_RETURN_IF_ERROR(files.make_directories(folder));
  WrittenTree written;
  std::set<std::string> made;
  const auto make = [&](const std::string& path) -> Status {
    if (!made.insert(path).second) return {};
    return files.make_directories(path);
  };
  // Links come last: so nothing is ever written through one.
  for (const auto& [path, entry] : capture.entries) {
    const std::string place = folder + path;
    MUSTER_RETURN_IF_ERROR(make(entry.kind == Kind::kFolder ? place : folder_of(place)));
    if (entry.kind != Kind::kFile) continue;
    MUSTER_RETURN_IF_ERROR(files.write(place, entry.text));
    ++written.files;
    written.bytes += entry.text.size();
  }
  for (const auto& [path, entry] : capture.entries) {
    if (entry.kind == Kind::kLink) MUSTER_RETURN_IF_ERROR(make_link(folder + path, entry.text));
  }
  return written;
}

}  // namespace muster::launcher
