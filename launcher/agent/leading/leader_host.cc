#include "launcher/agent/leading/leader_host.h"

#include <utility>
#include <variant>

#include "base/log.h"
#include "launcher/agent/leading/leader_timeline.h"
#include "launcher/agent/serving/status_answer.h"
#include "rendezvous/wire/control_link.h"
#include "rendezvous/wire/local_link.h"

namespace muster::launcher {

using rendezvous::LinkId;
namespace leader_output = rendezvous::leader_output;

namespace {

// Of a size that was asked for.
rendezvous::Refuse refusal(const Error& error) {
  const bool not_now = error.code == Code::kPeer;
  return {not_now ? rendezvous::RefuseCode::kNotLeader : rendezvous::RefuseCode::kSettings,
          error.text,
          0,
          {}};
}

// Other nodes wait for their words; lines of the log, and what this node does when it is told (it
// starts workers), take longer than all of these.
bool can_wait(const rendezvous::LeaderOutput& output, LinkId own_link) {
  if (const auto* send = std::get_if<leader_output::Send>(&output)) return send->link == own_link;
  if (const auto* send = std::get_if<leader_output::SendAnswer>(&output))
    return send->link == own_link;
  if (const auto* close = std::get_if<leader_output::CloseLink>(&output))
    return close->link == own_link;
  return std::holds_alternative<leader_output::Log>(output) ||
         std::holds_alternative<rendezvous::NodeDial>(output) ||
         std::holds_alternative<leader_output::Entered>(output) ||
         std::holds_alternative<leader_output::Moved>(output) ||
         std::holds_alternative<leader_output::AskCandidates>(output);
}

}  // namespace

LeaderHost::LeaderHost(Loop& loop, Network& network, LeaderHostSetup setup)
    : loop_(loop),
      setup_(std::move(setup)),
      arrivals_(network, setup_.reached_at),
      probes_(loop, network,
              [this](rendezvous::DialId dial, rendezvous::DialResult result) {
                if (leader_) leader_->on_dialed(loop_.now(), dial, result);
                wake();
              }),
      missing_({.loop = loop,
                .resolver = setup_.resolver,
                .network = network,
                .join_timeout = setup_.options.join_timeout,
                .listed = setup_.listed,
                .joined = [this] { return nodes(); },
                .found =
                    [this](const std::string& line) {
                      const bool helps = !line.empty() && !setup_.missing_hint.empty();
                      if (leader_)
                        leader_->on_missing(helps ? line + "; " + setup_.missing_hint : line);
                    }}) {}

rendezvous::LinkHandlers LeaderHost::handlers_of(LinkId id) {
  return {.on_open = [] {},
          .on_message = [this, id](const rendezvous::Message& message) { take(id, message); },
          .on_closed =
              [this, id](const Error& error) {
                links_.closed(id);
                arrivals_.left(id);
                const bool misfit = error.code == Code::kConfig;
                if (leader_) {
                  leader_->on_link_closed(loop_.now(), id, misfit ? error.text : "");
                } else if (misfit && setup_.misfit) {
                  setup_.misfit(error.text);
                }
                wake();
              }};
}

void LeaderHost::adopt(Arrival arrival) {
  const LinkId id = links_.next_id();
  arrivals_.came(id, arrival.connection);
  auto link =
      rendezvous::ControlLink::adopt(loop_, std::move(arrival), setup_.tls, handlers_of(id));
  rendezvous::ControlLink& adopted = *link;
  links_.add(id, std::move(link));
  adopted.begin();
}

std::unique_ptr<rendezvous::Link> LeaderHost::connect(const std::string& name,
                                                      rendezvous::LinkHandlers handlers) {
  if (!leader_) return nullptr;
  const LinkId id = links_.next_id();
  own_link_ = id;
  auto pair = rendezvous::make_local_link(loop_, name, std::move(handlers), handlers_of(id));
  links_.add(id, std::move(pair.acceptor));
  return std::move(pair.dialer);
}

void LeaderHost::lead(rendezvous::LeaderSeed seed) {
  policy_ = std::make_unique<elastic::RoundPolicy>(setup_.policy, setup_.seed);
  leader_ =
      std::make_unique<rendezvous::Leader>(loop_.now(), setup_.options, *policy_, std::move(seed));
  end_.reset();
  said_why_ = false;
  follow_list(listed_);
}

void LeaderHost::follow_list(std::optional<int> nodes) {
  listed_ = nodes;
  if (!leader_) return;
  (void)leader_->follow_list(nodes);  // as documented
  wake();
}

std::vector<rendezvous::RosterEntry> LeaderHost::nodes() const {
  return leader_ ? leader_->nodes() : std::vector<rendezvous::RosterEntry>{};
}

void LeaderHost::stop(const std::string& reason) {
  if (!leader_) return;
  end_ = reason;
  wake();
}

void LeaderHost::close_links(const std::string& reason) {
  perform_rest();
  links_.close_all(reason);
}

void LeaderHost::take(LinkId id, const rendezvous::Message& message) {
  const auto* hello = std::get_if<rendezvous::Hello>(&message);
  const bool observer = hello != nullptr && hello->purpose == rendezvous::Purpose::kObserver;
  if (!leader_ || observer || is_own(id, hello)) return greet(id, message);
  if (std::holds_alternative<rendezvous::Join>(message)) arrivals_.joined(id);
  leader_->on_message(loop_.now(), id, message);
  wake();
  if (hello != nullptr) answer_at_once();
}

void LeaderHost::set_own_host(const std::string& host) {
  if (leader_) leader_->on_own_host(host);
}

// Who greets joins upon the answer, and on the other side of the network that goes on while the
// next one's greeting is read here.
void LeaderHost::answer_at_once() {
  if (!may_speak()) return;
  leader_->perform_answers(
      [this](rendezvous::LeaderOutput output) { perform_or_put_off(std::move(output)); });
  links_.end_speech();
}

// Who greets an agent that does not lead learns where to go; an observer gets what it came for.
void LeaderHost::greet(LinkId id, const rendezvous::Message& message) {
  rendezvous::Link& link = *links_.find(id);
  const auto* hello = std::get_if<rendezvous::Hello>(&message);
  if (is_own(id, hello)) {
    link.send(rendezvous::Refuse{rendezvous::RefuseCode::kSelf, "this agent itself", 0, {}});
  } else if (hello != nullptr) {
    link.send(answer(*hello));
  }
  link.close("everything is said");
}

// Under an address that no interface of this machine may have, such as that of a service.
bool LeaderHost::is_own(LinkId id, const rendezvous::Hello* hello) const {
  return hello != nullptr && id != own_link_ && hello->agent != 0 &&
         hello->agent == setup_.incarnation;
}

// An observer that names no job wants to hear of this one.
rendezvous::Message LeaderHost::answer(const rendezvous::Hello& hello) {
  const bool any_job = hello.purpose == rendezvous::Purpose::kObserver && hello.run_id.empty();
  const bool ours = any_job || hello.run_id == setup_.options.run_id;
  if (hello.purpose != rendezvous::Purpose::kObserver || !ours ||
      hello.version != rendezvous::kControlVersion)
    return setup_.answer(hello);
  if (hello.command && (leader_ || setup_.command)) {
    const rendezvous::JobWish wish{*hello.command, hello.node};
    const Status obeyed =
        leader_ ? leader_->obey(loop_.now(), wish) : setup_.command(wish.command, wish.by);
    wake();
    if (!obeyed) return refusal(obeyed.error());
  }
  if (leader_ && hello.target) {
    const auto resized = leader_->resize(loop_.now(), {*hello.target, hello.at_once, hello.node});
    wake();  // refused, too, it may have found that it leads no more
    if (!resized) return refusal(resized.error());
  }
  return rendezvous::StatusReply{status()};
}

std::string LeaderHost::status() const {
  if (!leader_) return setup_.status();
  return leader_status({.leader = leader_->status_json(loop_.now()),
                        .max_restarts = setup_.policy.restarts.max_restarts,
                        .progress = setup_.progress ? setup_.progress() : "",
                        .history = setup_.timeline != nullptr ? setup_.timeline->json() : "",
                        .job = setup_.job()});
}

void LeaderHost::told(rendezvous::CandidateAnswers answers) {
  if (leader_) leader_->on_candidates(loop_.now(), answers);
  wake();
}

// Due in this turn or the next, once for all inputs; a timer, because it ends with this object.
void LeaderHost::wake() {
  if (std::exchange(woken_, true)) return;
  turn_ = loop_.soon([this] { turn(); });
}

void LeaderHost::turn() {
  woken_ = false;
  bool news = links_.sweep();
  probes_.sweep();
  if (setup_.first) setup_.first();
  if (may_speak()) lead_on();
  if (leader_ && end_) {
    news = true;
    perform_rest();
    // At the end of the job the last lines of the console are its report.
    log::write(said_why_ ? log::Level::kDebug : log::Level::kInfo, "leader.gone",
               {{"reason", *end_}});
    probes_.clear();
    leader_.reset();
    policy_.reset();
    if (setup_.timeline != nullptr) {
      setup_.timeline->ends(loop_.now());
      setup_.timeline->entered("", loop_.now());
    }
    close_links(*end_);
  }
  if (leader_ && !turn_.is_active()) {
    if (const auto next = leader_->next_deadline()) turn_ = loop_.at(*next, [this] { turn(); });
  }
  // A leader without a quorum comes and goes: its successor's wait is the same one.
  using enum rendezvous::LeaderState;
  const auto state = leader_ ? std::optional(leader_->state()) : std::nullopt;
  if (setup_.listed) missing_.set_waiting(state == kGathering || state == kLastCall);
  if (setup_.listed && state == kRunning) missing_.forget();
  if (news) setup_.changed();
}

// An agent that was frozen finds out here that its time is over, before it acknowledges anything.
bool LeaderHost::may_speak() {
  if (leader_ && !end_ && setup_.may_lead && !setup_.may_lead())
    end_ = "another agent may be elected by now";
  return leader_ && !end_;
}

void LeaderHost::lead_on() {
  leader_->perform_outputs(loop_.now(), [this](rendezvous::LeaderOutput output) {
    perform_or_put_off(std::move(output));
  });
  links_.end_speech();
}

// What other nodes said meanwhile is answered first, but only once: they may go on for long.
void LeaderHost::catch_up() {
  if (woken_) {
    turn_.reset();
    turn();
  }
  perform_rest();
}

void LeaderHost::perform_rest() {
  catch_up_.reset();
  for (const auto& output : std::exchange(rest_, {})) perform(output);
  links_.end_speech();
}

void LeaderHost::perform_or_put_off(rendezvous::LeaderOutput output) {
  if (!can_wait(output, own_link_)) return perform(output);
  rest_.push_back(std::move(output));
  if (!catch_up_.is_active()) catch_up_ = loop_.soon([this] { catch_up(); });
}

void LeaderHost::perform(const rendezvous::LeaderOutput& output) {
  if (const auto* send = std::get_if<leader_output::Send>(&output)) {
    if (auto* link = links_.speak_to(send->link)) link->put(send->message);
  } else if (const auto* shared = std::get_if<leader_output::SendAnswer>(&output)) {
    if (auto* link = links_.speak_to(shared->link)) link->put_answer(shared->answer);
  } else if (const auto* close = std::get_if<leader_output::CloseLink>(&output)) {
    if (auto* link = links_.find(close->link)) link->close(close->reason);
  } else if (const auto* dial = std::get_if<rendezvous::NodeDial>(&output)) {
    probes_.dial(*dial);
  } else if (const auto* line = std::get_if<leader_output::Log>(&output)) {
    if (line->round == 0) return log::write(line->level, line->event, {{"reason", line->reason}});
    log::write(line->level, line->event,
               {{"reason", line->reason}, log::Field::for_programs("round", line->round)});
  } else if (const auto* entered = std::get_if<leader_output::Entered>(&output)) {
    if (setup_.timeline != nullptr) follow_leader(*entered, *setup_.timeline);
  } else if (const auto* moved = std::get_if<leader_output::Moved>(&output)) {
    if (setup_.timeline != nullptr) setup_.timeline->moved(moved->at);
  } else if (const auto* asked = std::get_if<leader_output::AskCandidates>(&output)) {
    setup_.ask(*asked);
  } else if (const auto* down = std::get_if<leader_output::StepDown>(&output)) {
    end_ = down->reason;
    said_why_ = true;
  } else if (std::holds_alternative<leader_output::Finished>(output)) {
    job_over_ = said_why_ = true;
    end_ = "every node knows how the job ended";
  }
}

}  // namespace muster::launcher
