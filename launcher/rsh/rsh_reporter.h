// RshReporter: the part of a connection on which a rank or a launcher of an MPI job reports
// (rsh_ranks.h): which of its messages has its place, and who hears of it. RshRequest owns it.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "launcher/rsh/rsh_protocol.h"
#include "launcher/rsh/rsh_ranks.h"

namespace muster::launcher {

class RshReporter {
 public:
  /// `hooks` is borrowed; `line` tells this connection from all others.
  RshReporter(const RankHooks& hooks, uint64_t line) : hooks_(hooks), line_(line) {}

  /// None: no message of a reporter's. True: it is to be answered with rsh::Noted. kProtocol: it
  /// has no place here, nor has a first one where not `may_begin`. Other errors refuse who begins.
  std::optional<Result<bool>> take(const RshMessage& message, bool may_begin);
  /// The connection is over.
  void gone();
  /// One lives and has not told its end.
  [[nodiscard]] bool is_there() const { return who_ != Who::kNobody; }
  [[nodiscard]] bool is_launcher() const { return who_ == Who::kLauncher; }

 private:
  enum class Who { kNobody, kRank, kLauncher };
  Result<bool> begin(Who who, const Status& noted);

  const RankHooks& hooks_;
  uint64_t line_;
  Who who_ = Who::kNobody;
};

}  // namespace muster::launcher
