// What an agent tells `muster rank` about the output of its rank: the words of --redirects, --tee,
// --local-ranks-filter and --log-line-prefix-template, which concern ranks and not their launcher.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launcher/output/output.h"

namespace muster::launcher {

/// A rank shares the way to its launcher with others: the piece of a line that is shown may have
/// another rank's line behind it. So it waits longer, as a loaded machine may hold up the writer.
inline constexpr Duration kRankUnfinishedShownAfter = std::chrono::seconds(2);

/// How the streams of ranks are treated, on every node of the job.
struct RankStreams {
  StreamsByRank redirects;
  StreamsByRank tee;
  std::vector<int> shown;            ///< local ranks; empty = all
  std::string role;                  ///< ${role_name}
  std::string prefix;                ///< template; "" = none
  bool prefix_tee_only = false;      ///< OutputOptions::prefix_tee_only
  bool prefix_several_only = false;  ///< no prefix for the rank of a world of one
};

/// The value of mpi::kRankStreamsVariable, a JSON object.
[[nodiscard]] std::string encode(const RankStreams& streams);
/// kConfig: it is none that encode() has written.
[[nodiscard]] Result<RankStreams> parse_rank_streams(std::string_view text);

/// For the streams of a rank of `world_size`. `attempt_dir`: "" = no files.
[[nodiscard]] OutputOptions output_options(const RankStreams& streams, int world_size,
                                           std::string attempt_dir);

}  // namespace muster::launcher
