// The files in which the kernel tells what the OOM killer did, and where they lie: any content of
// /proc and of the cgroup is survived, and a count is one that stands there.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/process/memory_events.h"
#include "tests/support/fake_files.h"

using namespace muster;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto kills = parse_oom_kills(text)) {
    MUSTER_CHECK(text.find(std::to_string(*kills)) != std::string_view::npos);
  }
  muster::testing::FakeFiles files;
  files.add_file("/proc/self/cgroup", text);
  files.add_file("/proc/self/mountinfo", text);
  files.add_file("/sys/fs/cgroup/memory.events", text);
  (void)MemoryEvents(files).oom_kills();
  return 0;
}
