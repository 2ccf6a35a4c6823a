#include "base/http_decoder.h"

#include <fmt/core.h>

#include <utility>

namespace muster {

Result<bool> HttpDecoder::feed(std::string_view bytes) {
  begun_ = begun_ || !bytes.empty();
  const auto taken = message_.feed(bytes);
  if (!taken) return taken.error();
  if (!message_.complete()) return false;
  MUSTER_RETURN_IF_ERROR(check(*taken, bytes.size()));
  return true;
}

Status HttpDecoder::check(size_t taken, size_t given) const {
  constexpr int kLastStatus = 599;
  if (message_.status() > kLastStatus)
    return Error{Code::kProtocol, 0, fmt::format("HTTP status {}", message_.status())};
  if (taken < given)
    return Error{Code::kProtocol, 0, fmt::format("{} bytes behind the response", given - taken)};
  return {};
}

Status HttpDecoder::end() {
  if (!begun_) return Error{Code::kProtocol, 0, "the connection was closed instead of a response"};
  // No bytes mean the end of the stream to the parser.
  auto finished = feed("");
  if (!finished) return std::move(finished).error();
  if (!*finished) return Error{Code::kProtocol, 0, "the connection was closed within the response"};
  return {};
}

HttpResponse HttpDecoder::take() {
  return {message_.status(), message_.take_body(), message_.take_headers()};
}

}  // namespace muster
