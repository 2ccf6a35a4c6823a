#include "base/http_server.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/log.h"
#include "base/socket.h"

namespace muster {

struct HttpServer::Client {
  UniqueFd socket;
  Watch watch;  // after socket, so that it goes first
  HttpCallDecoder decoder;
  std::string outgoing;
  bool answered = false;
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

void HttpServer::clear() { clients_.clear(); }

void HttpServer::on_ready(uint64_t id, Ready /*ready*/) {
  Client& client = *clients_.at(id);
  if (client.answered) return flush(id);
  const ssize_t count = recv(client.socket.get(), received_.data(), received_.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    clients_.erase(id);
    return;
  }
  take(id, {received_.data(), static_cast<size_t>(count)});
}

void HttpServer::take(uint64_t id, std::string_view bytes) {
  Client& client = *clients_.at(id);
  const auto complete = client.decoder.feed(bytes);
  if (!complete) return drop(id, complete.error());
  if (!*complete) return;
  client.answered = true;
  client.outgoing = encode(answer_(client.decoder.take()));
  flush(id);
}

void HttpServer::flush(uint64_t id) {
  Client& client = *clients_.at(id);
  const Status sent = send_some(client.socket.get(), client.outgoing);
  // All of its request was read, so that closing takes nothing of the reply back.
  if (!sent || client.outgoing.empty()) {
    clients_.erase(id);
    return;
  }
  client.watch.set_interest(Interest::kWrite);
}

void HttpServer::drop(uint64_t id, const Error& why) {
  if (const auto untold = lines_.take()) {
    const auto peer = peer_address(clients_.at(id)->socket.get());
    log::warning(
        "http.client_dropped",
        {{"peer", peer ? peer->to_string() : ""}, {"reason", why.text}, {"untold", *untold}});
  }
  clients_.erase(id);
}

}  // namespace muster
