#include "launcher/agent/finding/etcd_candidates.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/log.h"

namespace muster::launcher {

namespace {

namespace etcd_output = rendezvous::etcd_output;

Result<Duration> kept_for(const Result<HttpResponse>& response, std::string_view what) {
  auto ttl =
      response ? rendezvous::read_keep_alive(*response) : Result<Duration>(Error(response.error()));
  if (!ttl) return std::move(ttl).error().with_context(std::string(what) + " not renewed");
  return ttl;
}

// `ttl` as long as the key is that of `lease`, else zero.
Result<Duration> held_for(const Result<HttpResponse>& response, int64_t lease, Duration ttl) {
  auto entry = response ? rendezvous::read_range(*response)
                        : Result<std::optional<rendezvous::EtcdEntry>>(Error(response.error()));
  if (!entry) return std::move(entry).error().with_context("key not looked at");
  return *entry && (*entry)->lease == lease ? ttl : Duration::zero();
}

Error with_key(Error error, const std::string& key) {
  return std::move(error).with_context("etcd key '" + key + "'");
}

}  // namespace

EtcdCandidates::EtcdCandidates(Loop& loop, Resolver& resolver, Network& network,
                               EtcdOptions options, EtcdSelf self, EtcdHooks hooks)
    : loop_(loop),
      self_(std::move(self)),
      times_(rendezvous::etcd_times(self_.lease)),
      keys_(rendezvous::etcd_keys(options.prefix, self_.run_id)),
      hooks_(std::move(hooks)),
      client_(loop, resolver, network, std::move(options.servers), times_.patience),
      election_(times_) {}

void EtcdCandidates::find() {
  election_.seek(loop_.now());
  wake();
}

void EtcdCandidates::settle(bool leading, bool job_over) {
  // Won in this very turn: nobody here knows yet.
  if (election_.state() != rendezvous::EtcdState::kLeading || !told_to_lead_) return;
  if (leading) return;
  election_.step_down(loop_.now(), job_over);
  wake();
}

void EtcdCandidates::end() {
  election_.end(loop_.now());
  wake();
}

void EtcdCandidates::wake() {
  turn_ = loop_.soon([this] { turn(); });
}

void EtcdCandidates::turn() {
  if (hooks_.first) hooks_.first();
  election_.tick(loop_.now());
  for (auto outputs = election_.take_outputs(); !outputs.empty();
       outputs = election_.take_outputs()) {
    for (const auto& output : outputs) perform(output);
  }
  if (turn_.is_active()) return;
  if (const auto next = election_.next_deadline()) turn_ = loop_.at(*next, [this] { turn(); });
}

void EtcdCandidates::perform(const rendezvous::EtcdOutput& output) {
  if (std::holds_alternative<etcd_output::Ask>(output)) {
    ask();
  } else if (std::holds_alternative<etcd_output::Campaign>(output)) {
    campaign();
  } else if (const auto* leases = std::get_if<etcd_output::KeepAlive>(&output)) {
    keep_alive(*leases);
  } else if (const auto* deposed = std::get_if<etcd_output::Depose>(&output)) {
    revoke(deposed->lease, false);
  } else if (const auto* given = std::get_if<etcd_output::Resign>(&output)) {
    resign(*given);
  } else if (std::holds_alternative<etcd_output::Withdraw>(output)) {
    withdraw();
  } else if (const auto* followed = std::get_if<etcd_output::Follow>(&output)) {
    hooks_.follow(followed->leader.address);
  } else if (const auto* won = std::get_if<etcd_output::Lead>(&output)) {
    told_to_lead_ = true;
    hooks_.lead(own_address_, won->office);
  } else if (const auto* nothing = std::get_if<etcd_output::GiveUp>(&output)) {
    hooks_.nobody(nothing->reason);
  } else if (const auto* stop = std::get_if<etcd_output::StopLeading>(&output)) {
    hooks_.stop_leading(stop->reason);
  } else if (std::holds_alternative<etcd_output::Closed>(output)) {
    client_.cancel_all();
    hooks_.ended();
  } else if (const auto* line = std::get_if<etcd_output::Log>(&output)) {
    log::write(line->level, line->event, {{"reason", line->reason}});
  }
}

void EtcdCandidates::ask() {
  client_.call(rendezvous::range_call(keys_.leader),
               [this](const Result<HttpResponse>& response) { on_asked(response); });
}

void EtcdCandidates::on_asked(const Result<HttpResponse>& response) {
  const TimePoint now = loop_.now();
  wake();
  // Decided meanwhile, in this very turn: the answer is to nobody. So below.
  if (election_.state() != rendezvous::EtcdState::kAsking) return;
  if (!response) return election_.failed(now, response.error().text);
  auto entry = rendezvous::read_range(*response);
  if (!entry) return election_.failed(now, with_key(entry.error(), keys_.leader).text);
  if (auto known = learn_own_address(); !known) return election_.failed(now, known.error().text);
  if (*entry) return take_named(**entry);
  if (hooks_.may_lead()) return election_.vacant(now);
  election_.failed(now, "nobody leads, and this agent is about to end");
}

void EtcdCandidates::take_named(const rendezvous::EtcdEntry& entry) {
  auto leader = rendezvous::decode_leader(entry.value);
  if (leader) return election_.named(loop_.now(), *leader, entry.lease);
  election_.failed(loop_.now(), with_key(leader.error(), keys_.leader).text);
}

// Peers reach us at the address from which we reach etcd, unless the user says otherwise.
Status EtcdCandidates::learn_own_address() {
  if (own_address_.port != 0) return {};
  auto host = self_.host.empty() ? source_host(client_.reached()) : self_.host;
  if (!host) return std::move(host).error();
  own_address_ = {*host, self_.port};
  election_.set_self({self_.node, own_address_});
  return {};
}

void EtcdCandidates::campaign() {
  campaign_ = std::make_unique<rendezvous::EtcdCampaign>(
      loop_, client_, keys_, times_, rendezvous::encode({self_.node, own_address_}),
      [this](const rendezvous::EtcdCampaignResult& result) { on_campaigned(result); });
}

void EtcdCandidates::on_campaigned(const rendezvous::EtcdCampaignResult& result) {
  wake();
  if (election_.state() != rendezvous::EtcdState::kCampaigning) return;
  if (!result) return election_.failed(loop_.now(), with_key(result.error(), keys_.leader).text);
  if (const auto* office = std::get_if<rendezvous::EtcdOffice>(&*result))
    return election_.won(loop_.now(), *office);
  take_named(std::get<rendezvous::EtcdEntry>(*result));
}

// Every loss matters: without the key another may be elected, without the mark the next leader
// would not wait for our nodes. A lease lives on when somebody deletes its key.
void EtcdCandidates::keep_alive(const etcd_output::KeepAlive& leases) {
  client_.call(
      rendezvous::keep_alive_call(leases.lease),
      [this](const Result<HttpResponse>& response) { kept_ = kept_for(response, "lease"); });
  client_.call(rendezvous::keep_alive_call(leases.mark_lease),
               [this](const Result<HttpResponse>& response) {
                 auto mark = kept_for(response, "mark");
                 if (kept_) kept_ = mark ? std::min(*kept_, *mark) : std::move(mark);
               });
  client_.call(rendezvous::range_call(keys_.leader),
               [this, sent = loop_.now(), lease = leases.lease](const auto& response) {
                 if (kept_ && *kept_ > Duration::zero()) kept_ = held_for(response, lease, *kept_);
                 on_kept(sent);
               });
}

void EtcdCandidates::on_kept(TimePoint sent) {
  wake();
  if (election_.state() != rendezvous::EtcdState::kLeading) return;
  if (kept_) return election_.kept(loop_.now(), sent, *kept_);
  election_.failed(loop_.now(), kept_.error().text);
}

void EtcdCandidates::resign(const etcd_output::Resign& leases) {
  client_.cancel_all();
  campaign_.reset();
  told_to_lead_ = false;
  if (leases.mark_lease != 0) revoke(leases.mark_lease, false);
  revoke(leases.lease, true);
}

// The claim may be on its way. Whichever etcd takes first: a key goes with its lease, and without
// the lease there is no claim. What was not granted yet will never be claimed with.
void EtcdCandidates::withdraw() {
  const int64_t lease = campaign_ ? campaign_->lease() : 0;
  client_.cancel_all();
  campaign_.reset();
  if (lease == 0) return election_.resigned(loop_.now());
  revoke(lease, true);
}

void EtcdCandidates::revoke(int64_t lease, bool last) {
  client_.call(rendezvous::revoke_call(lease), [this, last](const Result<HttpResponse>& response) {
    if (!last) return;
    wake();
    const Status ended = response ? rendezvous::read_revoke(*response) : Error(response.error());
    if (!ended) return election_.failed(loop_.now(), ended.error().text);
    election_.resigned(loop_.now());
  });
}

}  // namespace muster::launcher
