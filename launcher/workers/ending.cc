#include "launcher/workers/ending.h"

#include <algorithm>
#include <csignal>
#include <span>
#include <string>

#include "base/log.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

// Between two looks for ranks.
constexpr Duration kRanksInterval = std::chrono::milliseconds(100);
// What workers that succeeded leave behind may end by itself for a moment; Python's helpers need
// it.
constexpr Duration kRestSettles = std::chrono::milliseconds(200);
// Then it is told to end and has this time, or the grace period if that is shorter.
constexpr Duration kRestGrace = std::chrono::seconds(5);
// Of those, so many are named.
constexpr size_t kShownProcesses = 5;

std::string names_of(std::span<const pid_t> pids) {
  std::vector<std::string> names;
  for (const pid_t pid : pids.first(std::min(pids.size(), kShownProcesses)))
    names.push_back(name_of_process(pid) + " (pid " + std::to_string(pid) + ")");
  if (pids.size() > names.size())
    names.push_back(std::to_string(pids.size() - names.size()) + " others");
  return join(names, ", ");
}

}  // namespace

void Ending::begin_life(Duration grace) {
  stop_signal_ = SIGTERM;
  grace_ = grace;
}

void Ending::ask(int signal, Duration grace) {
  stop_signal_ = signal;
  asked_ = loop_.now();
  grace_ = grace;
  if (grace_timer_.is_active()) arm_grace();
  // A stopped process takes no signal but SIGKILL; it would sit out the whole grace period.
  supervisor_.forward_to_groups(SIGCONT);
}

void Ending::shorten(Duration grace) {
  grace_ = std::min(grace_, grace);
  if (grace_timer_.is_active()) arm_grace();
}

bool Ending::notify(int signal) {
  save_signal_ = signal;
  if (word_ == Word::kNone) word_ = Word::kSave;
  return tell(signal);
}

void Ending::terminate() {
  word_ = Word::kEnd;
  (void)tell(stop_signal_);  // with nobody to be told, the owner knows
  arm_grace();
}

// False: nobody was there to be told.
bool Ending::tell(int signal) {
  if (driver_.tell_ranks(signal)) {
    await_ranks();
    return true;
  }
  supervisor_.terminate(signal);
  return supervisor_.running() > 0;
}

// Ranks on other nodes are heard of at once, those that daemons here have started are looked for.
void Ending::await_ranks() {
  ranks_timer_ = loop_.after(kRanksInterval, [this] { look_for_ranks(); });
}

void Ending::ranks_gone() {
  if (ranks_timer_.is_active()) look_for_ranks();
}

void Ending::look_for_ranks() {
  if (driver_.has_ranks()) return await_ranks();
  ranks_timer_.reset();
  if (word_ == Word::kEnd) return supervisor_.terminate(stop_signal_);
  if (supervisor_.running() > 0) return supervisor_.terminate(save_signal_);
  callbacks_.saved();
}

void Ending::arm_grace() {
  grace_timer_ = loop_.after(grace_, [this] { grace_over(); });
}

void Ending::grace_over() {
  std::vector<pid_t> pids;
  for (const Descendant& each : supervisor_.descendants()) pids.push_back(each.pid);
  log::warning("group.grace_over", {{"grace_s", to_seconds(grace_)},
                                    {"workers", supervisor_.running()},
                                    {"processes", names_of(pids)},
                                    {"action", "killing them"}});
  callbacks_.grace_over();
}

// The rank processes have ended. What they left behind may still have something to save, too.
void Ending::end_rest() {
  word_ = Word::kEnd;
  if (supervisor_.await_rest()) return;
  if (grace_timer_.is_active()) return (void)tell_rest();
  grace_ = std::min(grace_, kRestGrace);
  rest_timer_ = loop_.after(kRestSettles, [this] {
    const auto told = tell_rest();
    log::warning(
        "group.left_behind",
        {{"processes", names_of(told)},
         {"action", "every worker has succeeded: SIGTERM to what is left of them, SIGKILL after " +
                        format_duration(grace_)}});
    arm_grace();
  });
}

std::vector<pid_t> Ending::tell_rest() { return supervisor_.terminate_rest(stop_signal_); }

void Ending::over() {
  ranks_timer_.reset();
  rest_timer_.reset();
  grace_timer_.reset();
}

}  // namespace muster::launcher
