// Where each stream of each worker goes, decided from the masks and the console. Pure.
#pragma once

#include <map>
#include <string_view>

namespace muster::launcher {

/// Which of a worker's two streams something applies to; torchrun's mask 0..3.
struct Streams {
  bool out = false;
  bool err = false;
  friend bool operator==(const Streams&, const Streams&) = default;
};

/// --redirects, --tee: one mask for all local ranks, or one each ("0:1,1:3"; unlisted ranks: none).
struct StreamsByRank {
  Streams otherwise;
  std::map<int, Streams> by_local_rank;
  [[nodiscard]] Streams of(int local_rank) const {
    const auto found = by_local_rank.find(local_rank);
    return found == by_local_rank.end() ? otherwise : found->second;
  }
};

enum class StreamMode {
  kInherit,  ///< the worker writes to our own descriptor
  kKept,     ///< through us to nobody: its last lines are kept for the report of a failure
  kFile,     ///< the worker writes to its log file
  kTee,      ///< through us to log file and console
  kConsole,  ///< through us to the console
};

[[nodiscard]] std::string_view to_string(StreamMode mode);

/// What decides it.
struct StreamWishes {
  bool redirect = false;
  bool tee = false;
  bool shown = true;      ///< not excluded by --local-ranks-filter
  bool prefixed = false;  ///< lines on the console get a prefix
  bool terminal = false;  ///< our own stream is a terminal
};

/// A stream in both masks is tee'd. A rank that is not shown still gets its tee file, and the
/// report of its failure its last lines. A worker inherits a terminal when nothing is added to its
/// lines, so that colours, width and progress bars are as without us. A pipe or file is not
/// inherited: lines of ranks would mix in it, and the last ones before a crash would be unknown to
/// us. Source: torch.distributed.elastic 2.6 to 2.14 (DefaultLogsSpecs), which inherits always.
[[nodiscard]] StreamMode choose_stream_mode(const StreamWishes& wishes);

}  // namespace muster::launcher
