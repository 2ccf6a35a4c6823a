// HttpDecoder: bytes of one HTTP/1.1 response in, the response out. It sees no socket.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/http_headers.h"
#include "base/http_message.h"
#include "base/result.h"

namespace muster {

/// Status line and headers: what servers send is below 1 KiB, what proxies add a few more.
inline constexpr size_t kMaxHttpHeadBytes = 16 << 10;
/// As kMaxJsonBytes: nobody sends us anything else.
inline constexpr size_t kMaxHttpBodyBytes = 1 << 20;

struct HttpResponse {
  int status = 0;            ///< 200 ... 599
  std::string body = {};     ///< chunks put together; at most kMaxHttpBodyBytes
  HttpHeaders headers = {};  ///< trailers are among them
};

class HttpDecoder {
 public:
  /// Takes the next bytes, in pieces of any size but 0. True: the response is complete. Interim
  /// responses (1xx) are passed over. Not to be called after that or after an error. kProtocol: no
  /// HTTP response, or bytes behind its end. kLimit: head or body too long.
  Result<bool> feed(std::string_view bytes);
  /// The server closed: the end of a body without length, else kProtocol.
  Status end();

  /// Once complete.
  [[nodiscard]] HttpResponse take();
  /// Another request may follow on the connection.
  [[nodiscard]] bool keeps_open() const { return message_.keeps_open(); }

 private:
  Status check(size_t taken, size_t given) const;

  HttpMessage message_{HttpMessage::Kind::kResponse, {kMaxHttpHeadBytes, kMaxHttpBodyBytes}};
  bool begun_ = false;
};

}  // namespace muster
