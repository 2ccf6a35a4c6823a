#include "base/http_call.h"

#include <fmt/core.h>

#include <array>
#include <utility>

namespace muster {

namespace {

// Of the statuses that servers of ours send; RFC 9110, 15.
constexpr std::array<std::pair<int, std::string_view>, 15> kStatusTexts = {{
    {200, "OK"},
    {202, "Accepted"},
    {204, "No Content"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {422, "Unprocessable Content"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {503, "Service Unavailable"},
    {507, "Insufficient Storage"},
}};

std::string_view status_text(int status) {
  for (const auto& [known, text] : kStatusTexts)
    if (known == status) return text;
  return "Error";
}

}  // namespace

std::string encode(const HttpReply& reply, bool head_only) {
  const std::string length =
      reply.stream ? "" : fmt::format("Content-Length: {}\r\n", reply.body.size());
  return fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\n{}{}Connection: close\r\n\r\n{}",
                     reply.status, status_text(reply.status), reply.content_type, length,
                     encode(reply.headers), head_only ? "" : reply.body);
}

Result<bool> HttpCallDecoder::feed(std::string_view bytes) {
  const auto taken = message_.feed(bytes);
  if (!taken) return taken.error();
  return message_.complete();
}

int HttpCallDecoder::refusal(const Error& error) const {
  constexpr int kBadRequest = 400;
  constexpr int kBodyTooLong = 413;
  constexpr int kHeadTooLong = 431;
  if (error.code != Code::kLimit) return kBadRequest;
  return message_.has_head() ? kBodyTooLong : kHeadTooLong;
}

HttpCall HttpCallDecoder::take() {
  return {.method = message_.method(),
          .path = message_.target(),
          .body = message_.take_body(),
          .headers = message_.take_headers()};
}

}  // namespace muster
