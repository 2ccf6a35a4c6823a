// FakeFiles: a file system in memory for unit tests, with failures on demand. Not for tests that
// need permissions, devices or mounts.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace muster::testing {

/// Behaves as RealFiles on a small file system: symbolic links are followed in every position, a
/// missing parent is ENOENT, a file in place of a directory ENOTDIR. Relative paths start at "/".
class FakeFiles final : public Files {
 public:
  FakeFiles() { nodes_["/"].kind = Kind::kDirectory; }

  // Building the file system. Each creates the parents it needs and replaces what was there.
  void add_file(const std::string& path, std::string_view content);
  void add_executable(const std::string& path, std::string_view content = "");
  void add_directory(const std::string& path);
  void add_link(const std::string& path, std::string_view target);
  /// What space() answers for exactly this path; ENOENT for all others.
  void set_space(const std::string& path, FileSystemSpace space) { spaces_[path] = space; }
  /// Copies a recorded machine (tests/data/machines/<name>) from the real disk; links stay links.
  /// False when `real_root` is no readable directory.
  bool add_tree(const std::string& real_root);
  /// The same from one text, a machine of tests/data/machines/fabric; tests/support/machine_tree.py
  /// tells the format. A line that is no entry is a kConfig error that names it; what came before
  /// it is added.
  Status add_tree_text(const std::string& tree_file);
  /// A file that is there, and that read() cannot read, by whatever path it is reached: sysfs has
  /// many.
  void add_unreadable(const std::string& path, int os_errno);
  /// Removes `path` itself (a link, not its target) and everything below it.
  void remove(const std::string& path);

  // Failures. Path and call failures may be combined; exists() and is_directory() then say false.
  /// Every call on exactly this path fails with `os_errno`; 0 heals it.
  void fail_path(const std::string& path, int os_errno);
  /// The `n`-th call from now (1 = the next one) fails with `os_errno`, once. For walking through
  /// all points of failure: raise n until calls() < n.
  void fail_nth_call(size_t n, int os_errno);
  /// Calls of the Files interface so far.
  [[nodiscard]] size_t calls() const { return calls_; }

  /// What `path` holds now, including what was written through a descriptor of create(); "" when it
  /// is no file.
  [[nodiscard]] std::string content(const std::string& path) const;

  Result<std::string> read(const std::string& path,
                           size_t limit_bytes = kMaxSmallFileBytes) const override;
  Result<std::vector<std::string>> list(const std::string& path) const override;
  Result<std::string> link_target(const std::string& path) const override;
  [[nodiscard]] bool is_directory(const std::string& path) const override;
  Result<std::string> read_private(const std::string& path, size_t limit_bytes) const override {
    return read(path, limit_bytes);
  }
  [[nodiscard]] bool exists(const std::string& path) const override;
  Status check_executable(const std::string& path) const override;
  Status write(const std::string& path, std::string_view bytes) override;
  Status make_directories(const std::string& path) override;
  Status check_writable_directory(const std::string& path) const override;
  Result<FileSystemSpace> space(const std::string& path) const override;
  /// The descriptor is a real one (a memfd), so it can be given to a child.
  Result<UniqueFd> create(const std::string& path) override;
  Result<std::string> make_private_folder(const std::string& prefix) override;
  Status remove_file(const std::string& path) override;
  Status remove_folder(const std::string& path) override;

 private:
  enum class Kind { kFile, kExecutable, kDirectory, kLink };
  struct Node {
    Kind kind = Kind::kFile;
    std::string text;  // content, or the target of a link
    UniqueFd memfd;    // where create() sent the content instead
    int read_errno = 0;
  };
  struct Resolved {
    std::string path;                // canonical, as far as it could be followed
    int os_errno = 0;                // why not further
    bool only_last_missing = false;  // ENOENT, but its directory exists
  };

  bool add_entry(std::string_view line, std::string_view block);
  Node& place(const std::string& path, Kind kind, std::string_view text);
  [[nodiscard]] int injected_failure(const std::string& path) const;
  [[nodiscard]] Resolved resolve(const std::string& path, bool follow_last) const;
  [[nodiscard]] Result<const Node*> find(const std::string& path, std::string_view call,
                                         bool follow_last = true) const;
  Result<Node*> open_for_writing(const std::string& path);
  [[nodiscard]] static std::string content_of(const Node& node);

  std::map<std::string, Node> nodes_;  // canonical absolute path -> node
  std::map<std::string, int> failing_paths_;
  std::map<std::string, FileSystemSpace> spaces_;
  mutable size_t calls_ = 0;
  size_t failing_call_ = 0;  // number of the call that fails; 0 = none
  int failing_call_errno_ = 0;
  int private_folders_ = 0;
};

}  // namespace muster::testing
