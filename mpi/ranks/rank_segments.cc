#include "mpi/ranks/rank_segments.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <memory>
#include <optional>
#include <utility>

#include "base/fd.h"

namespace muster::mpi {

namespace {

// Left by killed ranks of Open MPI 4.1.4 (vader), 5.0.11 (sm) and MPICH 5.0.2 (mpich_shm). UCX,
// Intel MPI 2021.18 and MPICH 4.0.2 (mpich_shar) unlink theirs once all have opened them: they are
// left by those that are killed before.
constexpr std::array<std::string_view, 6> kPrefixes = {"vader_segment.", "sm_segment.",
                                                       "mpich_shm_",     "mpich_shar_tmp",
                                                       "ucx_shm_posix_", "Intel_MPI_"};
// The kernel stamps files with the time of its last tick.
constexpr auto kTick = std::chrono::milliseconds(20);

struct Segment {
  WallTime made;
  uint64_t bytes = 0;
};

// None: not the owner's, no plain file, or it is not known when it was made.
std::optional<Segment> look_at(int fd, uid_t owner) {
  struct statx info {};
  constexpr unsigned kWanted = STATX_BASIC_STATS | STATX_BTIME;
  if (statx(fd, "", AT_EMPTY_PATH, kWanted, &info) != 0) return std::nullopt;
  if (!S_ISREG(info.stx_mode) || info.stx_uid != owner) return std::nullopt;
  if ((info.stx_mask & STATX_BTIME) == 0) return std::nullopt;
  const auto since_epoch = std::chrono::seconds(info.stx_btime.tv_sec) +
                           std::chrono::nanoseconds(info.stx_btime.tv_nsec);
  return Segment{WallTime(std::chrono::duration_cast<WallTime::duration>(since_epoch)),
                 info.stx_size};
}

// Granted only when nobody else has it open for reading or writing, which a mapping does as well.
bool is_in_use(int fd) {
  // Whoever opens it now makes the kernel send a signal, by default one that kills. SIGCHLD is
  // looked into whenever it comes.
  if (fcntl(fd, F_SETSIG, SIGCHLD) != 0) return true;
  return fcntl(fd, F_SETLEASE, F_WRLCK) != 0;
}

using Folder = std::unique_ptr<DIR, int (*)(DIR*)>;
Folder open_folder(const std::string& path) { return {opendir(path.c_str()), closedir}; }

RemovedSegments sweep(const Folder& folder, WallTime since, uid_t owner) {
  RemovedSegments removed;
  const int at = dirfd(folder.get());
  for (size_t looked = 0; looked < kMaxSegmentsLooked; ++looked) {
    const dirent* entry = readdir(folder.get());
    if (entry == nullptr) break;
    if (!is_mpi_segment(entry->d_name)) continue;
    const UniqueFd fd(openat(at, entry->d_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd.is_open()) continue;
    const auto segment = look_at(fd.get(), owner);
    if (!segment || segment->made < since - kTick || is_in_use(fd.get())) continue;
    if (unlinkat(at, entry->d_name, 0) != 0) continue;
    ++removed.files;
    removed.bytes += segment->bytes;
  }
  return removed;
}

}  // namespace

bool is_mpi_segment(std::string_view name) {
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [name](std::string_view prefix) { return name.starts_with(prefix); });
}

void SegmentSweeper::begin(WallTime since, std::function<void(const RemovedSegments&)> done) {
  since_ = since;
  done_ = std::move(done);
  tries_ = 0;
  turn();
}

void SegmentSweeper::turn() {
  const Folder folder = open_folder(folder_);
  // Whoever looks at a file has it open, and would be refused a lease if another looked, too.
  const bool ours = !folder || flock(dirfd(folder.get()), LOCK_EX | LOCK_NB) == 0;
  if (!ours && ++tries_ < kSweepTries) {
    timer_ = loop_.after(kSweepPause, [this] { turn(); });
    return;
  }
  const auto removed = folder ? sweep(folder, since_, owner_) : RemovedSegments();
  std::exchange(done_, {})(removed);
}

}  // namespace muster::mpi
