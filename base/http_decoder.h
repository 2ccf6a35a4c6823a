// HttpDecoder: bytes of one HTTP/1.1 response in, the response out. It sees no socket. The parser
// is Debian's http_parser (Node's), seen by http_decoder.cc alone; the limits are ours.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

/// Status line and headers: what servers send is below 1 KiB, what proxies add a few more.
inline constexpr size_t kMaxHttpHeadBytes = 16 << 10;
/// As kMaxJsonBytes: nobody sends us anything else.
inline constexpr size_t kMaxHttpBodyBytes = 1 << 20;

struct HttpResponse {
  int status = 0;    ///< 200 ... 599
  std::string body;  ///< chunks put together; at most kMaxHttpBodyBytes
};

class HttpDecoder {
 public:
  HttpDecoder();
  ~HttpDecoder();
  HttpDecoder(const HttpDecoder&) = delete;
  HttpDecoder& operator=(const HttpDecoder&) = delete;

  /// Takes the next bytes, in pieces of any size but 0. True: the response is complete. Interim
  /// responses (1xx) are passed over. Not to be called after that or after an error. kProtocol: no
  /// HTTP response, or bytes behind its end. kLimit: head or body too long.
  Result<bool> feed(std::string_view bytes);
  /// The server closed: the end of a body without length, else kProtocol.
  Status end();

  /// Once complete.
  [[nodiscard]] HttpResponse take();
  /// Another request may follow on the connection.
  [[nodiscard]] bool keeps_open() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster
