// StateTarget: a receiver that wants to know how things are, and not how they came about: the
// newest state only, and not too often.
#pragma once

#include <memory>
#include <string>

#include "launcher/sidecar/http_caller.h"
#include "launcher/sidecar/retry_timer.h"
#include "launcher/sidecar/state_report.h"
#include "launcher/sidecar/target.h"

namespace muster::launcher {

inline constexpr std::string_view kEventStopped = "sidecar.stopped";

class StateTarget final : public Target {
 public:
  StateTarget(SidecarDoors doors, std::string shown, std::unique_ptr<StateReport> report, Url url,
              HttpCredentials credentials, Duration retry_max);

  void begin(const JournalMark& told, Settled settled) override;
  [[nodiscard]] bool needs_all() const override { return true; }
  [[nodiscard]] bool has_room() const override { return true; }
  void take(JournalEvent event) override;
  void caught_up() override;
  [[nodiscard]] bool is_idle() const override { return !is_new_ && !sending_; }
  [[nodiscard]] size_t waiting() const override { return is_idle() ? 0 : 1; }

 private:
  void pass(const JournalMark& mark);
  void send();
  void on_answer(const Result<HttpResponse>& answer);
  void again(const Result<HttpResponse>& answer);
  void settle();

  SidecarDoors doors_;
  std::string shown_;
  std::unique_ptr<StateReport> report_;
  HttpCaller caller_;
  RetryTimer retry_;
  Settled settled_;
  JournalMark told_;      // before this one began
  bool at_told_ = false;  // that line was passed, or it is nowhere
  JournalMark latest_;    // that the report has seen
  JournalMark on_way_;    // up to which the request under way tells
  bool is_new_ = false;   // something of it is not told
  bool sending_ = false;
  bool stopped_ = false;
  TimePoint next_at_;  // not before
  Timer spacing_;
};

}  // namespace muster::launcher
