#include "mpi/rsh/rsh_drain.h"

#include <array>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/text.h"

namespace muster::mpi {

namespace {

using enum DrainState;
using enum DrainEvent;
using enum DrainAction;

constexpr std::string_view kOnce = "a node goes once";
constexpr std::string_view kNotYet = "nothing was begun";
constexpr std::string_view kOver = "it is over";

// clang-format off: a row is a line.
struct Life : LifeCycle<DrainState, DrainEvent, DrainAction> {
  static constexpr std::array kTable{
      go(kIdle, kBegin, kAwaiting, kAwait),
      ignore(kIdle, kAllEnded, kNotYet),
      bug(kIdle, kTimeOver, kNotYet),
      ignore(kIdle, kHurry, kNotYet),

      bug(kAwaiting, kBegin, kOnce),
      go(kAwaiting, kAllEnded, kDone, kFinish),
      go(kAwaiting, kTimeOver, kTerminating, kTerminate),
      go(kAwaiting, kHurry, kDone, kFinish),

      bug(kTerminating, kBegin, kOnce),
      go(kTerminating, kAllEnded, kDone, kFinish),
      go(kTerminating, kTimeOver, kDone, kFinish),
      go(kTerminating, kHurry, kDone, kFinish),

      bug(kDone, kBegin, kOnce),
      ignore(kDone, kAllEnded, kOver),
      bug(kDone, kTimeOver, kOver),
      ignore(kDone, kHurry, kOver),
  };
};
// clang-format on
static_assert(Life::is_complete(Life::kTable, kDone, kHurry),
              "not all pairs, by state, then event");

}  // namespace

std::string_view to_string(DrainState state) {
  switch (state) {
    case kIdle:
      return "Idle";
    case kAwaiting:
      return "Awaiting";
    case kTerminating:
      return "Terminating";
    case kDone:
      return "Done";
  }
  MUSTER_CHECK(false);
}

std::string_view to_string(DrainEvent event) {
  switch (event) {
    case kBegin:
      return "Begin";
    case kAllEnded:
      return "AllEnded";
    case kTimeOver:
      return "TimeOver";
    case kHurry:
      return "Hurry";
  }
  MUSTER_CHECK(false);
}

std::span<const DrainTransition> drain_transitions() { return Life::kTable; }

const DrainTransition& transition(DrainState state, DrainEvent event) {
  return Life::find(Life::kTable, state, event);
}

void RshDrain::begin(Duration grace, std::function<void()> done) {
  grace_ = grace;
  done_ = std::move(done);
  handle(kBegin);
}

void RshDrain::wait() {
  timer_ = loop_.after(grace_ / 2, [this] { handle(kTimeOver); });
}

void RshDrain::handle(DrainEvent event) {
  const DrainTransition& row = transition(state_, event);
  state_ = row.next;
  switch (row.action) {
    case kNothing:
      return;
    case kAwait:
      log::info("rsh.drain", {{"grace_s", to_seconds(grace_)},
                              {"action", "commands of other nodes may end by themselves"}});
      return wait();
    case kTerminate:
      log::info("rsh.drain", {{"grace_s", to_seconds(grace_ / 2)},
                              {"action", "commands of other nodes get SIGTERM"}});
      terminate_();
      return wait();
    case kFinish:
      timer_.reset();
      return done_();
    case kBug:
      MUSTER_CHECK(row.action != kBug);
  }
}

}  // namespace muster::mpi
