#include "launcher/status_query.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "base/json.h"
#include "base/text.h"
#include "rendezvous/control_link.h"

namespace muster::launcher {

namespace {

using rendezvous::RefuseCode;

// Where an agent that does not lead says that the leader is; none = it is the leader's own word, or
// it knows of none.
std::optional<rendezvous::Candidate> pointer_in(const std::string& status) {
  const auto parsed = parse_json(status);
  if (!parsed || !parsed->is_object()) return std::nullopt;
  const auto found = parsed->find("leader_at");
  if (found == parsed->end() || !found->is_string()) return std::nullopt;
  auto hosts = rendezvous::parse_host_list(found->get<std::string>(), {});
  if (!hosts || hosts->size() != 1) return std::nullopt;
  return hosts->front();
}

}  // namespace

StatusQuery::StatusQuery(Doors doors, std::string run_id, std::vector<rendezvous::Candidate> agents,
                         Done done)
    : doors_(doors),
      run_id_(std::move(run_id)),
      waiting_(agents.begin(), agents.end()),
      done_(std::move(done)) {
  go_on();
}

void StatusQuery::go_on() {
  deadline_.reset();
  next_ = doors_.loop.at(doors_.loop.now(), [this] { ask_next(); });
}

void StatusQuery::ask_next() {
  link_.reset();
  if (waiting_.empty()) {
    if (follower_) return finish(Answer{*follower_, join(problems_, "; ")});
    return finish(Error{Code::kPeer, 0, "no agent answers: " + join(problems_, "; ")});
  }
  asked_ = waiting_.front();
  waiting_.pop_front();
  open_ = false;
  deadline_ = doors_.loop.after(kAnswerDeadline, [this] {
    give_up_on("no answer within " + format_duration(kAnswerDeadline));
  });
  const rendezvous::DialTimeouts timeouts{kAnswerDeadline, kAnswerDeadline};
  dial_ = std::make_unique<rendezvous::Dial>(
      doors_.loop, doors_.resolver, doors_.network, asked_, timeouts,
      [this](rendezvous::DialAnswer answer) { greet(std::move(answer)); });
}

void StatusQuery::greet(rendezvous::DialAnswer answer) {
  if (!answer.socket.is_open()) return give_up_on(answer.reason);
  rendezvous::LinkHandlers handlers;
  handlers.on_open = [this] {
    open_ = true;
    rendezvous::Hello hello;
    hello.run_id = run_id_;
    hello.secured = doors_.tls != nullptr;
    hello.purpose = rendezvous::Purpose::kObserver;
    link_->send(hello);
  };
  handlers.on_message = [this](const rendezvous::Message& message) { take(message); };
  handlers.on_closed = [this](const Error& error) { closed(error); };
  link_ = rendezvous::ControlLink::greet(doors_.loop, std::move(answer.socket), asked_.to_string(),
                                         doors_.tls, std::move(handlers));
}

void StatusQuery::closed(const Error& error) {
  if (next_.is_active()) return;
  // With a secret of its own an agent ends the handshake; everything else fails otherwise.
  if (doors_.tls != nullptr && !open_ &&
      rendezvous::dial_failure(error) == rendezvous::DialFailure::kRejected)
    return finish(Error{Code::kConfig, 0, error.text});
  give_up_on(open_ ? "closed the connection without an answer" : error.text);
}

void StatusQuery::take(const rendezvous::Message& message) {
  if (next_.is_active()) return;
  if (const auto* reply = std::get_if<rendezvous::StatusReply>(&message))
    return take_status(reply->json);
  const auto* refuse = std::get_if<rendezvous::Refuse>(&message);
  if (refuse == nullptr) return give_up_on("answered with something else than its status");
  if (refuse->code == RefuseCode::kRunId || refuse->code == RefuseCode::kSecret ||
      refuse->code == RefuseCode::kVersion)
    return finish(Error{Code::kConfig, 0, asked_.to_string() + ": " + refuse->text});
  give_up_on(refuse->text);
}

void StatusQuery::take_status(const std::string& json) {
  const auto leader = pointer_in(json);
  if (!leader) return finish(Answer{json, ""});
  follower_ = json;
  waiting_.clear();
  if (pointers_++ < kMaxPointers) {
    waiting_.push_back(*leader);
  } else {
    problems_.emplace_back("every agent points to another one");
  }
  go_on();
}

void StatusQuery::give_up_on(const std::string& problem) {
  const std::string name = asked_.to_string();
  problems_.push_back(problem.starts_with(name) ? problem : name + ": " + problem);
  go_on();
}

void StatusQuery::finish(Result<Answer> result) {
  deadline_.reset();
  // From here on nothing that the link says matters.
  next_ = doors_.loop.at(doors_.loop.now(), [this, result = std::move(result)]() mutable {
    link_.reset();
    done_(std::move(result));
  });
}

}  // namespace muster::launcher
