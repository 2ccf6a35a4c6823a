// HttpMessage: bytes of one HTTP/1.1 message in, its parts out, within limits. It sees no socket.
// The parser is Debian's http_parser (Node's), seen by http_message.cc alone. HttpDecoder
// (responses) and HttpCallDecoder (requests) say what each of the two directions makes of it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/http_headers.h"
#include "base/result.h"

namespace muster {

class HttpMessage {
 public:
  enum class Kind { kRequest, kResponse };
  struct Limits {
    size_t head_bytes;  ///< request line or status text, names and values of headers and trailers
    size_t body_bytes;  ///< chunks put together
  };

  HttpMessage(Kind kind, Limits limits);
  ~HttpMessage();
  HttpMessage(const HttpMessage&) = delete;
  HttpMessage& operator=(const HttpMessage&) = delete;

  /// Takes the next bytes, in pieces of any size; none at all mean the end of the stream. Returns
  /// how many of them belong to the message: fewer than all only once it is complete. Interim
  /// responses (1xx) are passed over. Not to be called after that or after an error. kProtocol: no
  /// such message. kLimit: head or body too long; the text says which, and the limit.
  Result<size_t> feed(std::string_view bytes);
  [[nodiscard]] bool complete() const;
  /// The head is whole, so that what failed is the body.
  [[nodiscard]] bool has_head() const;

  /// Once complete; of a request.
  [[nodiscard]] std::string method() const;
  [[nodiscard]] const std::string& target() const;
  /// Once complete; of a response. Three digits of any value.
  [[nodiscard]] int status() const;
  /// Another message may follow on the connection.
  [[nodiscard]] bool keeps_open() const;
  /// Once complete, each once.
  [[nodiscard]] HttpHeaders take_headers();
  [[nodiscard]] std::string take_body();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster
