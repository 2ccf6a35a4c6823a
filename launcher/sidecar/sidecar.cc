#include "launcher/sidecar/sidecar.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/exit_code.h"
#include "base/log.h"
#include "base/text.h"
#include "launcher/sidecar/pod_report.h"
#include "launcher/sidecar/state_target.h"
#include "launcher/sidecar/stdout_target.h"
#include "launcher/sidecar/trainjob_report.h"
#include "launcher/sidecar/webhook_target.h"

namespace muster::launcher {

Status can_tell(const ReportTarget& target, const Environment& environment, const Files& files) {
  if (target.kind == TargetKind::kTrainJob) {
    if (auto place = find_trainjob(environment); !place) return std::move(place).error();
  } else if (target.kind == TargetKind::kAnnotation) {
    if (auto place = find_pod(environment, files); !place) return std::move(place).error();
  }
  return {};
}

Sidecar::Sidecar(SidecarDoors doors, SidecarOptions options, const Environment& environment,
                 std::function<void(int)> ended)
    : doors_(doors),
      options_(std::move(options)),
      environment_(environment),
      ended_(std::move(ended)),
      watch_(doors.loop, options_.folder, [this] { look(); }) {}

Status Sidecar::start() {
  MUSTER_RETURN_IF_ERROR(check_targets());
  std::vector<std::string> names;
  for (const ReportTarget& target : options_.targets) names.push_back(shown(target));
  log::info(kEventSidecarStart, {{"folder", options_.folder}, {"targets", join(names, ", ")}});
  warn_of_open_token();
  without_agent_since_ = doors_.loop.now();
  watch_.begin();
  return {};
}

void Sidecar::warn_of_open_token() const {
  if (options_.webhook.token_file.empty()) return;
  for (const ReportTarget& target : options_.targets) {
    const bool open = target.kind == TargetKind::kWebhook && !target.url.secure;
    const auto numeric = parse_numeric_host(target.url.host);
    const bool here =
        target.url.host == "localhost" || (numeric && Address{*numeric, 0}.is_loopback());
    if (!open || here) continue;
    log::warning(kEventOpenToken,
                 {{"target", shown(target)},
                  {"action", "sending the token where others can read it: https://"}});
  }
}

// One that is not to be had here must not keep the others from being told.
Status Sidecar::check_targets() {
  std::optional<Error> last;
  std::erase_if(options_.targets, [this, &last](const ReportTarget& target) {
    const Status fine = can_tell(target, environment_, doors_.files);
    if (fine) return false;
    log::warning(kEventNoTarget, {{"target", shown(target)},
                                  {"error", fine.error().text},
                                  {"action", "going on without it"}});
    last = fine.error();
    return true;
  });
  if (options_.targets.empty() && last) return *last;
  return {};
}

std::unique_ptr<Target> Sidecar::make_target(const ReportTarget& target) const {
  const std::string name = shown(target);
  if (target.kind == TargetKind::kTrainJob) {
    if (auto place = find_trainjob(environment_)) {
      return std::make_unique<StateTarget>(doors_, name, std::make_unique<TrainJobReport>(),
                                           place->url, place->credentials, options_.retry_max);
    }
  }
  if (target.kind == TargetKind::kAnnotation) {
    if (auto place = find_pod(environment_, doors_.files)) {
      return std::make_unique<StateTarget>(doors_, name, std::make_unique<PodReport>(), place->url,
                                           place->credentials, options_.retry_max);
    }
  }
  if (target.kind == TargetKind::kWebhook) {
    return std::make_unique<WebhookTarget>(doors_, name, target.url, options_.webhook,
                                           DeadLetters(options_.folder, name_of(target)),
                                           options_.retry_max);
  }
  return std::make_unique<StdoutTarget>(doors_.loop, STDOUT_FILENO);
}

// Once the folder is there. False: not yet.
bool Sidecar::open_folder() {
  if (lock_.is_open()) return true;
  if (!doors_.files.is_directory(options_.folder)) {
    if (doors_.files.exists(options_.folder))
      refuse({Code::kConfig, 0, "'" + options_.folder + "' is no folder"});
    return false;
  }
  auto lock = lock_sidecar(options_.folder);
  if (!lock) {
    const bool taken = lock.error().os_errno == EWOULDBLOCK;
    if (!taken || !options_.after_another) {
      refuse(lock.error());
    } else if (!std::exchange(other_there_, true)) {
      log::warning(kEventWaiting,
                   {{"error", lock.error().text}, {"action", "going on when that one ends"}});
    }
    return false;
  }
  lock_ = *std::move(lock);
  other_there_ = false;
  for (const ReportTarget& target : options_.targets) {
    pumps_.push_back(std::make_unique<Pump>(doors_.loop, options_.folder, name_of(target),
                                            shown(target), make_target(target),
                                            [this] { end_if_done(); }));
  }
  return true;
}

void Sidecar::refuse(const Error& error) {
  const bool taken = error.os_errno == EWOULDBLOCK;
  log::error(kEventSidecarEnd, {{"reason", error.text}});
  if (const auto ended = std::exchange(ended_, nullptr))
    ended(taken ? kExitRetry : exit_code_of(error));
}

// The agent first: what it has written before it let go is then read below.
void Sidecar::look() {
  if (!ended_) return;
  const bool there = agent_is_there(options_.folder);
  if (agent_there_ && !there) without_agent_since_ = doors_.loop.now();
  agent_there_ = there;
  if (open_folder()) {
    for (const auto& pump : pumps_) pump->poke();
  }
  end_if_done();
}

SidecarFacts Sidecar::facts() const {
  SidecarFacts facts;
  facts.agent_there = agent_there_;
  facts.delivered = !other_there_;  // nothing is known of what it tells
  facts.has_end = !pumps_.empty();
  for (const auto& pump : pumps_) {
    facts.has_lines = facts.has_lines || pump->has_lines();
    facts.had_news = facts.had_news || pump->had_news();
    facts.delivered = facts.delivered && pump->is_done();
    facts.has_end = facts.has_end && pump->has_end();
  }
  const TimePoint now = doors_.loop.now();
  facts.without_agent = now - without_agent_since_;
  facts.asked = asked_at_.has_value();
  if (asked_at_) facts.since_asked = now - *asked_at_;
  return facts;
}

void Sidecar::end_if_done() {
  if (!ended_) return;
  const SidecarVerdict verdict = judge_end(facts(), options_.flush_timeout);
  if (verdict.ends) finish(verdict);
}

void Sidecar::end() {
  if (!ended_) return;
  if (asked_at_) return finish({true, exit_code_of(facts()), "told twice"});
  asked_at_ = doors_.loop.now();
  flush_ = doors_.loop.after(options_.flush_timeout, [this] { end_if_done(); });
  later_ = doors_.loop.soon([this] { look(); });
}

void Sidecar::finish(const SidecarVerdict& verdict) {
  told_all_ = facts().delivered && !agent_there_;
  for (const auto& pump : pumps_) {
    if (pump->is_done()) continue;
    log::error(kEventUndelivered, {{"target", pump->shown()},
                                   {"waiting", pump->waiting()},
                                   {"folder", options_.folder},
                                   {"action", "it stays in the journal, for another sidecar"}});
  }
  log::info(kEventSidecarEnd, {{"reason", verdict.reason}, {"exit_code", verdict.exit_code}});
  const auto ended = std::exchange(ended_, nullptr);
  ended(verdict.exit_code);
}

}  // namespace muster::launcher
