// WorkerFailures: what a member has told its leader of failed workers of its round, and what it
// asks: may one start again alone? Pure; for Member's sources alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "rendezvous/messages/agent_messages.h"
#include "rendezvous/messages/leader_messages.h"

namespace muster::rendezvous {

struct WorkerFailures {
  std::vector<Failure> all;  ///< that ended the round here
  size_t told = 0;           ///< the first ones of them, to this leader or a former
  /// Questions that are not answered. The first one was asked, and is asked again on a new link.
  std::deque<LoneFailure> open;
  uint64_t asked = 0;  ///< questions of this round

  /// Numbers the question. True: it is to be asked now, else after those before it.
  bool ask(LoneFailure question) {
    question.sequence = ++asked;
    open.push_back(std::move(question));
    return open.size() == 1;
  }
  /// The question that this answers; none = it is the answer to another node, or comes again.
  std::optional<LoneFailure> answered(const MayRestart& answer) {
    if (open.empty()) return std::nullopt;
    const LoneFailure& first = open.front();
    if (answer.round != first.round || answer.sequence != first.sequence ||
        answer.rank != first.rank)
      return std::nullopt;
    std::optional<LoneFailure> question = std::move(open.front());
    open.pop_front();
    return question;
  }
};

}  // namespace muster::rendezvous
