// Ending: how the workers of an attempt are told to save and to end (docs/stopping.md), and how
// long they have for it. When they are, and what follows, is the worker group's table
// (elastic/worker_group.h), which local_group.h drives.
//
// In the order of life: the ranks below a launcher get the signal; the rank processes get it when
// those have ended, or at once if there are none; what the rank processes have left behind gets it
// when they have ended. When the grace period is over, whoever is left is killed by the owner.
#pragma once

#include <functional>
#include <vector>

#include "base/loop.h"
#include "base/process/supervisor.h"
#include "launcher/frameworks/driver.h"

namespace muster::launcher {

/// Both come from the loop or from ranks_gone().
struct EndingCallbacks {
  std::function<void()> grace_over;
  /// After notify(): the ranks that another node's launcher had started here have ended, and
  /// nothing else runs here.
  std::function<void()> saved;
};

class Ending {
 public:
  /// All are borrowed.
  Ending(Loop& loop, Supervisor& supervisor, FrameworkDriver& driver, EndingCallbacks callbacks)
      : loop_(loop), supervisor_(supervisor), driver_(driver), callbacks_(std::move(callbacks)) {}
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;

  /// A new life: a stop that nobody asks for is SIGTERM and has this time.
  void begin_life(Duration grace);
  /// A new attempt, whose workers were told nothing.
  void begin_attempt() { word_ = Word::kNone; }

  /// Whoever is told to end from now on gets this signal and this time; it tells nobody. Who was
  /// told before has the time from now.
  void ask(int signal, Duration grace);
  /// The time from now, if that is less than what was given.
  void shorten(Duration grace);
  /// A signal that asks the workers to save and end. False: nobody was there to be told.
  bool notify(int signal);
  /// The stop signal to all workers; the grace period begins.
  void terminate();
  /// No rank process is left: waits for what they have left behind (Supervisor::await_rest, which
  /// may call back at once), and tells it to end; after a moment if nobody was told before.
  void end_rest();
  /// The driver has no ranks any more, or may have none (FrameworkDriver::has_ranks).
  void ranks_gone();
  /// Nobody is to be told anything any more: a sweep has begun, or nothing is left.
  void over();

  /// The workers were told to save, and not yet to end.
  [[nodiscard]] bool is_saving() const { return word_ == Word::kSave; }
  /// When ask() was last called.
  [[nodiscard]] TimePoint asked() const { return asked_; }

 private:
  enum class Word { kNone, kSave, kEnd };  // the last one to the workers of the attempt
  bool tell(int signal);
  void await_ranks();
  void look_for_ranks();
  void arm_grace();
  void grace_over();
  std::vector<pid_t> tell_rest();

  Loop& loop_;
  Supervisor& supervisor_;
  FrameworkDriver& driver_;
  EndingCallbacks callbacks_;
  Word word_ = Word::kEnd;  // no attempt has begun
  int save_signal_ = 0;     // of kSave
  int stop_signal_ = 0;     // of kEnd
  TimePoint asked_;
  Duration grace_{};
  Timer ranks_timer_;  // active until the ranks of a launcher have ended that were told
  Timer rest_timer_;   // until what workers that succeeded left behind is told to end
  Timer grace_timer_;
};

}  // namespace muster::launcher
