#include "tests/support/fake_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

namespace muster::testing {
namespace {

constexpr int kMaxLinks = 40;                      // as Linux: a longer chain is ELOOP
constexpr std::string_view kBlockIndent = "    ";  // of a file's lines in a tree's text

std::deque<std::string> components_of(std::string_view path) {
  std::deque<std::string> parts;
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    if (const std::string_view part = path.substr(0, slash); !part.empty() && part != ".") {
      parts.emplace_back(part);
    }
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return parts;
}

std::string join_path(const std::string& directory, std::string_view name) {
  return (directory == "/" ? "/" : directory + "/") + std::string(name);
}

std::string parent_of(const std::string& canonical) {
  const size_t slash = canonical.rfind('/');
  return slash == 0 ? "/" : canonical.substr(0, slash);
}

/// Names of errno in a tree's text. 0: none of those that reads of sysfs give.
int errno_of(std::string_view name) {
  constexpr std::pair<std::string_view, int> kNames[] = {
      {"EACCES", EACCES}, {"EINVAL", EINVAL}, {"EIO", EIO},     {"ENODEV", ENODEV},
      {"ENOENT", ENOENT}, {"ENXIO", ENXIO},   {"EPERM", EPERM}, {"EOPNOTSUPP", EOPNOTSUPP}};
  for (const auto& [known, value] : kNames) {
    if (known == name) return value;
  }
  return 0;
}

std::string quoted(std::string_view call, const std::string& path) {
  return std::string(call) + " '" + path + "'";
}

}  // namespace

FakeFiles::Node& FakeFiles::place(const std::string& path, Kind kind, std::string_view text) {
  std::string canonical = "/";
  for (const std::string& part : components_of(path)) canonical = join_path(canonical, part);
  bool is_new = true;
  for (std::string folder = parent_of(canonical); is_new; folder = parent_of(folder)) {
    const auto [entry, was_missing] = nodes_.try_emplace(folder);
    is_new = was_missing;  // the parents of what was there are there
    if (entry->second.kind != Kind::kLink) entry->second.kind = Kind::kDirectory;
  }
  Node& node = nodes_[canonical];
  node = Node{kind, std::string(text), UniqueFd(), 0};
  return node;
}

void FakeFiles::add_file(const std::string& path, std::string_view content) {
  place(path, Kind::kFile, content);
}

void FakeFiles::add_executable(const std::string& path, std::string_view content) {
  place(path, Kind::kExecutable, content);
}

void FakeFiles::add_directory(const std::string& path) { place(path, Kind::kDirectory, ""); }

void FakeFiles::add_link(const std::string& path, std::string_view target) {
  place(path, Kind::kLink, target);
}

bool FakeFiles::add_tree(const std::string& real_root) {
  namespace fs = std::filesystem;
  std::error_code failed;
  fs::recursive_directory_iterator entry(real_root, failed);
  for (; !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
    const std::string path = entry->path().string().substr(real_root.size());
    if (entry->is_symlink()) {
      add_link(path, fs::read_symlink(entry->path(), failed).string());
    } else if (entry->is_directory()) {
      add_directory(path);
    } else {
      std::ifstream file(entry->path(), std::ios::binary);
      add_file(path, std::string(std::istreambuf_iterator<char>(file), {}));
    }
  }
  return !failed;
}

void FakeFiles::add_unreadable(const std::string& path, int os_errno) {
  place(path, Kind::kFile, "").read_errno = os_errno;
}

Status FakeFiles::add_tree_text(const std::string& tree_file) {
  std::ifstream file(tree_file);
  if (!file) return os_error(quoted("open", tree_file), ENOENT);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(std::move(line));
  size_t at = 0;
  while (at < lines.size() && lines[at].starts_with('#')) ++at;
  while (at < lines.size()) {
    const size_t first = at++;
    std::string block;
    for (; at < lines.size() && lines[at].starts_with(kBlockIndent); ++at) {
      block += lines[at].substr(kBlockIndent.size()) + "\n";
    }
    if (!add_entry(lines[first], block)) {
      return Error{
          Code::kConfig, 0,
          tree_file + ":" + std::to_string(first + 1) + ": no entry: '" + lines[first] + "'"};
    }
  }
  return {};
}

/// `block`: the indented lines below `line`, each with its newline. False: this is no entry.
bool FakeFiles::add_entry(std::string_view line, std::string_view block) {
  const size_t blank = std::min(line.find(' '), line.size());
  std::string path(line.substr(0, blank));
  const std::string_view rest = line.substr(std::min(blank + 1, line.size()));
  const bool is_path_alone = blank == line.size();
  if (!path.starts_with('/') || path == "/") return false;
  if (path.ends_with(':')) {
    if (is_path_alone == block.empty()) return false;  // one line or several, not none, not both
    path.pop_back();
    add_file(path, is_path_alone ? std::string(block) : std::string(rest) + "\n");
    return true;
  }
  if (!block.empty()) return false;
  if (is_path_alone) {
    place(path, path.ends_with('/') ? Kind::kDirectory : Kind::kFile, "");
    return true;
  }
  constexpr std::string_view kLinkMark = "-> ";
  constexpr std::string_view kFailureMark = "! ";
  if (rest.starts_with(kLinkMark) && rest.size() > kLinkMark.size()) {
    add_link(path, rest.substr(kLinkMark.size()));
    return true;
  }
  if (!rest.starts_with(kFailureMark)) return false;
  const int os_errno = errno_of(rest.substr(kFailureMark.size()));
  if (os_errno != 0) add_unreadable(path, os_errno);
  return os_errno != 0;
}

void FakeFiles::remove(const std::string& path) {
  const std::string canonical = resolve(path, false).path;
  std::erase_if(nodes_, [&canonical](const auto& entry) {
    return entry.first == canonical || entry.first.starts_with(canonical + "/");
  });
}

void FakeFiles::fail_path(const std::string& path, int os_errno) {
  failing_paths_[path] = os_errno;
}

void FakeFiles::fail_nth_call(size_t n, int os_errno) {
  failing_call_ = calls_ + n;
  failing_call_errno_ = os_errno;
}

std::string FakeFiles::content_of(const Node& node) {
  if (!node.memfd.is_open()) return node.text;
  std::string bytes(static_cast<size_t>(std::max<off_t>(lseek(node.memfd.get(), 0, SEEK_END), 0)),
                    '\0');
  const ssize_t got = pread(node.memfd.get(), bytes.data(), bytes.size(), 0);
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return bytes;
}

std::string FakeFiles::content(const std::string& path) const {
  const auto found = nodes_.find(resolve(path, true).path);
  if (found == nodes_.end() || found->second.kind == Kind::kDirectory) return "";
  return content_of(found->second);
}

int FakeFiles::injected_failure(const std::string& path) const {
  if (++calls_ == failing_call_) return failing_call_errno_;
  const auto failing = failing_paths_.find(path);
  return failing == failing_paths_.end() ? 0 : failing->second;
}

FakeFiles::Resolved FakeFiles::resolve(const std::string& path, bool follow_last) const {
  std::deque<std::string> rest = components_of(path);
  std::string canonical = "/";
  int links = 0;
  while (!rest.empty()) {
    const std::string part = std::move(rest.front());
    rest.pop_front();
    if (part == "..") {
      canonical = parent_of(canonical);
      continue;
    }
    std::string next = join_path(canonical, part);
    const auto node = nodes_.find(next);
    if (node == nodes_.end()) return {std::move(next), ENOENT, rest.empty()};
    if (node->second.kind == Kind::kLink && (follow_last || !rest.empty())) {
      if (++links > kMaxLinks) return {std::move(next), ELOOP, false};
      if (node->second.text.starts_with('/')) canonical = "/";
      const std::deque<std::string> target = components_of(node->second.text);
      rest.insert(rest.begin(), target.begin(), target.end());
      continue;
    }
    if (node->second.kind != Kind::kDirectory && !rest.empty())
      return {std::move(next), ENOTDIR, false};
    canonical = std::move(next);
  }
  return {std::move(canonical), 0, false};
}

Result<const FakeFiles::Node*> FakeFiles::find(const std::string& path, std::string_view call,
                                               bool follow_last) const {
  if (const int failure = injected_failure(path); failure != 0) {
    return os_error(quoted(call, path), failure);
  }
  const Resolved resolved = resolve(path, follow_last);
  if (resolved.os_errno != 0) return os_error(quoted(call, path), resolved.os_errno);
  return &nodes_.at(resolved.path);
}

Result<std::string> FakeFiles::read(const std::string& path, size_t limit_bytes) const {
  const auto node = find(path, "open");
  if (!node) return node.error();
  if ((*node)->kind == Kind::kDirectory) return os_error(quoted("read", path), EISDIR);
  if ((*node)->read_errno != 0) return os_error(quoted("read", path), (*node)->read_errno);
  std::string bytes = content_of(**node);
  if (bytes.size() > limit_bytes) {
    return Error{Code::kLimit, 0,
                 quoted("read", path) + ": more than " + std::to_string(limit_bytes) + " bytes"};
  }
  return bytes;
}

Result<std::vector<std::string>> FakeFiles::list(const std::string& path) const {
  const auto node = find(path, "opendir");
  if (!node) return node.error();
  if ((*node)->kind != Kind::kDirectory) return os_error(quoted("opendir", path), ENOTDIR);
  const std::string directory = resolve(path, true).path;
  const std::string prefix = directory == "/" ? "/" : directory + "/";
  std::vector<std::string> names;
  for (auto child = nodes_.lower_bound(prefix); child != nodes_.end(); ++child) {
    if (!child->first.starts_with(prefix)) break;
    const std::string name = child->first.substr(prefix.size());
    if (!name.empty() && name.find('/') == std::string::npos) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> FakeFiles::link_target(const std::string& path) const {
  const auto node = find(path, "readlink", false);
  if (!node) return node.error();
  if ((*node)->kind != Kind::kLink) return os_error(quoted("readlink", path), EINVAL);
  return (*node)->text;
}

bool FakeFiles::is_directory(const std::string& path) const {
  const auto node = find(path, "stat");
  return node && (*node)->kind == Kind::kDirectory;
}

bool FakeFiles::exists(const std::string& path) const { return find(path, "stat").has_value(); }

Status FakeFiles::check_executable(const std::string& path) const {
  const auto node = find(path, "access");
  if (!node) return node.error();
  if ((*node)->kind != Kind::kExecutable) return os_error(quoted("access", path), EACCES);
  return {};
}

Result<FakeFiles::Node*> FakeFiles::open_for_writing(const std::string& path) {
  if (const int failure = injected_failure(path); failure != 0) {
    return os_error(quoted("open", path), failure);
  }
  const Resolved resolved = resolve(path, true);
  const auto found = nodes_.find(resolved.path);
  if (found != nodes_.end() && found->second.kind == Kind::kDirectory) {
    return os_error(quoted("open", path), EISDIR);
  }
  if (resolved.os_errno != 0 && !resolved.only_last_missing) {
    return os_error(quoted("open", path), resolved.os_errno);
  }
  return &nodes_[resolved.path];
}

Status FakeFiles::write(const std::string& path, std::string_view bytes) {
  auto node = open_for_writing(path);
  if (!node) return node.error();
  (*node)->text = bytes;
  (*node)->memfd.reset();
  return {};
}

Status FakeFiles::check_writable_directory(const std::string& path) const {
  const auto node = find(path, "access");
  if (!node) return node.error();
  if ((*node)->kind != Kind::kDirectory) return os_error(quoted("access", path), ENOTDIR);
  return {};
}

Result<FileSystemSpace> FakeFiles::space(const std::string& path) const {
  const auto found = spaces_.find(path);
  if (found == spaces_.end()) return os_error(quoted("statvfs", path), ENOENT);
  return found->second;
}

Status FakeFiles::make_directories(const std::string& path) {
  if (const int failure = injected_failure(path); failure != 0) {
    return os_error(quoted("mkdir", path), failure);
  }
  std::string so_far;
  for (const std::string& part : components_of(path)) {
    so_far += "/" + part;
    const Resolved resolved = resolve(so_far, true);
    if (resolved.only_last_missing) {
      nodes_[resolved.path].kind = Kind::kDirectory;
    } else if (resolved.os_errno != 0 || nodes_.at(resolved.path).kind != Kind::kDirectory) {
      return os_error(quoted("mkdir", so_far), ENOTDIR);
    }
  }
  return {};
}

// Not random: "1" for the first one.
Result<std::string> FakeFiles::make_private_folder(const std::string& prefix) {
  std::string path = prefix + std::to_string(++private_folders_);
  if (const int failure = injected_failure(path); failure != 0)
    return os_error(quoted("mkdtemp", path), failure);
  const Resolved resolved = resolve(path, true);
  if (!resolved.only_last_missing) return os_error(quoted("mkdtemp", path), resolved.os_errno);
  nodes_[resolved.path].kind = Kind::kDirectory;
  return path;
}

Result<UniqueFd> FakeFiles::create(const std::string& path) {
  auto node = open_for_writing(path);
  if (!node) return node.error();
  UniqueFd memfd(memfd_create("fake_files", MFD_CLOEXEC));
  if (!memfd.is_open()) return os_error("memfd_create");
  if (fcntl(memfd.get(), F_SETFL, O_APPEND) < 0) return os_error("fcntl F_SETFL");
  UniqueFd given(fcntl(memfd.get(), F_DUPFD_CLOEXEC, 3));
  if (!given.is_open()) return os_error("fcntl F_DUPFD_CLOEXEC");
  (*node)->memfd = std::move(memfd);
  return given;
}

Status FakeFiles::remove_file(const std::string& path) {
  if (const int failure = injected_failure(path); failure != 0) {
    return os_error(quoted("unlink", path), failure);
  }
  const Resolved resolved = resolve(path, false);
  if (resolved.os_errno == ENOENT) return {};
  if (resolved.os_errno != 0) return os_error(quoted("unlink", path), resolved.os_errno);
  const auto node = nodes_.find(resolved.path);
  if (node->second.kind == Kind::kDirectory) return os_error(quoted("unlink", path), EISDIR);
  nodes_.erase(node);
  return {};
}

Status FakeFiles::remove_folder(const std::string& path) {
  if (const int failure = injected_failure(path); failure != 0)
    return os_error(quoted("rmdir", path), failure);
  const Resolved resolved = resolve(path, false);
  if (resolved.os_errno == ENOENT) return {};
  const auto after = nodes_.upper_bound(resolved.path);
  if (after != nodes_.end() && after->first.starts_with(resolved.path + "/"))
    return os_error(quoted("rmdir", path), ENOTEMPTY);
  nodes_.erase(resolved.path);
  return {};
}

}  // namespace muster::testing
