// HttpPort: an HttpServer with an address of its own. (That of Horovod is behind the job port
// instead, which tells protocols apart.)
#pragma once

#include <cstddef>

#include "base/http_server.h"
#include "base/listener.h"
#include "base/loop.h"
#include "base/result.h"
#include "base/socket.h"

namespace muster {

class HttpPort {
 public:
  /// `loop` and `network` are borrowed and must outlive the port; `most` and `answer` are those of
  /// HttpServer.
  HttpPort(Loop& loop, Network& network, size_t most, HttpServer::Answer answer);
  HttpPort(const HttpPort&) = delete;
  HttpPort& operator=(const HttpPort&) = delete;

  /// As Listener::listen().
  Result<Address> listen(const Address& address) { return listener_.listen(address); }
  /// As HttpServer::push().
  bool push(uint64_t client, std::string_view bytes) { return server_.push(client, bytes); }
  /// As HttpServer::close().
  void close(uint64_t client) { server_.close(client); }
  [[nodiscard]] size_t clients() const { return server_.clients(); }

 private:
  HttpServer server_;
  Listener listener_;
};

}  // namespace muster
