// StateReport: a state that the journal tells bit by bit, and the request that says it as it is
// now. Pure: it sees no connection. state_target.h sends it.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/http.h"
#include "launcher/sidecar/journal_event.h"

namespace muster::launcher {

enum class StateVerdict {
  kTaken,    ///< the receiver knows it
  kAgain,    ///< later, as it will be then
  kAnew,     ///< the same over another connection, for which the token is read again
  kAtOnce,   ///< the report says less now
  kDropped,  ///< this will not be taken; what comes next may be
  kStop,     ///< nobody is there who takes any
};

class StateReport {
 public:
  virtual ~StateReport() = default;
  /// The next event of the journal. True: there is something to say that is new.
  virtual bool take(const JournalEvent& event) = 0;
  /// All of it; none = nothing is to be said by this node.
  [[nodiscard]] virtual std::optional<HttpRequest> request() const = 0;
  /// Of the answer to request().
  virtual StateVerdict judge(int status) = 0;
  /// A request has so long, from its connection on.
  [[nodiscard]] virtual Duration deadline() const = 0;
  /// Between two of them.
  [[nodiscard]] virtual Duration spacing() const = 0;
};

}  // namespace muster::launcher
