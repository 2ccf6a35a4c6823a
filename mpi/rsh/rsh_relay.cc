#include "mpi/rsh/rsh_relay.h"

#include <utility>

#include "base/exit_code.h"
#include "base/text.h"

namespace muster::mpi {

namespace {

// What a caller says of the command's streams, and what the command's agent does.
bool is_for_command(const RshMessage& message) {
  return std::holds_alternative<rsh::Data>(message) || std::holds_alternative<rsh::End>(message) ||
         std::holds_alternative<rsh::Credit>(message) || std::holds_alternative<rsh::Gone>(message);
}

}  // namespace

RshRelay::RshRelay(const RshRelayContext& context, UniqueFd connection, Status admitted,
                   std::function<void()> ended)
    : context_(context),
      admitted_(std::move(admitted)),
      over_(std::move(ended)),
      caller_(RshChannel::adopt(
          context.loop, {std::move(connection), ""}, nullptr,
          {.on_open =
               [this] {
                 if (!admitted_) refuse(admitted_.error().text);
               },
           .on_message = [this](RshMessage message) { from_caller(std::move(message)); },
           .on_closed = [this](const Error&) { caller_lost(); }})) {
  deadline_ = context.loop.after(kRshCallDeadline, [this] {
    refuse("no command within " + format_duration(kRshCallDeadline));
  });
}

// ---- where is it?

void RshRelay::from_caller(RshMessage message) {
  if (caller_->is_finishing()) return;
  if (auto* call = std::get_if<rsh::Call>(&message); call != nullptr && !call_) {
    call_ = std::move(*call);
    deadline_ = context_.loop.after(kRshNodeWait, [this] {
      const PeerAnswer answer = context_.find(call_->host);
      refuse_host(answer.reason + "; waited " + format_duration(kRshNodeWait));
    });
    return look();
  }
  if (const auto* told = std::get_if<rsh::Signal>(&message)) return signal(told->number);
  if (!call_ || !is_for_command(message)) return refuse("a message that has no place here");
  if (running_) return link_->send(message);
  early_.push_back(std::move(message));
  if (early_.size() > kMaxEarlyRshMessages) refuse("too much before its command runs");
}

void RshRelay::look() {
  const PeerAnswer answer = context_.find(call_->host);
  if (answer.entry == nullptr) {
    if (!answer.may_come) refuse_host(answer.reason);
    return;
  }
  node_ = *answer.entry;
  connect();
}

void RshRelay::refuse_host(const std::string& reason) {
  context_.tell_no_node(reason);
  refuse(reason);
}

void RshRelay::nodes_changed() {
  if (call_ && !node_ && !caller_->is_finishing()) look();
}

// ---- the call

void RshRelay::connect() {
  deadline_.reset();
  link_ = context_.take_link(
      *node_, {.on_open = [this] { run(); },
               .on_message = [this](RshMessage message) { from_link(std::move(message)); },
               .on_closed = [this](const Error& error) { link_lost(error); }});
  if (link_->is_open()) run();
}

void RshRelay::run() {
  running_ = true;
  link_->send(rsh::Run{context_.run_id, node_->identity.name, node_->identity.incarnation,
                       context_.node, call_->command, call_->user});
  for (const RshMessage& message : std::exchange(early_, {})) link_->send(message);
  deadline_ = context_.loop.after(kRshOpenDeadline, [this] { check_heard(); });
}

// A connection that was kept says nothing of a node that has gone without a word since.
void RshRelay::check_heard() {
  if (link_->is_heard()) return;
  const std::string link_peer = link_->peer();
  link_.reset();
  link_lost(
      {Code::kTimeout, 0, link_peer + ": no answer within " + format_duration(kRshOpenDeadline)});
}

void RshRelay::from_link(RshMessage message) {
  if (const auto* refused = std::get_if<rsh::Refused>(&message))
    return refuse(node_->identity.name + ": " + refused->reason, refused->code);
  if (std::holds_alternative<rsh::Exit>(message)) {
    // From a turn of its own: it is the link that is speaking.
    return_link_ = context_.loop.soon([this] {
      if (link_ != nullptr && link_->is_open())
        context_.keep_link(node_->identity.incarnation, std::move(link_));
    });
    return tell_and_end(message);
  }
  if (!is_for_command(message))
    return refuse(node_->identity.name + ": a message that only callers send");
  caller_->send(message);
}

void RshRelay::signal(int number) {
  if (running_) return link_->send(rsh::Signal{static_cast<uint8_t>(number)});
  tell_and_end(rsh::Exit{static_cast<uint8_t>(kSignalExitBase + number)});
}

// ---- the end

void RshRelay::link_lost(const Error& error) {
  if (!caller_->is_finishing()) refuse(node_->identity.name + ": " + error.text);
}

void RshRelay::refuse(const std::string& reason, uint8_t code) {
  if (!admitted_) context_.tell_refused(reason);
  tell_and_end(rsh::Refused{code, reason});
}

void RshRelay::tell_and_end(const RshMessage& last_word) {
  running_ = false;
  deadline_.reset();
  caller_->send(last_word);
  caller_->finish();
  // Without an end of its command the link has nothing more to say, and its loss is the order to
  // kill; but it may be speaking.
  if (!std::holds_alternative<rsh::Exit>(last_word))
    return_link_ = context_.loop.soon([this] { link_.reset(); });
}

void RshRelay::stop() {
  if (!running_ && !caller_->is_finishing()) refuse("the agent of " + context_.node + " ends");
}

void RshRelay::caller_lost() {
  running_ = false;
  deadline_.reset();
  ended_ = true;
  over_();
}

}  // namespace muster::mpi
