// A whole machine of bytes: read, planned for, checked and captured. The input is a tree's text
// ("/path: content", tests/support/machine_tree.py), of which lines that are no entries are left
// out; and whatever it is, it is also the content of the files with a format of their own.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/recorded_files.h"
#include "base/text.h"
#include "nccl/capture/capture.h"
#include "nccl/capture/redaction.h"
#include "nccl/checks/catalogue.h"
#include "tests/support/fake_files.h"

namespace {

using muster::testing::FakeFiles;

constexpr size_t kMaxEntries = 500;

void add_line(FakeFiles& files, std::string_view line) {
  const size_t blank = std::min(line.find(' '), line.size());
  std::string path(line.substr(0, blank));
  const std::string_view rest = line.substr(std::min(blank + 1, line.size()));
  // No name of a real file system holds a NUL.
  if (!path.starts_with('/') || path.find('\0') != std::string::npos) return;
  const bool has_content = path.ends_with(':');
  if (has_content) path.pop_back();
  if (path.find_first_not_of('/') == std::string::npos) return;
  if (rest.starts_with("-> ")) {
    files.add_link(path, rest.substr(3));
  } else if (rest.starts_with("! ")) {
    files.add_unreadable(path, EINVAL);
  } else if (path.ends_with('/')) {
    files.add_directory(path);
  } else {
    std::string content(rest);
    std::ranges::replace(content, '|', '\n');
    files.add_file(path, content + "\n");
  }
}

void check(const FakeFiles& files) {
  const muster::Environment environment = muster::recorded_environment(files);
  const auto node = muster::nccl::read_node_facts(
      {files, muster::nccl::MachineSource::kRecorded, muster::nccl::MachineDetail::kAll},
      environment);
  if (node) {
    for (const int workers : {1, 8}) {
      const muster::nccl::ProbeResults probes;
      const auto question = muster::nccl::make_question(*node, probes, {workers, true});
      for (const auto& finding : muster::nccl::check_node(question)) {
        MUSTER_CHECK(!finding.id.empty());
        MUSTER_CHECK(!finding.what.empty());
      }
    }
  }
  const auto capture = muster::nccl::capture_machine(files, environment, {});
  for (const auto& [path, entry] : capture.entries) {
    MUSTER_CHECK(path.starts_with('/'));
    MUSTER_CHECK((path + "/").find("/../") == std::string::npos);
    const bool is_link = entry.kind == muster::nccl::CapturedEntry::Kind::kLink;
    MUSTER_CHECK(!is_link || !entry.text.starts_with('/'));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(data, data + size);
  FakeFiles files;
  size_t entries = 0;
  for (const std::string_view line : muster::split(text, '\n')) {
    if (++entries <= kMaxEntries) add_line(files, line);
  }
  check(files);
  for (const char* path :
       {"/environ", "/ulimits", "/proc/self/status", "/proc/self/mountinfo", "/proc/self/cgroup",
        "/proc/net/route", "/proc/net/fib_trie", "/proc/net/if_inet6", "/proc/net/tcp",
        "/proc/driver/nvidia/version", "/addresses", "/etc/hosts", "/proc/sys/kernel/hostname"})
    files.add_file(path, text);
  check(files);
  (void)muster::nccl::keep_gid(text, false);
  (void)muster::nccl::keep_address(text);
  (void)muster::nccl::keep_mounts(text);
  return 0;
}
