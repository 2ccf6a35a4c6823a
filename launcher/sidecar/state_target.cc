#include "launcher/sidecar/state_target.h"

#include <utility>

#include "base/log.h"

namespace muster::launcher {

StateTarget::StateTarget(SidecarDoors doors, std::string shown, std::unique_ptr<StateReport> report,
                         Url url, HttpCredentials credentials, Duration retry_max)
    : doors_(doors),
      shown_(std::move(shown)),
      report_(std::move(report)),
      caller_(doors, std::move(url), std::move(credentials)),
      retry_(doors, shown_, retry_max) {}

void StateTarget::begin(const JournalMark& told, Settled settled) {
  told_ = told;
  at_told_ = told.seq == 0;
  settled_ = std::move(settled);
}

void StateTarget::take(JournalEvent event) {
  latest_ = event.mark;
  if (report_->take(event) && !stopped_) is_new_ = true;
  if (!at_told_) pass(event.mark);
}

// A number alone says nothing: the journal may be another one than that of which was told.
void StateTarget::pass(const JournalMark& mark) {
  if (mark != told_) return;
  at_told_ = true;
  is_new_ = false;  // all of it was told
}

// Where the line is nowhere, nothing of this journal was told.
void StateTarget::caught_up() {
  at_told_ = true;
  send();
}

void StateTarget::send() {
  if (!is_new_ || sending_ || retry_.is_waiting() || spacing_.is_active()) return;
  if (doors_.loop.now() < next_at_) {
    spacing_ = doors_.loop.at(next_at_, [this] { send(); });
    return;
  }
  auto request = report_->request();
  is_new_ = false;
  if (!request) return;
  sending_ = true;
  on_way_ = latest_;
  next_at_ = doors_.loop.now() + report_->spacing();
  caller_.call(*std::move(request), report_->deadline(),
               [this](const Result<HttpResponse>& answer) { on_answer(answer); });
}

void StateTarget::on_answer(const Result<HttpResponse>& answer) {
  sending_ = false;
  if (!answer) return again(answer);
  switch (report_->judge(answer->status)) {
    case StateVerdict::kTaken:
      retry_.succeeded();
      return settle();
    case StateVerdict::kAgain:
      return again(answer);
    case StateVerdict::kAnew:
      caller_.forget_connection();
      return again(answer);
    case StateVerdict::kAtOnce:
      retry_.succeeded();
      is_new_ = true;
      return send();
    case StateVerdict::kDropped:
      retry_.succeeded();
      log::warning(kEventWaiting, {{"target", shown_},
                                   {"error", problem_of(answer)},
                                   {"action", "not sending this again"}});
      return settle();
    case StateVerdict::kStop:
      stopped_ = true;
      is_new_ = false;
      log::warning(kEventStopped, {{"target", shown_},
                                   {"error", problem_of(answer)},
                                   {"action", "telling it nothing more"}});
      return settle();
  }
}

void StateTarget::again(const Result<HttpResponse>& answer) {
  is_new_ = true;
  retry_.wait(problem_of(answer),
              answer ? asked_wait(*answer, doors_.clock.wall_now()) : std::nullopt,
              [this] { send(); });
}

void StateTarget::settle() {
  settled_(on_way_);
  send();
}

}  // namespace muster::launcher
