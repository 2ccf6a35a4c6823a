// What agents hear of an MPI job: from its ranks (`muster rank`, messages of rsh_protocol.h), and
// of the daemons that a launcher had started. launcher/frameworks/mpi/mpi_job.h listens.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/process.h"
#include "base/result.h"

namespace muster::mpi {

inline constexpr uint32_t kMaxRanks = 1 << 20;  ///< of one world

namespace rsh {

/// A rank of an MPI job begins (`muster rank`); the connection stays open while it lives. `node` ""
/// = that of the launcher.
struct Rank {
  std::string run_id = {};
  uint64_t agent = 0;  ///< incarnation of whom it is for; another one refuses it
  std::string node = {};
  uint32_t round = 0;
  uint32_t rank = 0;
  uint32_t size = 0;  ///< ranks of its world, as the launcher told it
  uint32_t pid = 0;
  uint32_t launcher = 0;  ///< a number of its own; 0 = not known
  uint32_t world = 0;     ///< 0 = the launcher's first, else ranks that other ranks have started
};
/// It was seen to begin with MPI; not every MPI lets that be seen.
struct RankInit {};
/// It ended, with `code` or by `signal` (0 = none). Answered with Noted.
struct RankEnd {
  uint8_t code = 0;
  uint8_t signal = 0;
  uint8_t told = 0;    ///< the last signal that it was sent through `muster rank`; 0 = none
  bool asked = false;  ///< its agent sent it before its launcher did
  bool without_finalize = false;  ///< seen to begin with MPI and not to leave it
  bool aborted = false;           ///< by MPI_Abort with that code; told before the rank ends
  bool has_spawned = false;       ///< seen to start further ranks, which may not report
  bool out_of_memory = false;     ///< the OOM killer ended a process of its container
  std::string shortage = {};      ///< what its container ran short of (shortage.h); "" = not known
  std::string logs = {};          ///< the folder of its log files; "" = it has none
  std::string last_lines = {};    ///< of its output, joined by '\n'; at most kMaxRshLinesBytes
};
struct Noted {};

}  // namespace rsh

/// Who hears of ranks, each known by the `line` that it reports on. May be empty: then ranks are
/// refused. None may destroy the request.
struct RankHooks {
  std::function<Status(uint64_t line, const rsh::Rank&)> began;  ///< an error refuses it
  std::function<void(uint64_t line)> in_mpi = {};                ///< RankInit; may be empty
  /// True: its launcher may notice now, for `muster rank` ends. Else the rank's place is held until
  /// the launcher has ended, which kills the others for it.
  std::function<bool(uint64_t line, const rsh::RankEnd&)> ended;
  std::function<void(uint64_t line)> lost;  ///< gone without a word about its end
};

/// A command that ended by itself, or after SIGTERM because its caller was gone.
struct RshCommandEnd {
  std::string caller;
  bool caller_gone = false;
  bool told = false;    ///< it ended by a signal that its caller sent
  std::string program;  ///< rsh_program_name()
  pid_t pid = 0;        ///< for display
  ExitStatus status;
  std::string last_words = {};  ///< the end of its stderr
  Duration alive{};
};

}  // namespace muster::mpi
