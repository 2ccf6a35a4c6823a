// EtcdClient: requests to one of several etcd servers, one at a time, over one connection that is
// kept. It chooses the server; what to ask and what an answer means is the caller's
// (etcd_messages.h).
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/http.h"
#include "base/loop.h"
#include "base/resolver.h"
#include "base/socket.h"
#include "base/tls_client.h"
#include "rendezvous/etcd/etcd_messages.h"
#include "rendezvous/finding/dial.h"
#include "rendezvous/finding/host_list.h"

namespace muster::rendezvous {

/// Requests that wait for those before them. An election has at most four at once.
inline constexpr size_t kMaxEtcdRequests = 16;

struct EtcdServers {
  std::vector<Candidate> endpoints;      ///< not empty
  std::shared_ptr<const TlsClient> tls;  ///< none: plain HTTP
};

using EtcdCallback = std::function<void(Result<HttpResponse>)>;

class EtcdClient {
 public:
  /// The references are borrowed for the life of the object. `patience`: for each look-up, connect
  /// and response.
  EtcdClient(Loop& loop, Resolver& resolver, Network& network, EtcdServers servers,
             Duration patience);
  EtcdClient(const EtcdClient&) = delete;
  EtcdClient& operator=(const EtcdClient&) = delete;

  /// Sends once. Without a connection the endpoints are dialled in turn, beginning with the one
  /// that answered last; when none is reached, kPeer with the reason of each. A request that fails
  /// after it was sent is not repeated, as it may have been carried out; the next goes to the next
  /// endpoint. `done` is called once and never before this returns, in the order of the calls; it
  /// may call again, but not destroy the client.
  void call(EtcdCall call, EtcdCallback done);
  /// Requests whose `done` was not called yet; none of them is called any more.
  void cancel_all();

  /// The address of the server that was reached last; unset before.
  [[nodiscard]] const Address& reached() const { return reached_; }
  /// "http://etcd-0:2379,http://etcd-1:2379", for messages.
  [[nodiscard]] std::string name() const;

 private:
  struct Request {
    EtcdCall call;
    EtcdCallback done;
  };
  void begin();
  void dial();
  void on_dialled(DialAnswer answer);
  Status connect(UniqueFd socket);
  [[nodiscard]] std::string url(const Candidate& endpoint) const;
  void send();
  void on_response(Result<HttpResponse> response);
  void next_endpoint();
  void finish(Result<HttpResponse> response);

  Loop& loop_;
  Resolver& resolver_;
  Network& network_;
  const EtcdServers servers_;
  const Duration patience_;
  std::deque<Request> requests_;
  size_t endpoint_ = 0;
  std::vector<std::string> failures_;  // of the dials for the first request
  std::unique_ptr<Dial> dial_;
  std::unique_ptr<HttpConnection> connection_;
  Address reached_;
  Timer begin_;
  bool busy_ = false;
};

}  // namespace muster::rendezvous
