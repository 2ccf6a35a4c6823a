#include "base/process/memory_probes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.h"
#include "base/text.h"

namespace muster {
namespace {

// It changes who the OOM killer takes, so a child does it.
[[noreturn]] void lock_and_look() {
  const int failed = lock_memory(4096);
  const auto score = RealFiles().read("/proc/self/oom_score_adj");
  _exit(failed == 0 && score && trim(*score) == "1000" ? 0 : 1);
}

TEST(MemoryProbes, WhoLocksMemoryIsEndedBeforeTheTrainer) {
  EXPECT_EXIT(lock_and_look(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace muster
