#include "mpi/rsh/rsh_channel.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "rendezvous/port/job_port.h"

namespace muster::mpi {

namespace {

Error peer_error(std::string text) { return {Code::kPeer, 0, std::move(text)}; }

}  // namespace

RshChannel::RshChannel(Loop& loop, std::string peer, const TlsContext* tls,
                       RshChannelHandlers handlers)
    : loop_(loop), peer_(std::move(peer)), tls_(tls), handlers_(std::move(handlers)) {}

std::unique_ptr<RshChannel> RshChannel::dial(Loop& loop, Network& network, const Address& address,
                                             const TlsContext* tls, RshChannelHandlers handlers) {
  std::unique_ptr<RshChannel> channel(
      new RshChannel(loop, address.to_string(), tls, std::move(handlers)));
  channel->set_deadline(kRshOpenDeadline);
  RshChannel* self = channel.get();
  auto begun = [&]() -> Status {
    auto fd = network.connect(address);
    if (!fd) return std::move(fd).error();
    channel->fd_ = std::move(*fd);
    notice_dead_peers(channel->fd_.get());
    return channel->watch(Interest::kWrite);
  }();
  if (!begun) {
    channel->soon_ = loop.soon([self, error = std::move(begun).error()] { self->close(error); });
  }
  return channel;
}

std::unique_ptr<RshChannel> RshChannel::adopt(Loop& loop, Arrival arrival, const TlsContext* tls,
                                              RshChannelHandlers handlers) {
  const auto peer = peer_address(arrival.connection.get());
  const bool is_local = !peer || peer->host.empty();
  std::unique_ptr<RshChannel> channel(new RshChannel(
      loop, is_local ? "this machine" : peer->to_string(), tls, std::move(handlers)));
  channel->fd_ = std::move(arrival.connection);
  channel->state_ = State::kGreeting;
  channel->set_deadline(kRshOpenDeadline);
  RshChannel* self = channel.get();
  channel->stranger_ = std::move(arrival.place);
  channel->stranger_.on_drop(
      [self](const std::string& reason) { self->close(peer_error(self->peer_ + ": " + reason)); });
  Status begun = channel->watch(Interest::kRead);
  // From a turn of its own: the caller must have the channel before it calls back. finish() may
  // come first, and then there is nothing to take any more.
  channel->soon_ =
      loop.soon([self, begun = std::move(begun), bytes = std::move(arrival.first_bytes)] {
        if (!begun) return self->close(begun.error());
        if (auto taken = self->take(bytes); !taken) self->close(taken.error());
      });
  return channel;
}

std::unique_ptr<RshChannel> RshChannel::over(Loop& loop, Result<UniqueFd> connection,
                                             std::string peer, RshChannelHandlers handlers) {
  std::unique_ptr<RshChannel> channel(
      new RshChannel(loop, std::move(peer), nullptr, std::move(handlers)));
  RshChannel* self = channel.get();
  if (!connection) {
    channel->soon_ = loop.soon([self, error = connection.error()] { self->close(error); });
    return channel;
  }
  channel->fd_ = std::move(*connection);
  channel->soon_ = loop.soon([self, begun = channel->watch(Interest::kRead)] {
    const Status connected = begun ? self->on_connected() : begun;
    if (!connected) self->close(connected.error());
  });
  return channel;
}

Status RshChannel::watch(Interest interest) {
  auto watched = loop_.watch(fd_.get(), interest, [this](Ready ready) { on_ready(ready); });
  if (!watched) return std::move(watched).error();
  watch_ = std::move(*watched);
  return {};
}

void RshChannel::set_deadline(Duration length) {
  deadline_ = loop_.after(length, [this] {
    close(state_ == State::kFinishing
              ? why_
              : Error{Code::kTimeout, ETIMEDOUT,
                      peer_ + ": no answer within " + format_duration(kRshOpenDeadline)});
  });
}

void RshChannel::on_ready(Ready ready) {
  Status done;
  if (state_ == State::kConnecting) {
    done = on_connected();
  } else {
    if (ready.readable) done = receive();
    if (done && ready.writable && state_ != State::kClosed) done = flush();
  }
  if (!done) close(done.error());
}

Status RshChannel::on_connected() {
  MUSTER_RETURN_IF_ERROR(socket_error(fd_.get(), peer_));
  const bool secured = tls_ != nullptr;
  outgoing_ += rsh_greeting(secured);
  watch_.set_interest(Interest::kRead);
  flush_soon();  // with what on_open says
  return begin(secured, TlsRole::kClient);
}

Status RshChannel::begin(bool secured, TlsRole role) {
  if (!secured) {
    become_open();
    return {};
  }
  auto session = tls_->session(role);
  if (!session) return std::move(session).error();
  session_ = std::move(*session);
  outgoing_ += session_->take_output();
  state_ = State::kHandshaking;
  return {};
}

void RshChannel::become_open() {
  state_ = State::kOpen;
  opened_ = true;
  if (tls_ != nullptr) stranger_.leave();
  deadline_.reset();
  handlers_.on_open();
}

Status RshChannel::receive() {
  std::array<char, kRshReadBytesPerTurn> buffer;
  const ssize_t count = recv(fd_.get(), buffer.data(), buffer.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  if (count < 0) return os_error("recv from " + peer_).with_context("connection lost");
  if (count == 0) {
    // It may have closed its own side alone, and still listen to our last words.
    if (state_ == State::kFinishing) (void)flush();
    return state_ == State::kFinishing ? why_ : peer_error(peer_ + " hung up");
  }
  return take({buffer.data(), static_cast<size_t>(count)});
}

Status RshChannel::take(std::string_view bytes) {
  switch (state_) {
    case State::kGreeting:
      return take_greeting(bytes);
    case State::kHandshaking:
    case State::kOpen:
      break;
    case State::kConnecting:
    case State::kFinishing:
    case State::kClosed:
      return {};
  }
  if (!session_) return take_plaintext(bytes);
  auto plaintext = session_->receive(bytes);
  outgoing_ += session_->take_output();
  if (!plaintext) {
    (void)flush();  // the alert that tells the other side; it may be gone
    return std::move(plaintext).error().with_context(peer_);
  }
  if (state_ == State::kHandshaking && session_->established()) become_open();
  MUSTER_RETURN_IF_ERROR(take_plaintext(*plaintext));
  flush_soon();
  return {};
}

Status RshChannel::take_greeting(std::string_view bytes) {
  const size_t missing = kRshGreetingBytes - greeting_.size();
  greeting_ += bytes.substr(0, missing);
  if (greeting_.size() < kRshGreetingBytes) return {};
  const auto secured = read_rsh_greeting(greeting_);
  if (!secured) return Error{Code::kProtocol, 0, peer_ + ": another version of muster rsh"};
  if (*secured && tls_ == nullptr) {
    refuse(tls_no_secret_alert(), "a job secret there, but none here (MUSTER_JOB_SECRET_FILE)");
    return {};
  }
  if (!*secured && tls_ != nullptr) {
    refuse(encode(rsh::Refused{kRshFailed,
                               "this job has a secret and the call came without it "
                               "(MUSTER_JOB_SECRET_FILE)"}),
           "no job secret there, but one here (MUSTER_JOB_SECRET_FILE)");
    return {};
  }
  MUSTER_RETURN_IF_ERROR(begin(*secured, TlsRole::kServer));
  return bytes.size() > missing ? take(bytes.substr(missing)) : Status();
}

// In the other side's own language, so that it can say why.
void RshChannel::refuse(std::string_view bytes_for_peer, std::string reason) {
  outgoing_ += bytes_for_peer;
  why_ = peer_error(peer_ + ": " + std::move(reason));
  finish();
}

Status RshChannel::take_plaintext(std::string_view bytes) {
  decoder_.append(bytes);
  return run_messages();
}

Status RshChannel::run_messages() {
  while (state_ == State::kOpen) {
    auto message = decoder_.next();
    if (!message) return std::move(message).error().with_context(peer_);
    if (!*message) return {};
    handlers_.on_message(std::move(**message));
  }
  return {};
}

void RshChannel::send(const RshMessage& message) {
  if (state_ != State::kOpen) return;
  const std::string bytes = encode(message);
  if (!session_) {
    outgoing_ += bytes;
  } else if (auto written = session_->write(bytes); !written) {
    why_ = std::move(written).error();
    return finish();
  } else {
    outgoing_ += session_->take_output();
  }
  flush_soon();
}

void RshChannel::send_now(const RshMessage& message) {
  send(message);
  if (state_ == State::kOpen && watch_.is_active()) (void)flush();  // a failure is told by the next
}

bool RshChannel::is_quiet() const {
  char byte = 0;
  return is_open() && recv(fd_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

bool RshChannel::is_heard() const {
  int bytes = 0;
  return outgoing_.empty() && ioctl(fd_.get(), SIOCOUTQ, &bytes) == 0 && bytes == 0;
}

void RshChannel::finish() {
  if (state_ == State::kFinishing || state_ == State::kClosed) return;
  state_ = State::kFinishing;
  said_all_ = true;
  set_deadline(kRshLinger);
  flush_soon();
}

void RshChannel::flush_soon() {
  soon_ = loop_.soon([this] {
    if (state_ == State::kClosed || state_ == State::kConnecting) return;
    if (!watch_.is_active()) return close(why_);  // it could not be registered
    if (auto flushed = flush(); !flushed) close(flushed.error());
  });
}

Status RshChannel::flush() {
  if (const Status sent = send_some(fd_.get(), outgoing_); !sent)
    return os_error("send to " + peer_, sent.error().os_errno).with_context("connection lost");
  watch_.set_interest(outgoing_.empty() ? Interest::kRead : Interest::kReadWrite);
  // A peer that closed first has nothing more to hear.
  if (outgoing_.empty() && state_ == State::kFinishing) (void)shutdown(fd_.get(), SHUT_WR);
  return {};
}

void RshChannel::close(const Error& error) {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  stranger_.leave();
  deadline_.reset();
  soon_.reset();
  watch_.reset();
  fd_.reset();
  handlers_.on_closed(error);
}

}  // namespace muster::mpi
