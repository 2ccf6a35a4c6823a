// SidecarEnd: when a sidecar has done what it is there for. Pure.
#pragma once

#include <string_view>

#include "base/clock.h"

namespace muster::launcher {

/// After an agent that has gone without a word, or with the word of an end that was told before:
/// another one may go on in the same folder. The kubelet starts a container at once that has ended
/// for the first time, and 10 s after the second.
inline constexpr Duration kSuccessorWait = std::chrono::seconds(15);
/// The same where the job's end was told and this sidecar had nothing to tell.
inline constexpr Duration kNothingNewWait = std::chrono::seconds(3);
/// A pod whose agent has ended is not held longer by a receiver that is away. Two minutes are
/// promised, of which the first signs of an end take some.
inline constexpr Duration kMaxAfterAgent = std::chrono::seconds(110);

/// What it knows.
struct SidecarFacts {
  bool agent_there = false;
  bool has_lines = false;    ///< there is or was a line in the journal
  bool has_end = false;      ///< the last job there has told its end
  bool had_news = false;     ///< something was untold when it began, or came since
  bool delivered = false;    ///< nothing is untold now
  bool asked = false;        ///< a signal asks for its end
  Duration without_agent{};  ///< since it began, or the agent went
  Duration since_asked{};
};

struct SidecarVerdict {
  bool ends = false;
  int exit_code = 0;
  std::string_view reason;
};

/// 75: something was not delivered, and nobody knows how the job ended. Else 0, also where only a
/// receiver is away: a pod whose job has ended well must not fail, and run again, because of it.
[[nodiscard]] int exit_code_of(const SidecarFacts& facts);

/// `flush`: how long it goes on after it was asked to end. It never ends without an agent that was
/// there, or a word.
[[nodiscard]] SidecarVerdict judge_end(const SidecarFacts& facts, Duration flush);

}  // namespace muster::launcher
