#include "rendezvous/etcd/etcd_client.h"

#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace muster::rendezvous {

EtcdClient::EtcdClient(Loop& loop, Resolver& resolver, Network& network, EtcdServers servers,
                       Duration patience)
    : loop_(loop),
      resolver_(resolver),
      network_(network),
      servers_(std::move(servers)),
      patience_(patience) {
  MUSTER_CHECK(!servers_.endpoints.empty());
}

void EtcdClient::call(EtcdCall call, EtcdCallback done) {
  MUSTER_CHECK(requests_.size() < kMaxEtcdRequests);
  requests_.push_back({std::move(call), std::move(done)});
  if (!busy_) begin_ = loop_.soon([this] { begin(); });
}

void EtcdClient::cancel_all() {
  requests_.clear();
  begin_.reset();
  dial_.reset();
  // The answer to what was sent would be taken for that of the next request.
  if (busy_) connection_.reset();
  busy_ = false;
}

void EtcdClient::begin() {
  if (requests_.empty() || busy_) return;
  busy_ = true;
  failures_.clear();
  if (connection_ && connection_->usable()) return send();
  dial();
}

void EtcdClient::dial() {
  connection_.reset();
  dial_ = std::make_unique<Dial>(loop_, resolver_, network_, servers_.endpoints[endpoint_],
                                 DialTimeouts{patience_, patience_},
                                 [this](DialAnswer answer) { on_dialled(std::move(answer)); });
}

void EtcdClient::on_dialled(DialAnswer answer) {
  const std::string server = url(servers_.endpoints[endpoint_]);
  if (answer.state != Reachability::kReached) {
    failures_.push_back(server + ": " + answer.reason);
    next_endpoint();
    if (failures_.size() < servers_.endpoints.size()) return dial();
    return finish(Error{Code::kPeer, 0, join(failures_, "; ")});
  }
  reached_ = answer.address;
  if (const Status connected = connect(std::move(answer.socket)); !connected) {
    next_endpoint();
    return finish(Error(connected.error()).with_context(server));
  }
  send();
}

Status EtcdClient::connect(UniqueFd socket) {
  const Candidate& endpoint = servers_.endpoints[endpoint_];
  std::unique_ptr<TlsSession> session;
  if (servers_.tls) {
    auto begun = servers_.tls->session(endpoint.host);
    if (!begun) return std::move(begun).error();
    session = std::move(*begun);
  }
  connection_ = std::make_unique<HttpConnection>(loop_, std::move(socket), endpoint.to_string(),
                                                 std::move(session));
  if (connection_->usable()) return {};
  return Error{Code::kOs, 0, "the connection cannot be watched"};
}

void EtcdClient::send() {
  HttpRequest request;
  request.path = requests_.front().call.path;
  request.body = requests_.front().call.body;
  connection_->send(request, patience_,
                    [this](Result<HttpResponse> response) { on_response(std::move(response)); });
}

// A server that cannot answer now (no quorum, no leader among them) is no better than none.
void EtcdClient::on_response(Result<HttpResponse> response) {
  constexpr int kServerError = 500;
  if (!response || response->status >= kServerError) next_endpoint();
  finish(std::move(response));
}

void EtcdClient::next_endpoint() {
  endpoint_ = (endpoint_ + 1) % servers_.endpoints.size();
  if (servers_.endpoints.size() > 1) connection_.reset();
}

void EtcdClient::finish(Result<HttpResponse> response) {
  Request request = std::move(requests_.front());
  requests_.pop_front();
  busy_ = false;
  if (!requests_.empty()) begin_ = loop_.soon([this] { begin(); });
  request.done(std::move(response));
}

std::string EtcdClient::name() const {
  std::vector<std::string> names;
  for (const Candidate& endpoint : servers_.endpoints) names.push_back(url(endpoint));
  return join(names, ",");
}

std::string EtcdClient::url(const Candidate& endpoint) const {
  return (servers_.tls ? "https://" : "http://") + endpoint.to_string();
}

}  // namespace muster::rendezvous
