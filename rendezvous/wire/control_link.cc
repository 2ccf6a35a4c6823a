#include "rendezvous/wire/control_link.h"

#include <fmt/core.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/text.h"
#include "rendezvous/wire/control_protocol.h"
#include "rendezvous/wire/foreign_answer.h"

namespace muster::rendezvous {

namespace {

constexpr char kTlsFirstByte = '\x16';

constexpr std::string_view kNoSecretThere =
    "no job secret there, but one here (MUSTER_JOB_SECRET_FILE)";
constexpr std::string_view kNoSecretHere =
    "a job secret there, but none here (MUSTER_JOB_SECRET_FILE)";
constexpr std::string_view kSecretRequired =
    "this job has a secret and the connection came without it (MUSTER_JOB_SECRET_FILE)";

std::string peer_of(int fd) {
  const auto address = peer_address(fd);
  return address && !address->host.empty() ? address->to_string() : "unknown";
}

bool is_tls_record(std::string_view bytes) {
  constexpr char kAlert = '\x15';
  return bytes.starts_with(kTlsFirstByte) || bytes.starts_with(kAlert);
}

// EPROTO: it may be replaced by an agent, so this is no verdict about us, as another secret is.
Error foreign_answer(const std::string& peer, std::string_view bytes) {
  return {Code::kProtocol, EPROTO, peer + " is " + describe_foreign(bytes)};
}

// Links are silent most of the time. With thousands of them the next one to speak finds the same
// memory, which is still in the processor's caches.
void give_back_if_empty(std::string& buffer) {
  if (buffer.empty()) std::string().swap(buffer);
}

}  // namespace

ControlLink::ControlLink(Loop& loop, std::string peer, const TlsContext* tls, bool accepted,
                         LinkHandlers handlers)
    : loop_(loop), peer_{std::move(peer), accepted}, tls_(tls), handlers_(std::move(handlers)) {}

std::unique_ptr<ControlLink> ControlLink::dial(Loop& loop, Network& network, const Address& address,
                                               const TlsContext* tls, LinkHandlers handlers,
                                               Duration deadline) {
  std::unique_ptr<ControlLink> link(
      new ControlLink(loop, address.to_string(), tls, false, std::move(handlers)));
  link->set_deadline(deadline);
  auto fd = network.connect(address);
  auto begun = fd ? link->begin_dialled(std::move(*fd)) : Status(std::move(fd).error());
  if (!begun) link->end_soon(begun.error());
  return link;
}

std::unique_ptr<ControlLink> ControlLink::greet(Loop& loop, UniqueFd connection, std::string peer,
                                                const TlsContext* tls, LinkHandlers handlers) {
  std::unique_ptr<ControlLink> link(
      new ControlLink(loop, std::move(peer), tls, false, std::move(handlers)));
  link->set_deadline(kConnectDeadline);
  if (auto begun = link->begin_dialled(std::move(connection)); !begun)
    link->end_soon(begun.error());
  return link;
}

std::unique_ptr<ControlLink> ControlLink::adopt(Loop& loop, Arrival arrival, const TlsContext* tls,
                                                LinkHandlers handlers) {
  std::string peer = peer_of(arrival.connection.get());
  std::unique_ptr<ControlLink> link(
      new ControlLink(loop, std::move(peer), tls, true, std::move(handlers)));
  link->fd_ = std::move(arrival.connection);
  link->incoming_ = std::move(arrival.first_bytes);
  link->peer_.stranger = std::move(arrival.place);
  link->peer_.stranger.on_drop([link = link.get()](const std::string& reason) {
    link->fail(Error{Code::kPeer, 0, reason});
  });
  link->set_deadline(kGreetingDeadline);
  return link;
}

void ControlLink::set_deadline(Duration length) {
  deadline_ = loop_.after(length, [this, length] { expire(length); });
}

// One that is connected already becomes writable at once.
Status ControlLink::begin_dialled(UniqueFd connection) {
  fd_ = std::move(connection);
  notice_dead_peers(fd_.get());
  return watch(Interest::kWrite);
}

Status ControlLink::watch(Interest interest) {
  auto watched = loop_.watch(fd_.get(), interest, [this](Ready ready) { on_ready(ready); });
  if (!watched) return std::move(watched).error();
  watch_ = std::move(*watched);
  return {};
}

void ControlLink::begin() {
  if (state_ != State::kConnecting) return;  // closed before it began
  if (auto watched = watch(Interest::kRead); !watched) return fail(watched.error());
  const bool peer_has_secret = incoming_.starts_with(kTlsFirstByte);
  if (peer_has_secret != (tls_ != nullptr)) return refuse(peer_has_secret);
  if (tls_ == nullptr) {
    become_open();
    return take_plaintext(std::exchange(incoming_, {}));
  }
  if (auto begun = begin_tls(TlsRole::kServer); !begun) return fail(begun.error());
  take_tls(std::exchange(incoming_, {}));
}

// Each is told in its own language: an alert in place of a handshake, a frame in place of Welcome.
void ControlLink::refuse(bool peer_has_secret) {
  const std::string_view reason = peer_has_secret ? kNoSecretHere : kNoSecretThere;
  queue(peer_has_secret
            ? std::string(tls_no_secret_alert())
            : encode(Refuse{RefuseCode::kSecret, std::string(kSecretRequired), {}, {}}));
  const auto said = peer_has_secret ? Result<DecodedMessage>(DecodedMessage{}) : decode(incoming_);
  const auto* hello = said && said->message ? std::get_if<Hello>(&*said->message) : nullptr;
  // Who only looks is no node that is missing for it.
  const bool looks = hello != nullptr && hello->purpose == Purpose::kObserver;
  Error error{looks ? Code::kPeer : Code::kConfig, 0, std::string(reason)};
  log_dropped(error);
  leave(std::move(error).with_context(peer_.name));
}

void ControlLink::on_ready(Ready ready) {
  if (state_ == State::kFailing || state_ == State::kEnded) return;
  if (state_ == State::kConnecting) {
    if (auto connected = finish_connect(); !connected) end(connected.error());
    return;
  }
  if (ready.writable && write_blocked_) flush();
  if (ready.readable) receive();
}

Status ControlLink::finish_connect() {
  MUSTER_RETURN_IF_ERROR(socket_error(fd_.get(), peer_.name));
  update_interest();
  if (tls_ != nullptr) return begin_tls(TlsRole::kClient);
  become_open();
  return {};
}

Status ControlLink::begin_tls(TlsRole role) {
  auto session = tls_->session(role);
  if (!session) return std::move(session).error().with_context(peer_.name);
  state_ = State::kHandshaking;
  session_ = std::move(*session);
  queue(session_->take_output());
  return {};
}

// An accepted link keeps its deadline until the first message.
void ControlLink::become_open() {
  state_ = State::kOpen;
  if (!peer_.accepted) deadline_.reset();
  handlers_.on_open();
}

void ControlLink::receive() {
  std::array<char, kLinkReadBytesPerTurn> bytes;
  const ssize_t count = recv(fd_.get(), bytes.data(), bytes.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (state_ == State::kLeaving) {
    if (count <= 0) end(why_);
    return;  // what still arrives is nobody's any more
  }
  if (count > 0) {
    const std::string_view received(bytes.data(), static_cast<size_t>(count));
    return session_ != nullptr ? take_tls(received) : take_plaintext(received);
  }
  if (answers_nothing_yet()) {
    return end(
        Error{Code::kPeer, EPROTO,
              peer_.name +
                  " closed the connection without a word: no agent of muster, or one that ends"});
  }
  if (count < 0) return end(os_error("recv from " + peer_.name));
  // ECONNRESET also where it closed politely: a handshake cut short is no word about the secret.
  const bool early = state_ == State::kHandshaking;
  end(Error{Code::kPeer, ECONNRESET,
            peer_.name + " closed the connection" + (early ? " during the TLS handshake" : "")});
}

void ControlLink::take_tls(std::string_view bytes) {
  auto plaintext = session_->receive(bytes);
  queue(session_->take_output());
  // TLS answers with a handshake (22) or an alert (21).
  const bool foreign = !plaintext && !peer_.accepted && !is_tls_record(bytes);
  if (foreign && state_ == State::kHandshaking) return end(foreign_answer(peer_.name, bytes));
  if (!plaintext) {
    // The alert that says why goes out first.
    if (peer_.accepted || state_ == State::kOpen) log_dropped(plaintext.error());
    return leave(std::move(plaintext).error().with_context(peer_.name));
  }
  if (state_ == State::kHandshaking && session_->established()) become_open();
  take_plaintext(*plaintext);
}

// Most reads are whole messages: then nothing is kept.
void ControlLink::take_plaintext(std::string_view bytes) {
  if (incoming_.empty()) {
    incoming_ = bytes.substr(run_frames(bytes));
    return;
  }
  incoming_ += bytes;
  incoming_.erase(0, run_frames(incoming_));
  give_back_if_empty(incoming_);
}

// How many bytes are done with. A handler may close the link between two messages of one read:
// those behind it are dropped.
size_t ControlLink::run_frames(std::string_view bytes) {
  size_t consumed = 0;
  while (state_ == State::kOpen) {
    auto decoded = decode(std::span<const char>(bytes).subspan(consumed),
                          peer_.accepted && !peer_.heard ? kMaxFirstFrameBytes : kMaxFrameBytes);
    if (!decoded) {
      if (answers_nothing_yet()) {
        end(foreign_answer(peer_.name, bytes));
      } else {
        fail(decoded.error());
      }
      return bytes.size();
    }
    if (decoded->consumed == 0) return consumed;
    consumed += decoded->consumed;
    deadline_.reset();
    peer_.heard = true;
    peer_.stranger.leave();
    handlers_.on_message(std::move(*decoded->message));
  }
  return consumed;
}

void ControlLink::send(const Message& message) {
  if (append(message)) flush_soon();
}

// False: it closes or fails, and nothing is sent.
bool ControlLink::append(const Message& message) {
  MUSTER_CHECK(state_ != State::kConnecting && state_ != State::kHandshaking);
  if (state_ != State::kOpen) return false;
  if (session_ == nullptr) {
    encode(outgoing_, message);
  } else {
    if (auto written = session_->write(encode(message)); !written) {
      fail_soon(written.error());
      return false;
    }
    outgoing_ += session_->take_output();
  }
  return keep_limit();
}

void ControlLink::put_answer(ExchangeAnswer answer) {
  MUSTER_CHECK(state_ != State::kConnecting && state_ != State::kHandshaking);
  if (state_ != State::kOpen) return;
  answers_.add(std::move(answer));
  (void)keep_limit();  // it fails by itself
}

// False: too much is unsent, and it fails.
bool ControlLink::keep_limit() {
  const size_t unsent = outgoing_.size() + answers_.bytes();
  if (unsent <= kMaxLinkQueueBytes) return true;
  fail_soon(Error{Code::kLimit, 0,
                  fmt::format("it does not read: {} bytes are unsent, the limit is {}", unsent,
                              kMaxLinkQueueBytes)});
  return false;
}

void ControlLink::close(std::string reason) {
  switch (state_) {
    case State::kConnecting:
    case State::kHandshaking:  // nothing was sent that anybody waits for
      return end_soon(Error{Code::kPeer, 0, std::move(reason)});
    case State::kOpen:
      return leave(Error{Code::kPeer, 0, std::move(reason)});
    case State::kFailing:
    case State::kLeaving:
    case State::kEnded:
      return;
  }
}

void ControlLink::queue(std::string_view bytes) {
  outgoing_ += bytes;
  if (!bytes.empty()) flush_soon();
}

void ControlLink::flush_soon() {
  if (write_blocked_ || flush_.is_active()) return;
  flush_ = loop_.soon([this] { flush(); });
}

// One write in a turn, however many messages it brought, and one for each part of an answer.
void ControlLink::flush() {
  flush_.reset();
  do {
    // A broken connection may still hold the peer's last word: reading it, then the end, is
    // receive()'s.
    if (!send_some(fd_.get(), outgoing_)) {
      outgoing_.clear();
      answers_ = {};
    }
  } while (outgoing_.empty() && !answers_.empty() && append(answers_.take()));
  if (write_blocked_ == outgoing_.empty()) {
    write_blocked_ = !outgoing_.empty();
    update_interest();
  }
  give_back_if_empty(outgoing_);
  // Closing both directions at once would throw away what the peer has not read yet.
  if (state_ == State::kLeaving && !write_blocked_) (void)shutdown(fd_.get(), SHUT_WR);
}

void ControlLink::update_interest() {
  watch_.set_interest(write_blocked_ ? Interest::kReadWrite : Interest::kRead);
}

void ControlLink::expire(Duration length) {
  if (state_ == State::kLeaving) return end(why_);
  const std::string within = " within " + format_duration(length);
  if (peer_.accepted) return fail(Error{Code::kTimeout, 0, "no message" + within});
  const bool silent = state_ == State::kConnecting;
  end(Error{Code::kTimeout, 0,
            peer_.name + (silent ? ": no answer" : ": TLS handshake not done") + within});
}

bool ControlLink::answers_nothing_yet() const {
  return !peer_.accepted && !peer_.heard && state_ == State::kOpen;
}

// For what the peer did. Who dials is told by on_closed alone until the link is open.
void ControlLink::log_dropped(const Error& error) {
  if (const auto untold = peer_.stranger.take_line())
    log::warning("link.dropped",
                 {{"peer", peer_.name}, {"reason", error.text}, {"untold", *untold}});
}

void ControlLink::fail(const Error& error) {
  log_dropped(error);
  end(Error(error).with_context(peer_.name));
}

void ControlLink::end_soon(Error error) {
  state_ = State::kFailing;
  soon_ = loop_.soon([this, why = std::move(error)] { end(why); });
}

void ControlLink::fail_soon(Error error) {
  log_dropped(error);
  end_soon(std::move(error).with_context(peer_.name));
}

void ControlLink::leave(Error error) {
  state_ = State::kLeaving;
  answers_ = {};
  why_ = std::move(error);
  set_deadline(kCloseDeadline);
  flush_soon();
}

void ControlLink::end(const Error& error) {
  state_ = State::kEnded;
  peer_.stranger.leave();
  watch_.reset();
  fd_.reset();
  deadline_.reset();
  soon_.reset();
  flush_.reset();
  handlers_.on_closed(error);
}

DialFailure dial_failure(const Error& error) {
  if (error.os_errno == ECONNREFUSED) return DialFailure::kRefused;
  if (error.os_errno != 0 || error.code == Code::kTimeout) return DialFailure::kNoAnswer;
  return DialFailure::kRejected;
}

}  // namespace muster::rendezvous
