// HttpCallDecoder: bytes of one HTTP/1.1 request in, the request out. It sees no socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/http_headers.h"
#include "base/http_message.h"
#include "base/result.h"

namespace muster {

/// Request line and headers.
inline constexpr size_t kMaxCallHeadBytes = 8 << 10;
inline constexpr size_t kMaxCallBodyBytes = 1 << 20;

/// What a client asks of a server of ours.
struct HttpCall {
  std::string method;        ///< "GET"
  std::string path;          ///< as it was sent, with the query
  std::string body;          ///< at most kMaxCallBodyBytes
  HttpHeaders headers = {};  ///< trailers are among them
  uint64_t client = 0;       ///< of HttpServer: which of its connections, for a stream
};

/// What it gets.
struct HttpReply {
  int status = 200;
  std::string body = {};
  std::string_view content_type = "application/octet-stream";
  HttpHeaders headers = {};  ///< besides type, length and connection
  bool stream = false;       ///< `body` is its begin; HttpServer::push() sends more
};

/// The bytes of a reply after which the connection is closed. `head_only`: the method was HEAD, so
/// that the body is told of and not sent.
[[nodiscard]] std::string encode(const HttpReply& reply, bool head_only = false);

class HttpCallDecoder {
 public:
  /// Takes the next bytes, in pieces of any size but 0. True: the request is complete; what follows
  /// it is dropped. Not to be called after that or after an error. kProtocol: no HTTP request.
  /// kLimit: head or body too long.
  Result<bool> feed(std::string_view bytes);
  /// After an error of feed(): what a server says to it (400, 413 or 431).
  [[nodiscard]] int refusal(const Error& error) const;
  /// Once complete.
  [[nodiscard]] HttpCall take();

 private:
  HttpMessage message_{HttpMessage::Kind::kRequest, {kMaxCallHeadBytes, kMaxCallBodyBytes}};
};

}  // namespace muster
