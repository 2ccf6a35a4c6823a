// Target: whom the sidecar tells. Each has its own place in the journal (pump.h), so that one that
// is away keeps nobody else waiting. Interface; tests have a fake.
#pragma once

#include <cstddef>
#include <functional>

#include "launcher/sidecar/journal_event.h"

namespace muster::launcher {

/// Everything up to that line is settled: the target has it, or has refused it for good.
using Settled = std::function<void(const JournalMark&)>;

class Target {
 public:
  virtual ~Target() = default;

  /// Called once, before all else. `told`: up to there everything was settled before.
  virtual void begin(const JournalMark& told, Settled settled) = 0;
  /// What it says is made of the whole journal: it is given the lines before `told` as well.
  [[nodiscard]] virtual bool needs_all() const = 0;
  /// Takes more. The owner asks before each take(), and after each call of `settled`.
  [[nodiscard]] virtual bool has_room() const = 0;
  /// In the order of the journal.
  virtual void take(JournalEvent event) = 0;
  /// There is no more in the journal now.
  virtual void caught_up() = 0;
  /// Nothing of what it took is left to be told.
  [[nodiscard]] virtual bool is_idle() const = 0;
  /// How many events, or states, that is.
  [[nodiscard]] virtual size_t waiting() const = 0;
};

}  // namespace muster::launcher
