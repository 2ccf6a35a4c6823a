// RshReporter: the part of a connection on which a rank of an MPI job reports (rsh_ranks.h): which
// of its messages has its place, and who hears of it. RshRequest owns it.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "mpi/rsh/rsh_protocol.h"
#include "mpi/rsh/rsh_ranks.h"

namespace muster::mpi {

class RshReporter {
 public:
  /// `hooks` is borrowed; `line` tells this connection from all others, `agent` this agent (its
  /// incarnation).
  RshReporter(const RankHooks& hooks, uint64_t line, uint64_t agent)
      : hooks_(hooks), line_(line), agent_(agent) {}

  /// None: no message of a rank. True: it is to be answered with rsh::Noted. kProtocol: it has no
  /// place here; neither has a rank that begins where not `may_begin`. Other errors refuse the
  /// rank.
  std::optional<Result<bool>> take(const RshMessage& message, bool may_begin);
  /// The connection is over.
  void gone();
  /// A rank lives and has not told its end.
  [[nodiscard]] bool is_there() const { return is_there_; }

 private:
  Result<bool> begin(const rsh::Rank& rank);

  const RankHooks& hooks_;
  uint64_t line_;
  uint64_t agent_;
  bool is_there_ = false;
};

}  // namespace muster::mpi
