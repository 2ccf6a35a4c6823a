#include "rendezvous/etcd/etcd_election.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "rendezvous/agreement/events.h"
#include "rendezvous/messages/job_options.h"

namespace muster::rendezvous {

namespace {

// Of leases. A leader's last acknowledgement is 0.8 of its lease old when it must stop, its nodes'
// workers live for 0.8 of a lease more; the mark was renewed at most a sixth of a lease earlier.
constexpr int kMarkLeases = 3;
constexpr int kRenewalsPerLease = 6;
constexpr Duration kLongestPatience = std::chrono::seconds(3);

}  // namespace

EtcdKeys etcd_keys(std::string_view prefix, std::string_view run_id) {
  const std::string job = fmt::format("{}/{}", prefix, run_id);
  return {job + "/leader", job + "/job"};
}

EtcdTimes etcd_times(Duration job_lease) {
  const Duration lease = std::chrono::ceil<std::chrono::seconds>(job_lease);
  const Duration renewal = lease / kRenewalsPerLease;
  return {.lease = lease,
          .mark = lease * kMarkLeases,
          .renewal = renewal,
          .patience = std::min(renewal, kLongestPatience)};
}

void EtcdElection::handle(TimePoint now, EtcdEvent event) {
  const EtcdTransition& row = transition(state_, event);
  MUSTER_CHECK(row.action != EtcdAction::kBug);
  if (row.next != state_) {
    log(log::Level::kDebug, kEventEtcdState,
        fmt::format("{} on {}: {}", to_string(state_), to_string(event), to_string(row.next)));
  }
  state_ = row.next;
  perform(now, row.action);
}

void EtcdElection::perform(TimePoint now, EtcdAction action) {
  switch (action) {
    case EtcdAction::kNothing:
      return;
    case EtcdAction::kAsk:
      outputs_.push_back(etcd_output::Ask{});
      return;
    case EtcdAction::kCampaign:
      outputs_.push_back(etcd_output::Campaign{});
      return;
    case EtcdAction::kFollow:
      followed_lease_ = named_lease_;
      outputs_.push_back(etcd_output::Follow{leader_});
      return;
    case EtcdAction::kDepose:
      outputs_.push_back(etcd_output::Depose{named_lease_});
      outputs_.push_back(etcd_output::GiveUp{reason_});
      return;
    case EtcdAction::kLead:
      valid_until_ = office_.since + lease_times(office_.ttl).fence;
      renew_at_ = now + times_.renewal;
      renewing_ = false;
      log(log::Level::kInfo, kEventEtcdElected, reason_);
      outputs_.push_back(etcd_output::Lead{office_});
      return;
    case EtcdAction::kGiveUp:
      outputs_.push_back(etcd_output::GiveUp{reason_});
      return;
    case EtcdAction::kStop:
      log(log::Level::kError, kEventEtcdLost, reason_);
      outputs_.push_back(etcd_output::StopLeading{reason_});
      return resign();
    case EtcdAction::kResign:
      return resign();
    case EtcdAction::kWithdraw:
      outputs_.push_back(etcd_output::Withdraw{});
      return;
    case EtcdAction::kClose:
      outputs_.push_back(etcd_output::Closed{});
      return;
    case EtcdAction::kBug:
      return;
  }
}

void EtcdElection::resign() {
  // Should it stay because etcd does not answer now, it is ended as soon as etcd names it.
  if (office_.lease != 0) dead_lease_ = office_.lease;
  outputs_.push_back(etcd_output::Resign{office_.lease, job_over_ ? office_.mark_lease : 0});
}

void EtcdElection::seek(TimePoint now) {
  reason_ = "this agent's time as the leader has just ended";
  handle(now, EtcdEvent::kSeek);
}

void EtcdElection::refused() {
  if (linked_lease_ != 0 && linked_lease_ == followed_lease_) dead_lease_ = followed_lease_;
}

void EtcdElection::step_down(TimePoint now, bool job_over) {
  job_over_ = job_over_ || job_over;
  handle(now, EtcdEvent::kStepDown);
}

void EtcdElection::end(TimePoint now) { handle(now, EtcdEvent::kEnd); }

void EtcdElection::vacant(TimePoint now) {
  last_trouble_.clear();
  handle(now, EtcdEvent::kVacant);
}

void EtcdElection::named(TimePoint now, const EtcdLeader& leader, int64_t lease) {
  last_trouble_.clear();
  leader_ = leader;
  named_lease_ = lease;
  // Addresses alone prove nothing: behind bridges and tunnels many pods have the same one.
  const bool ours = leader == self_;
  if (lease == 0 || (lease != dead_lease_ && !ours)) return handle(now, EtcdEvent::kNamed);
  // Whoever published our own name and address before us is gone: we have its port.
  reason_ = fmt::format("etcd still names {} at {}, which is gone: its lease is ended", leader.node,
                        leader.address.to_string());
  log(log::Level::kWarning, kEventEtcdDeposed, reason_);
  handle(now, EtcdEvent::kRefuted);
}

void EtcdElection::won(TimePoint now, const EtcdOffice& office) {
  office_ = office;
  reason_ = fmt::format("revision {}, lease {}{}", office.revision, format_duration(office.ttl),
                        office.first ? "" : ", after another leader");
  if (now < office_.since + lease_times(office_.ttl).fence) return handle(now, EtcdEvent::kWon);
  dead_lease_ = office_.lease;
  failed(now, "the campaign took as long as its lease");
}

void EtcdElection::kept(TimePoint now, TimePoint sent, Duration ttl) {
  renewing_ = false;
  if (state_ != EtcdState::kLeading) return;
  if (ttl <= Duration::zero()) {
    reason_ = "etcd knows nothing of our lease, or our key, any more";
    return handle(now, EtcdEvent::kExpired);
  }
  last_trouble_.clear();
  valid_until_ = std::max(valid_until_, sent + lease_times(ttl).fence);
  renew_at_ = now + times_.renewal;
}

void EtcdElection::resigned(TimePoint now) { handle(now, EtcdEvent::kResigned); }

void EtcdElection::failed(TimePoint now, std::string reason) {
  renewing_ = false;
  renew_at_ = now + times_.renewal / 4;
  reason_ = std::move(reason);
  if (reason_ != last_trouble_) {
    last_trouble_ = reason_;
    log(log::Level::kWarning, kEventEtcdTrouble, reason_);
  }
  handle(now, EtcdEvent::kFailed);
}

void EtcdElection::tick(TimePoint now) {
  if (state_ != EtcdState::kLeading) return;
  if (!may_lead(now)) {
    reason_ = "no renewal of the lease was answered in time: another agent may be elected" +
              (last_trouble_.empty() ? "" : " (" + last_trouble_ + ")");
    return handle(now, EtcdEvent::kExpired);
  }
  if (renewing_ || now < renew_at_) return;
  renewing_ = true;
  outputs_.push_back(etcd_output::KeepAlive{office_.lease, office_.mark_lease});
}

bool EtcdElection::may_lead(TimePoint now) const {
  return state_ == EtcdState::kLeading && now < valid_until_;
}

std::optional<TimePoint> EtcdElection::next_deadline() const {
  if (state_ != EtcdState::kLeading) return std::nullopt;
  return renewing_ ? valid_until_ : std::min(valid_until_, renew_at_);
}

std::vector<EtcdOutput> EtcdElection::take_outputs() { return std::exchange(outputs_, {}); }

void EtcdElection::log(log::Level level, std::string_view event, std::string reason) {
  outputs_.push_back(etcd_output::Log{level, event, std::move(reason)});
}

}  // namespace muster::rendezvous
