// PmiRelay: stands between a rank and its MPICH or Intel MPI daemon on their PMI connection, passes
// everything on as it is, and notes whether the rank began with MPI and left it. The daemons of
// both hang, or say 0, when a rank leaves without MPI_Finalize; here it is seen.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/loop.h"
#include "base/result.h"
#include "mpi/rank/byte_relay.h"

namespace muster::mpi {

/// Finds words of PMI in a stream that comes in pieces. Pure. "cmd=NAME" in PMI-1 (a line) and
/// PMI-2 (an item); MPICH 4.0 to 5.0 and Intel MPI 2021 speak PMI-1.
class PmiWatch {
 public:
  void see(std::string_view bytes);                        ///< from the rank to its daemon
  [[nodiscard]] bool has_begun() const { return began_; }  ///< with MPI
  /// It began with MPI and did not leave it.
  [[nodiscard]] bool is_inside() const { return began_ && !left_; }
  /// It has started further ranks (MPI_Comm_spawn).
  [[nodiscard]] bool has_spawned() const { return spawned_; }
  /// What it gave to MPI_Abort.
  [[nodiscard]] std::optional<int> aborted() const { return aborted_; }

 private:
  std::string tail_;  // of the last piece: a word may be cut anywhere
  bool began_ = false;
  bool left_ = false;
  bool spawned_ = false;
  std::optional<int> aborted_;
};

class PmiRelay {
 public:
  /// `daemon_fd` is the inherited PMI_FD, taken over. kOs.
  static Result<std::unique_ptr<PmiRelay>> create(Loop& loop, UniqueFd daemon_fd);
  PmiRelay(const PmiRelay&) = delete;
  PmiRelay& operator=(const PmiRelay&) = delete;

  /// The rank's end, to be inherited; close it after the spawn.
  UniqueFd take_rank_end() { return std::move(rank_end_); }
  /// Called from the loop when the rank begins with MPI, and when it aborts, before its daemon
  /// hears of that; may be empty.
  Status start(std::function<void()> began, std::function<void(int code)> aborted);
  /// The rank has ended: passes on what it still said.
  void drain() { relay_->drain(); }
  [[nodiscard]] bool has_begun() const { return watch_.has_begun(); }
  [[nodiscard]] bool is_inside() const { return watch_.is_inside(); }
  [[nodiscard]] bool has_spawned() const { return watch_.has_spawned(); }

 private:
  explicit PmiRelay(UniqueFd rank_end) : rank_end_(std::move(rank_end)) {}

  UniqueFd rank_end_;
  PmiWatch watch_;
  std::function<void()> began_;            // once
  std::function<void(int code)> aborted_;  // once
  std::unique_ptr<ByteRelay> relay_;
};

}  // namespace muster::mpi
