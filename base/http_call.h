// HttpCallDecoder: bytes of one HTTP/1.1 request in, the request out. It sees no socket. The parser
// is Debian's http_parser (Node's); the limits are ours.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

/// Request line and headers.
inline constexpr size_t kMaxCallHeadBytes = 8 << 10;
inline constexpr size_t kMaxCallBodyBytes = 1 << 20;

/// What a client asks of a server of ours.
struct HttpCall {
  std::string method;  ///< "GET"
  std::string path;    ///< as it was sent, with the query
  std::string body;    ///< at most kMaxCallBodyBytes
};

/// What it gets.
struct HttpReply {
  int status = 200;
  std::string body = {};
  std::string_view content_type = "application/octet-stream";
};

/// The bytes of a reply after which the connection is closed.
[[nodiscard]] std::string encode(const HttpReply& reply);

class HttpCallDecoder {
 public:
  HttpCallDecoder();
  ~HttpCallDecoder();
  HttpCallDecoder(const HttpCallDecoder&) = delete;
  HttpCallDecoder& operator=(const HttpCallDecoder&) = delete;

  /// Takes the next bytes, in pieces of any size but 0. True: the request is complete; what follows
  /// it is dropped. Not to be called after that or after an error. kProtocol: no HTTP request.
  /// kLimit: head or body too long.
  Result<bool> feed(std::string_view bytes);
  /// Once complete.
  [[nodiscard]] HttpCall take();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster
