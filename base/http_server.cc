#include "base/http_server.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/log.h"
#include "base/socket.h"

namespace muster {

struct HttpServer::Client {
  enum class State {
    kAsking,     // its request is not whole yet
    kTaking,     // it takes a reply, and is closed after that
    kStreaming,  // it takes what is pushed
    kRefused,    // it takes a refusal, and may still send what it was refused for
  };
  UniqueFd socket;
  Watch watch;  // after socket, so that it goes first
  HttpCallDecoder decoder;
  std::string outgoing;
  State state = State::kAsking;
  Timer deadline;
};

HttpServer::HttpServer(Loop& loop, size_t most, Answer answer)
    : loop_(loop), most_(most), answer_(std::move(answer)), lines_(loop) {}
HttpServer::~HttpServer() = default;

void HttpServer::adopt(Arrival arrival) {
  if (clients_.size() >= most_)
    drop(clients_.begin()->first, {Code::kLimit, 0, "a newer client needs its place"});
  const uint64_t id = next_id_++;
  auto client = std::make_unique<Client>();
  client->socket = std::move(arrival.connection);
  auto watch = loop_.watch(client->socket.get(), Interest::kRead,
                           [this, id](Ready ready) { on_ready(id, ready); });
  if (!watch) return;  // out of memory: the client sees a closed connection
  client->watch = std::move(*watch);
  client->deadline = loop_.after(kHttpCallTime, [this, id] {
    drop(id, {Code::kTimeout, 0, "it took too long"});
  });
  clients_.emplace(id, std::move(client));
  if (!arrival.first_bytes.empty()) take(id, arrival.first_bytes);
}

bool HttpServer::push(uint64_t id, std::string_view bytes) {
  const auto found = clients_.find(id);
  if (found == clients_.end() || found->second->state != Client::State::kStreaming) return false;
  std::string& outgoing = found->second->outgoing;
  if (outgoing.size() + bytes.size() > kMaxStreamBacklogBytes) {
    drop(id, {Code::kLimit, 0, "it does not read what it asked for"});
    return false;
  }
  outgoing += bytes;
  flush(id);
  return clients_.contains(id);
}

void HttpServer::close(uint64_t client) { clients_.erase(client); }

void HttpServer::clear() { clients_.clear(); }

void HttpServer::on_ready(uint64_t id, Ready ready) {
  Client& client = *clients_.at(id);
  if (ready.writable && !client.outgoing.empty()) {
    flush(id);
    if (!ready.readable || !clients_.contains(id)) return;
  }
  if (!ready.readable) return;
  const ssize_t count = recv(client.socket.get(), received_.data(), received_.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    // Having said all is no leaving: the reply may still be on its way.
    if (count == 0 && client.state == Client::State::kTaking) {
      client.watch.set_interest(Interest::kWrite);
    } else {
      clients_.erase(id);
    }
    return;
  }
  // What a client says behind its request is read and dropped.
  if (client.state == Client::State::kAsking)
    take(id, {received_.data(), static_cast<size_t>(count)});
}

void HttpServer::take(uint64_t id, std::string_view bytes) {
  const auto complete = clients_.at(id)->decoder.feed(bytes);
  if (!complete) return refuse(id, complete.error());
  if (*complete) answer(id);
}

void HttpServer::answer(uint64_t id) {
  Client& client = *clients_.at(id);
  HttpCall call = client.decoder.take();
  call.client = id;
  const bool head_only = call.method == "HEAD";
  const HttpReply reply = answer_(call);
  client.outgoing = encode(reply, head_only);
  client.state = reply.stream && !head_only ? Client::State::kStreaming : Client::State::kTaking;
  if (client.state == Client::State::kStreaming) client.deadline.reset();
  flush(id);
}

void HttpServer::refuse(uint64_t id, const Error& why) {
  Client& client = *clients_.at(id);
  tell(id, why);
  client.outgoing = encode({.status = client.decoder.refusal(why),
                            .body = why.text + "\n",
                            .content_type = "text/plain; charset=utf-8"});
  client.state = Client::State::kRefused;
  flush(id);
}

void HttpServer::flush(uint64_t id) {
  Client& client = *clients_.at(id);
  const Status sent = send_some(client.socket.get(), client.outgoing);
  if (!sent) {
    clients_.erase(id);
    return;
  }
  if (!client.outgoing.empty()) {
    client.watch.set_interest(client.state == Client::State::kTaking ? Interest::kWrite
                                                                     : Interest::kReadWrite);
    return;
  }
  switch (client.state) {
    case Client::State::kAsking:
    case Client::State::kStreaming:
      break;
    case Client::State::kTaking:
      // All of its request was read, so that closing takes nothing of the reply back.
      clients_.erase(id);
      return;
    case Client::State::kRefused:
      // Closing with bytes unread would take the refusal back (RFC 9112, 9.6): the client ends it,
      // or the deadline.
      (void)shutdown(client.socket.get(), SHUT_WR);  // fails if the client is gone, which is read
      break;
  }
  client.watch.set_interest(Interest::kRead);
}

void HttpServer::tell(uint64_t id, const Error& why) {
  const auto untold = lines_.take();
  if (!untold) return;
  const auto peer = peer_address(clients_.at(id)->socket.get());
  log::warning(
      "http.client_dropped",
      {{"peer", peer ? peer->to_string() : ""}, {"reason", why.text}, {"untold", *untold}});
}

void HttpServer::drop(uint64_t id, const Error& why) {
  // It was told of when it was refused.
  if (clients_.at(id)->state != Client::State::kRefused) tell(id, why);
  clients_.erase(id);
}

}  // namespace muster
