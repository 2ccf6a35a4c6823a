#include "rendezvous/store/store_server.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/socket.h"

namespace muster::rendezvous {

namespace {

// Buffers kept for the next turn, so that steady traffic allocates nothing: as many as one turn of
// the loop can use, none larger than a few thousand small answers.
constexpr size_t kSpareReplies = 256;
constexpr size_t kSpareReplyBytes = 4096;
constexpr size_t kPiecesPerSend = 64;  // the rest goes out in the next turn

Error peer_gone(const char* call, int os_errno) { return {Code::kPeer, os_errno, call}; }

Error broken_protocol(const Malformed& why) {
  return {why.limit == 0 ? Code::kProtocol : Code::kLimit, 0, why.describe()};
}

std::string peer_text(int fd) {
  const auto address = peer_address(fd);
  return address ? address->to_string() : "unknown";
}

// One system call. As send(2).
ssize_t send_some(int fd, const ReplyBuffer& reply) {
  std::array<iovec, kPiecesPerSend> pieces;
  const size_t used = reply.gather(pieces);
  // Nearly every answer is one piece, and send() is the cheaper call.
  if (used == 1) return send(fd, pieces[0].iov_base, pieces[0].iov_len, MSG_NOSIGNAL);
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = used;
  return sendmsg(fd, &message, MSG_NOSIGNAL);
}

}  // namespace

// Bytes that could not be run yet: an unfinished request, or requests held back.
struct StoreServer::Incoming {
  std::string bytes;
  NeedMore resume;
};

struct StoreServer::Connection {
  UniqueFd fd;
  bool greeted = false;
  Dialect dialect = Dialect::kCurrent;
  bool flush_queued = false;
  bool held_back = false;  // reading stopped until it reads our answers
  bool sending = false;    // the socket is full: waiting to go on
  Watch watch;             // after fd: unregistered before it is closed
  std::unique_ptr<Incoming> incoming;
  std::unique_ptr<ReplyBuffer> reply;
};

StoreServer::StoreServer(Loop& loop, size_t memory_limit_bytes)
    : loop_(loop), meter_(memory_limit_bytes), store_(meter_), lines_(loop) {}

StoreServer::~StoreServer() { clear(); }

void StoreServer::adopt(UniqueFd connection, std::string_view first_bytes) {
  if (free_ids_.empty()) {
    free_ids_.push_back(static_cast<ClientId>(connections_.size()));
    connections_.emplace_back();
  }
  const ClientId client = free_ids_.back();
  auto watch = loop_.watch(connection.get(), Interest::kRead,
                           [this, client](Ready ready) { on_ready(client, ready); });
  if (!watch) {
    return log_dropped(watch.error(), connection.get());
  }
  free_ids_.pop_back();
  connections_[client] = std::make_unique<Connection>();
  connections_[client]->fd = std::move(connection);
  connections_[client]->watch = std::move(*watch);
  if (first_bytes.empty()) return;
  if (auto taken = take_bytes(client, first_bytes); !taken) drop(client, taken.error());
}

void StoreServer::clear() {
  for (ClientId client = 0; client < connections_.size(); ++client) {
    if (connections_[client] != nullptr) release(*connections_[client]);
  }
  connections_.clear();
  free_ids_.clear();
  unflushed_.clear();
  flush_timer_.reset();
  store_.clear();
}

StoreCounters StoreServer::counters() const {
  StoreCounters counters;
  counters.connections = connections_.size() - free_ids_.size();
  counters.waiting_clients = store_.waiting_clients();
  counters.keys = store_.key_count();
  counters.memory_bytes = meter_.used_bytes();
  counters.requests = requests_;
  counters.dropped = dropped_;
  return counters;
}

void StoreServer::on_ready(ClientId client, Ready ready) {
  Connection& connection = *connections_[client];
  if (ready.writable && connection.reply != nullptr) queue_flush(client);
  if (!ready.readable) return;
  // Reading was not asked for: this is the hang-up of a client that never read its answers.
  if (connection.held_back) return remove(client);
  if (auto received = receive(client); !received) drop(client, received.error());
}

Status StoreServer::receive(ClientId client) {
  const ssize_t count = recv(connections_[client]->fd.get(), received_.data(), received_.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  if (count <= 0) return peer_gone("recv", count == 0 ? 0 : errno);
  return take_bytes(client, {received_.data(), static_cast<size_t>(count)});
}

// Runs what is complete of the bytes kept so far plus `bytes`, and keeps the rest.
Status StoreServer::take_bytes(ClientId client, std::string_view bytes) {
  Connection& connection = *connections_[client];
  NeedMore resume;
  if (connection.incoming != nullptr) {
    meter_.take(bytes.size());
    connection.incoming->bytes += bytes;
    bytes = connection.incoming->bytes;
    resume = connection.incoming->resume;
  }
  const auto rest = run_requests(client, bytes, resume);
  if (!rest) return Error(rest.error());
  if (connection.incoming != nullptr) {
    meter_.give_back(rest->consumed_bytes);
    connection.incoming->bytes.erase(0, rest->consumed_bytes);
  } else if (rest->consumed_bytes < bytes.size()) {
    connection.incoming = std::make_unique<Incoming>();
    connection.incoming->bytes = bytes.substr(rest->consumed_bytes);
    meter_.take(connection.incoming->bytes.size());
  } else {
    return {};
  }
  connection.incoming->resume = rest->resume;
  if (connection.incoming->bytes.empty()) connection.incoming.reset();
  // Everyone may keep what one read brings; only an unfinished request that goes on growing must
  // end.
  if (connection.incoming == nullptr || meter_.fits(0)) return {};
  if (connection.held_back || connection.incoming->bytes.size() <= kReadBytesPerTurn) return {};
  return Error{Code::kLimit, 0,
               "an unfinished request makes " + std::to_string(meter_.used_bytes()) +
                   " bytes in use; the store's memory limit is " +
                   std::to_string(meter_.limit_bytes())};
}

Result<StoreServer::Rest> StoreServer::run_requests(ClientId client, std::string_view bytes,
                                                    NeedMore resume) {
  Connection& connection = *connections_[client];
  Rest rest;
  if (!connection.greeted) {
    const auto detected = detect_dialect(bytes);
    if (const auto* why = std::get_if<Malformed>(&detected)) return broken_protocol(*why);
    if (const auto* more = std::get_if<NeedMore>(&detected)) return Rest{0, *more};
    const auto greeting = std::get<Greeting>(detected);
    connection.greeted = true;
    connection.dialect = greeting.dialect;
    rest.consumed_bytes = greeting.encoded_bytes;
    resume = {};
  }
  ReplyBuffer& reply = reply_of(client);
  for (;;) {
    connection.held_back = must_hold_back(reply);
    if (connection.held_back) {
      update_interest(connection);
      return rest;
    }
    const auto decoded = decode(connection.dialect, bytes.substr(rest.consumed_bytes), resume);
    if (const auto* why = std::get_if<Malformed>(&decoded)) return broken_protocol(*why);
    if (const auto* more = std::get_if<NeedMore>(&decoded)) return Rest{rest.consumed_bytes, *more};
    const auto& command = std::get<Command>(decoded);
    const auto woken = store_.apply(client, command, reply);
    if (!woken) return Error(woken.error());
    for (const ClientId other : *woken) reply_of(other).append_u8(kStopWaiting);
    ++requests_;
    rest.consumed_bytes += command.encoded_bytes;
    resume = {};
  }
}

// Over the memory limit everyone may have one unsent answer, so that the store still drains.
bool StoreServer::must_hold_back(const ReplyBuffer& reply) const {
  return reply.pending_bytes() > kMaxPendingReplyBytes || (!reply.empty() && !meter_.fits(0));
}

// The buffer is attached while there is something to send; it is flushed at the end of the turn.
ReplyBuffer& StoreServer::reply_of(ClientId client) {
  Connection& connection = *connections_[client];
  if (connection.reply == nullptr) {
    if (spare_replies_.empty()) {
      connection.reply = std::make_unique<ReplyBuffer>(meter_);
    } else {
      connection.reply = std::move(spare_replies_.back());
      spare_replies_.pop_back();
    }
  }
  queue_flush(client);
  return *connection.reply;
}

void StoreServer::queue_flush(ClientId client) {
  if (std::exchange(connections_[client]->flush_queued, true)) return;
  if (unflushed_.empty()) flush_timer_ = loop_.soon([this] { flush(); });
  unflushed_.push_back(client);
}

void StoreServer::flush() {
  flushing_.swap(unflushed_);
  for (const ClientId client : flushing_) {
    Connection* connection = connections_[client].get();
    // Gone, or another one with its number by now.
    if (connection == nullptr || !std::exchange(connection->flush_queued, false)) continue;
    if (auto sent = send_replies(client); !sent) drop(client, sent.error());
  }
  flushing_.clear();
}

Status StoreServer::send_replies(ClientId client) {
  Connection& connection = *connections_[client];
  ReplyBuffer& reply = *connection.reply;
  if (!reply.empty()) {
    const ssize_t count = send_some(connection.fd.get(), reply);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return peer_gone("send", errno);
    if (count > 0) reply.consume(static_cast<size_t>(count));
  }
  const bool was_sending = std::exchange(connection.sending, !reply.empty());
  const bool resumes = connection.held_back && !must_hold_back(reply) &&
                       reply.pending_bytes() <= kMaxPendingReplyBytes / 2;
  if (!connection.sending) put_aside(std::move(connection.reply));
  if (!resumes && was_sending == connection.sending) return {};  // nearly always
  if (resumes) connection.held_back = false;
  update_interest(connection);
  return resumes ? take_bytes(client, {}) : Status();
}

void StoreServer::update_interest(Connection& connection) {
  const Interest reading = connection.held_back ? Interest::kNothing : Interest::kRead;
  const Interest writing = connection.held_back ? Interest::kWrite : Interest::kReadWrite;
  connection.watch.set_interest(connection.sending ? writing : reading);
}

void StoreServer::put_aside(std::unique_ptr<ReplyBuffer> reply) {
  if (spare_replies_.size() >= kSpareReplies) return;
  if (reply->capacity_bytes() <= kSpareReplyBytes) spare_replies_.push_back(std::move(reply));
}

// A peer that simply went away is no event; one that we throw out is.
void StoreServer::drop(ClientId client, const Error& why) {
  if (why.code != Code::kPeer) {
    ++dropped_;
    log_dropped(why, connections_[client]->fd.get());
  }
  remove(client);
}

void StoreServer::log_dropped(const Error& why, int connection) {
  if (const auto untold = lines_.take())
    log::warning("store.client_dropped",
                 {{"reason", why.text}, {"peer", peer_text(connection)}, {"untold", *untold}});
}

void StoreServer::remove(ClientId client) {
  release(*connections_[client]);
  connections_[client].reset();
  free_ids_.push_back(client);
  for (const ClientId other : store_.forget(client)) reply_of(other).append_u8(kStopWaiting);
}

void StoreServer::release(Connection& connection) {
  if (connection.incoming != nullptr) meter_.give_back(connection.incoming->bytes.size());
}

}  // namespace muster::rendezvous
