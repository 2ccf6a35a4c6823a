// HttpConnection: requests over one connection that stands already, in HTTP/1.1, one after the
// other. It neither looks names up nor connects (rendezvous/finding/dial), and repeats nothing:
// whether a request may be sent twice is the caller's to know.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/http_decoder.h"
#include "base/http_headers.h"
#include "base/loop.h"
#include "base/result.h"
#include "base/tls.h"

namespace muster {

struct HttpRequest {
  std::string method = "POST";
  std::string path;       ///< with a leading '/', sent as it is
  std::string body = {};  ///< JSON, unless `headers` says otherwise
  /// Besides Host and Content-Length. Content-Type is JSON unless it is among them.
  HttpHeaders headers = {};
};
/// Errors name method and URL. kPeer: closed. kTimeout: the deadline. kProtocol, kLimit: as
/// HttpDecoder. kOs: the socket failed. kConfig: the server's certificate is not accepted. With TLS
/// a body that ends with the connection ends with TLS, else it is cut short: kPeer. A status of 400
/// or more is a response, not an error.
using HttpCallback = std::function<void(Result<HttpResponse>)>;

/// The bytes of a request. `authority`: "host:port" for the Host header.
[[nodiscard]] std::string encode(const HttpRequest& request, std::string_view authority);

class HttpConnection {
 public:
  /// `socket`: connected. `loop` is borrowed for the life of the object. `tls`: of a client; its
  /// handshake goes before the first request. None: plain HTTP.
  HttpConnection(Loop& loop, UniqueFd socket, std::string authority,
                 std::unique_ptr<TlsSession> tls = nullptr);
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  /// Only while usable(). `done` is called once, never before this returns, and may destroy the
  /// connection or send the next request; destroying it earlier cancels.
  void send(const HttpRequest& request, Duration deadline, HttpCallback done);
  /// Open as far as known, and no request under way.
  [[nodiscard]] bool usable() const { return socket_.is_open() && !done_; }

 private:
  void on_ready(Ready ready);
  void flush();
  Status encrypt();
  Result<std::string> decrypt(std::string_view bytes);
  void receive();
  void take_bytes(std::string_view bytes);
  void take(Result<bool> complete);
  void take_end();
  [[nodiscard]] bool ended() const { return tls_ && tls_->ended(); }
  void close();
  void finish(Result<HttpResponse> result);

  Loop& loop_;
  UniqueFd socket_;
  Watch watch_;  // after socket_, so that it goes first
  std::string authority_;
  std::unique_ptr<TlsSession> tls_;
  std::string request_;   // with TLS: what its handshake holds up
  std::string outgoing_;  // for the socket
  std::string what_;      // "POST http://etcd:2379/v3/kv/range", for messages
  std::unique_ptr<HttpDecoder> decoder_;
  HttpCallback done_;
  Timer timer_;  // the deadline, afterwards the turn that delivers the result
};

}  // namespace muster
