// The simulator's network: links in order, delays, partitions, refusals.
#include <fmt/core.h>

#include <algorithm>
#include <variant>

#include "tests/simulation/world.h"

namespace muster::simulation {

using namespace std::chrono_literals;
using namespace rendezvous;

namespace {

constexpr Duration kDialDeadline = 3s;
constexpr Duration kFirstRepeat = 200ms;  // TCP's shortest retransmission time on Linux
constexpr uint64_t kCodecEvery = 8;       // messages that also go through the frames

}  // namespace

bool World::carries(int from, int to) {
  return node(from).side == node(to).side && !cut_.contains({from, to});
}

Duration World::delay(int a, int b) {
  if (a == b) return Duration(1us);
  const bool slow = node(a).slow_until > now_ || node(b).slow_until > now_;
  return slow ? dice_.between(100ms, 1500ms)
              : dice_.between(100us, dice_.unit() < 0.02 ? 300ms : 5ms);
}

void World::dial(int from, int candidate) {
  if (features_.list_changes) return dial_listed(from, candidate);
  const bool own = node(from).place == candidate;
  if (!node(from).election)
    return dial_place(from, candidate, own ? from : newest(nodes_, candidate));
  if (node(from).leader) return dial_place(from, candidate, from);
  node(from).election->seek(now_);
}

// `to` < 0: no machine has that address.
void World::dial_place(int from, int candidate, int to) {
  const uint64_t dial = node(from).dials[candidate] = next_number_;
  const auto given_up = [this, from, candidate, dial] {
    return node(from).dials[candidate] != dial;
  };
  const auto fail = [this, from, candidate, given_up](Duration delay, DialFailure failure) {
    after(delay, from, [this, from, candidate, failure, given_up] {
      if (given_up()) return;
      const bool refused = failure == DialFailure::kRefused;
      if (refused && node(from).election) node(from).election->refused();
      node(from).member->on_dial_failed(now_, candidate, failure, "no");
    });
  };
  if (to < 0 || !reachable(from, to) || node(to).host_down)
    return fail(kDialDeadline, DialFailure::kNoAnswer);
  if (node(to).incarnation == 0) return fail(1ms, DialFailure::kNoName);
  if (!node(to).up) return fail(delay(from, to), DialFailure::kRefused);
  if (from == to && !node(to).leader) return fail(1ms, DialFailure::kRefused);
  const uint64_t id = next_link_++;
  Link link;
  link.from = from;
  link.to = to;
  link.from_incarnation = node(from).incarnation;
  link.to_incarnation = node(to).incarnation;
  link.candidate = candidate;
  links_[id] = link;
  node(from).candidate_links[candidate] = id;
  after(delay(from, to), from, [this, from, candidate, given_up] {
    if (!given_up()) node(from).member->on_connected(now_, candidate);
  });
}

// Held back while the network is split, as TCP does: in order, and sent again at intervals that
// double. Lost when the link ends before.
void World::send(uint64_t id, bool to_leader, Message message) {
  const auto found = links_.find(id);
  if (found == links_.end()) return;
  Link& link = found->second;
  if (to_leader ? !link.from_open : !link.to_open) return;
  if (auto* join = std::get_if<Join>(&message)) {
    if (scenario_.bug == Bug::kNoMajority || scenario_.bug == Bug::kNoSafeWait) {
      join->last_round.reset();
      join->confirmed_round.reset();
    }
    if (scenario_.bug == Bug::kForgetBudget) join->budget = {};
    if (scenario_.bug == Bug::kForgetAsked) join->size.reset();
    if (scenario_.bug == Bug::kForgetAges) join->budget.restart_ages_ms.clear();
    if (scenario_.bug == Bug::kOnePlace) {
      join->identity.index.reset();
      join->port = node(0).port;
    }
    if (scenario_.bug == Bug::kLostSizes) join->local_world_size = 1;
    if (scenario_.bug == Bug::kLaterRound && join->last_round && link.from != link.to)
      ++join->last_round->round;
    if (scenario_.bug == Bug::kArrivalRanks) {
      join->identity.index = static_cast<int>(next_number_ % kMaxNodes);
      join->confirmed_round.reset();
      if (join->last_round) join->last_round->seat = join->identity;
      if (join->last_round) join->last_round->roster.clear();
    }
  }
  auto* stop = std::get_if<Stop>(&message);
  if (stop != nullptr && scenario_.bug == Bug::kCutSaves) stop->all_leave = true;
  const auto* ack = std::get_if<Ack>(&message);
  if (ack != nullptr && ack->sequence == 0 && scenario_.bug == Bug::kLateWord) return;
  AskedSize asked;  // as who sends it knows
  if (ack != nullptr) asked = node(link.to).leads_with;
  bool stops = false;
  if (auto* join = std::get_if<Join>(&message)) {
    asked = node(link.from).told;
    stops = node(link.from).told_to_end;
    if (scenario_.bug == Bug::kForgetStop) join->stop.clear();
  }
  // Within one process there are no frames.
  if (next_number_ % kCodecEvery == 0 && link.from != link.to) {
    const std::string frame = encode(message);
    auto decoded = decode(frame);
    if (!decoded || decoded->consumed != frame.size()) {
      return violate(fmt::format("'{}' does not survive its frame: {}", name_of(message),
                                 decoded ? "cut" : decoded.error().text));
    }
    message = std::move(*decoded->message);
  }
  const int target = to_leader ? link.to : link.from;
  carry(id, to_leader, [this, id, to_leader, target, asked, stops, message = std::move(message)] {
    const auto open = links_.find(id);
    if (open == links_.end()) return;
    if (to_leader) {
      if (!open->second.to_open) return;
      if (node(target).leader) {
        node(target).leader->on_message(now_, id, message);
        if (std::holds_alternative<Join>(message)) learn_asked(open->second, asked);
        if (stops && open->second.joined) node(target).leads_to_end = true;
        return;
      }
      if (const auto* hello = std::get_if<Hello>(&message)) {
        send(id, false, node(target).member->answer(now_, *hello));
      }
    } else if (open->second.from_open) {
      const auto* waiting = std::get_if<Waiting>(&message);
      const bool tells = std::holds_alternative<Assign>(message) ||
                         (waiting != nullptr && waiting->last.round > 0);
      node(target).knows = node(target).knows || tells;
      const auto* order = std::get_if<Stop>(&message);
      if (order != nullptr && order->next_runs) node(target).workers.cut = true;
      if (node(target).election && std::holds_alternative<Welcome>(message))
        node(target).election->linked();
      node(target).member->on_message(now_, open->second.candidate, message);
      if (std::holds_alternative<Quit>(message)) quit(target);
      if (std::holds_alternative<Ack>(message)) node(target).acks.emplace_back(id, asked);
    }
  });
}

void World::carry(uint64_t id, bool to_leader, std::function<void()> what) {
  Link& link = links_.at(id);
  TimePoint& last = (to_leader ? link.to_leader : link.from_leader).last;
  last = std::max(last + 1us, now_ + delay(link.from, link.to));
  at(last, -1, [this, id, to_leader, what = std::move(what)] { arrive(id, to_leader, what); });
}

void World::arrive(uint64_t id, bool to_leader, const std::function<void()>& what) {
  const auto found = links_.find(id);
  if (found == links_.end()) return;
  Link& link = found->second;
  Direction& way = to_leader ? link.to_leader : link.from_leader;
  const bool arrives = to_leader ? carries(link.from, link.to) : carries(link.to, link.from);
  if (way.held.empty() && arrives) return hand_over(link, to_leader, what);
  way.held.push_back(what);
  if (way.held.size() > 1) return;
  way.retry = kFirstRepeat;
  after(way.retry, -1, [this, id, to_leader] { repeat(id, to_leader); });
}

void World::repeat(uint64_t id, bool to_leader) {
  const auto found = links_.find(id);
  if (found == links_.end()) return;
  const Link link = found->second;  // a copy: what arrives may end it
  Direction& way = to_leader ? found->second.to_leader : found->second.from_leader;
  if (to_leader ? carries(link.from, link.to) : carries(link.to, link.from)) {
    for (const auto& what : std::exchange(way.held, {})) hand_over(link, to_leader, what);
    return;
  }
  way.retry *= 2;
  after(way.retry, -1, [this, id, to_leader] { repeat(id, to_leader); });
}

void World::hand_over(const Link& link, bool to_leader, const std::function<void()>& what) {
  const int target = to_leader ? link.to : link.from;
  const uint64_t incarnation = to_leader ? link.to_incarnation : link.from_incarnation;
  if (!node(target).up || node(target).incarnation != incarnation) return;
  deliver({now_, next_number_++, incarnation, target, what});
}

// One end closes; the other learns it when the network lets it.
void World::close_link(uint64_t id, bool by_from) {
  const auto found = links_.find(id);
  if (found == links_.end()) return;
  Link& link = found->second;
  (by_from ? link.from_open : link.to_open) = false;
  if (by_from) {
    const auto own = node(link.from).candidate_links.find(link.candidate);
    if (own != node(link.from).candidate_links.end() && own->second == id) {
      node(link.from).candidate_links.erase(own);
    }
  }
  const int target = by_from ? link.to : link.from;
  carry(id, by_from, [this, id, by_from, target] {
    const auto open = links_.find(id);
    if (open == links_.end()) return;
    const Link gone = open->second;
    links_.erase(open);
    if (by_from) {
      if (gone.to_open && node(target).leader) node(target).leader->on_link_closed(now_, id);
    } else if (gone.from_open) {
      auto& own = node(target).candidate_links;
      if (own.contains(gone.candidate) && own[gone.candidate] == id) own.erase(gone.candidate);
      node(target).member->on_link_closed(now_, gone.candidate);
    }
  });
}

void World::break_links(int index) {
  node(index).broken_at = now_;
  disturbed_ = now_;
  const uint64_t incarnation = node(index).incarnation;
  for (auto& [id, link] : links_) {
    if (link.from == index && link.from_incarnation == incarnation && link.from_open) {
      close_link(id, true);
    }
    if (link.to == index && link.to_incarnation == incarnation && link.to_open) {
      close_link(id, false);
    }
  }
}

void World::confirm_dial(int from, const NodeDial& asked, bool by_leader) {
  const uint64_t leader = node(from).leaders_here;
  const auto tell = [this, from, dial = asked.dial, by_leader, leader](DialResult result) {
    if (!by_leader) return node(from).member->on_dialed(now_, dial, result);
    if (node(from).leader && node(from).leaders_here == leader)
      node(from).leader->on_dialed(now_, dial, result);
  };
  for (int to = 0; to < static_cast<int>(nodes_.size()); ++to) {
    if (node(to).host != asked.host || node(to).port != asked.port) continue;
    const bool answers = reachable(from, to) && !node(to).host_down;
    const DialResult result = !answers      ? DialResult::kNoAnswer
                              : node(to).up ? DialResult::kConnected
                                            : DialResult::kRefused;
    return after(answers ? delay(from, to) : kDialDeadline, from, [tell, result] { tell(result); });
  }
  // The machine was replaced by one with another address.
  after(kDialDeadline, from, [tell] { tell(DialResult::kNoAnswer); });
}

}  // namespace muster::simulation
