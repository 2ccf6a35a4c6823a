// The simulator's jobs whose leader is elected through etcd: requests that are delayed or lost on
// the way there and back, and what an agent does with the answers.
#include <fmt/core.h>

#include <algorithm>
#include <variant>

#include "tests/simulation/world.h"

namespace muster::simulation {

using namespace std::chrono_literals;
using namespace rendezvous;

namespace {

constexpr Duration kNobodyThere = 3s;  // until a dial is given up

}  // namespace

// `carry_out` runs at etcd and returns what the answer does at the node. Lost on either way it
// fails after the client's patience; what etcd carried out stays.
void World::request(int from, const std::function<EtcdReply()>& carry_out) {
  Node& asking = node(from);
  const uint64_t epoch = asking.etcd_epoch;
  const TimePoint give_up = now_ + etcd_times(options_.lease).patience;
  const auto answered = [this, from, epoch](const EtcdReply& reply) {
    return [this, from, epoch, reply] {
      Node& owner = node(from);
      if (owner.election && owner.etcd_epoch == epoch) reply(*owner.election);
    };
  };
  const auto fail = [this](EtcdElection& election) { election.failed(now_, "no answer"); };
  const Duration there = delay(from, from) + dice_.between(100us, 20ms);
  const uint64_t incarnation = asking.incarnation;
  at(now_ + there, -1, [this, from, carry_out, answered, fail, give_up, incarnation] {
    EtcdReply reply = fail;
    TimePoint when = give_up;
    if (etcd_.answers(now_, node(from).side)) {
      reply = carry_out();
      when = now_ + dice_.between(100us, dice_.unit() < 0.05 ? Duration(5s) : Duration(20ms));
    }
    if (when >= give_up || !etcd_.answers(now_, node(from).side)) {
      reply = fail;
      when = std::max(give_up, now_);
    }
    if (node(from).incarnation == incarnation) at(when, from, answered(reply));
  });
}

void World::pump_election(int index) {
  Node& owner = node(index);
  if (!owner.up || !owner.election) return;
  owner.election->tick(now_);
  for (const EtcdOutput& output : owner.election->take_outputs()) {
    if (std::holds_alternative<etcd_output::Ask>(output)) {
      request(index, [this, index] { return who_leads(index); });
    } else if (std::holds_alternative<etcd_output::Campaign>(output)) {
      request(index, [this, index, since = now_, epoch = owner.etcd_epoch] {
        return campaign(index, since, epoch);
      });
    } else if (const auto* leases = std::get_if<etcd_output::KeepAlive>(&output)) {
      request(index, [this, sent = now_, kept = *leases]() -> EtcdReply {
        const Duration mark = etcd_.service.renew(now_, kept.mark_lease);
        const Duration ttl = std::min(etcd_.service.renew(now_, kept.lease), mark);
        return [this, sent, ttl](EtcdElection& election) { election.kept(now_, sent, ttl); };
      });
    } else if (const auto* deposed = std::get_if<etcd_output::Depose>(&output)) {
      note(fmt::format("{} ends lease {}", index, deposed->lease));
      after(delay(index, index) + 1ms, -1, [this, index, lease = deposed->lease] {
        if (etcd_.answers(now_, node(index).side)) etcd_.service.revoke(lease);
      });
    } else if (const auto* given = std::get_if<etcd_output::Resign>(&output)) {
      ++owner.etcd_epoch;
      request(index, [this, given = *given]() -> EtcdReply {
        etcd_.service.revoke(given.lease);
        etcd_.service.revoke(given.mark_lease);
        return [this](EtcdElection& election) { election.resigned(now_); };
      });
    } else if (std::holds_alternative<etcd_output::Withdraw>(output)) {
      // A claim that was not carried out yet finds its lease ended.
      ++owner.etcd_epoch;
      request(index, [this, index]() -> EtcdReply {
        const auto key = etcd_.service.leader(now_);
        if (key && key->leader.address == node(index).as_leader().address)
          etcd_.service.revoke(key->lease);
        return [this](EtcdElection& election) { election.resigned(now_); };
      });
    } else if (const auto* followed = std::get_if<etcd_output::Follow>(&output)) {
      const auto named = std::find_if(nodes_.begin(), nodes_.end(),
                                      [&leader = followed->leader](const Node& other) {
                                        return other.as_leader().address == leader.address;
                                      });
      if (named == nodes_.end()) {  // its machine has another address by now
        after(kNobodyThere, index, [this, index] {
          node(index).member->on_dial_failed(now_, 0, DialFailure::kNoAnswer, "no");
        });
        continue;
      }
      dial_place(index, 0, static_cast<int>(named - nodes_.begin()));
    } else if (const auto* won = std::get_if<etcd_output::Lead>(&output)) {
      owner.member->on_elected(now_, {.number = static_cast<uint64_t>(won->office.revision),
                                      .first = won->office.first,
                                      .after = static_cast<uint64_t>(won->office.after)});
    } else if (const auto* nothing = std::get_if<etcd_output::GiveUp>(&output)) {
      owner.member->on_dial_failed(now_, 0, DialFailure::kNoAnswer, nothing->reason);
    } else if (std::holds_alternative<etcd_output::StopLeading>(output)) {
      if (scenario_.bug != Bug::kNoEtcdExpiry) close_leader(index);
    } else if (const auto* line = std::get_if<etcd_output::Log>(&output)) {
      note(fmt::format("  {} etcd {}: {}", index, line->event, line->reason));
    }
  }
}

EtcdReply World::who_leads(int index) {
  const auto key = etcd_.service.leader(now_);
  return [this, index, key](EtcdElection& election) {
    if (key) return election.named(now_, key->leader, key->lease);
    if (node(index).member->may_lead()) return election.vacant(now_);
    election.failed(now_, "about to end");
  };
}

EtcdReply World::campaign(int index, TimePoint since, uint64_t epoch) {
  if (node(index).etcd_epoch != epoch) return [](EtcdElection&) {};
  auto office = etcd_.service.claim(now_, node(index).as_leader(), etcd_times(options_.lease));
  if (!office) return who_leads(index);
  office->since = since;
  return [this, office](EtcdElection& election) { election.won(now_, *office); };
}

// Whatever an agent does comes after this: is it still the one?
void World::check_office(int index) {
  Node& owner = node(index);
  if (!owner.up || !owner.election || !owner.leader || scenario_.bug == Bug::kNoEtcdExpiry) return;
  if (owner.election->may_lead(now_)) return;
  note(fmt::format("{} may not lead any more", index));
  close_leader(index);
}

void World::etcd_fault() {
  etcd_.down_until = now_ + dice_.between(100ms, 40s);
  trouble(etcd_.down_until - now_);
  note(fmt::format("etcd down for {:.1f} s", to_seconds(etcd_.down_until - now_)));
  at(etcd_.down_until, -1, [this] { etcd_.service.restart(now_); });
}

}  // namespace muster::simulation
