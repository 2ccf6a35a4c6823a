#include "base/process/memory_probes.h"

#include <sys/mman.h>

#include <cerrno>

namespace muster {
namespace {

constexpr uint64_t kHugePageBytes = 2 << 20;

}  // namespace

int lock_memory(uint64_t bytes) {
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
