#include "base/process/memory_probes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "base/fd.h"

namespace muster {
namespace {

constexpr uint64_t kHugePageBytes = 2 << 20;

// The OOM killer takes this process before all others (proc(5), oom_score_adj). Nobody may be
// refused that; where there is no such file it is not done.
void be_ended_first() {
  constexpr std::string_view kFirst = "1000";
  const UniqueFd file(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (file.is_open()) (void)!write(file.get(), kFirst.data(), kFirst.size());
}

}  // namespace

int lock_memory(uint64_t bytes) {
  be_ended_first();
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return errno;
  const int failed = mlock(memory, bytes) == 0 ? 0 : errno;
  (void)munmap(memory, bytes);  // the process ends in a moment
  return failed;
}

HugePage touch_huge_page() {
  void* memory = mmap(nullptr, kHugePageBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
  if (memory == MAP_FAILED) return HugePage::kNotThere;
  *static_cast<volatile char*>(memory) = 1;
  (void)munmap(memory, kHugePageBytes);  // the process ends in a moment
  return HugePage::kTouched;
}

}  // namespace muster
