// Console: the agent's own stdout and stderr as sinks. When both are one terminal or pipe they are
// one sink, so that their lines cannot be mixed. Made first thing, before options are read.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.h"
#include "launcher/output/sink.h"

namespace muster::launcher {

class Console {
 public:
  /// `loop` is borrowed for the life of the console, the descriptors too. `may_reopen`:
  /// console_fd.h. A closed descriptor is no error: what is written there is counted as lost.
  explicit Console(Loop& loop, int out_fd = 1, int err_fd = 2, bool may_reopen = true);

  [[nodiscard]] Sink& out() { return *out_; }
  [[nodiscard]] Sink& err() { return err_ ? *err_ : *out_; }

  /// A finished line of our own log (log::set_sink), with '\n'; goes to stderr, ahead of workers'.
  void write_agent_line(std::string_view line) { err().write_own_line(line); }

  /// Nothing waits to be shown.
  [[nodiscard]] bool is_drained() const;
  /// Gives up what still waits; it is counted.
  void abandon();
  /// What was lost, one line per sink; empty = everything was shown. For the outcome.
  [[nodiscard]] std::vector<std::string> problems() const;
  /// How many lines were lost so far.
  [[nodiscard]] uint64_t lines_lost() const {
    return out_->lost().lines + (err_ ? err_->lost().lines : 0);
  }
  /// Logs those that were not logged before.
  void log_problems();

 private:
  std::unique_ptr<Sink> out_;
  std::unique_ptr<Sink> err_;  // none = the same object as out_
  std::vector<std::string> logged_;
};

}  // namespace muster::launcher
