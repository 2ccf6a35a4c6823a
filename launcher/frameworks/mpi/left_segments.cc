#include "launcher/frameworks/mpi/left_segments.h"

#include <unistd.h>

#include "base/log.h"

namespace muster::launcher {

namespace {

void tell_removed(const mpi::RemovedSegments& removed) {
  if (removed.files == 0) return;
  log::info("ranks.shared_memory", {{"removed", removed.files},
                                    {"bytes", removed.bytes},
                                    {"reason", "ranks that were killed have left it"}});
}

}  // namespace

LeftSegments::LeftSegments(Loop& loop, const Clock& clock)
    : clock_(clock), segments_(loop, mpi::kSegmentFolder, geteuid()) {}

void LeftSegments::attempt_begins() {
  if (since_) segments_.begin(*since_, tell_removed);
  since_ = clock_.wall_now();
}

// Without a word: why the job ended stays the last line.
void LeftSegments::clean_up(const std::function<void()>& done) {
  if (!since_) return done();
  segments_.begin(*since_, [done](const mpi::RemovedSegments&) { done(); });
}

}  // namespace muster::launcher
