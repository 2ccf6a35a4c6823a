#include "base/http_call.h"

#include <fmt/core.h>
#include <http_parser.h>

#include <utility>

namespace muster {

namespace {

std::string_view status_text(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Payload Too Large";
    default:
      return "Error";
  }
}

}  // namespace

std::string encode(const HttpReply& reply) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
      reply.status, status_text(reply.status), reply.content_type, reply.body.size(), reply.body);
}

struct HttpCallDecoder::State {
  http_parser parser{};
  HttpCall call;
  size_t head_bytes = 0;
  bool complete = false;
  std::string_view too_long;  // which part

  static State& of(http_parser* parser) { return *static_cast<State*>(parser->data); }
  static int on_head(http_parser* parser, const char* data, size_t length);
  static int on_url(http_parser* parser, const char* data, size_t length);
  static int on_headers_complete(http_parser* parser);
  static int on_body(http_parser* parser, const char* data, size_t length);
  static int on_message_complete(http_parser* parser);
  int admit(std::string_view part, uint64_t bytes, size_t limit);
};

// What callbacks return: another value than 0 ends http_parser_execute.
int HttpCallDecoder::State::admit(std::string_view part, uint64_t bytes, size_t limit) {
  if (bytes <= limit) return 0;
  too_long = part;
  return -1;
}

int HttpCallDecoder::State::on_head(http_parser* parser, const char* /*data*/, size_t length) {
  State& state = of(parser);
  state.head_bytes += length;
  return state.admit("head", state.head_bytes, kMaxCallHeadBytes);
}

int HttpCallDecoder::State::on_url(http_parser* parser, const char* data, size_t length) {
  of(parser).call.path.append(data, length);
  return on_head(parser, data, length);
}

int HttpCallDecoder::State::on_headers_complete(http_parser* parser) {
  const bool sized = parser->content_length != UINT64_MAX;  // the parser's "none given"
  return sized ? of(parser).admit("body", parser->content_length, kMaxCallBodyBytes) : 0;
}

int HttpCallDecoder::State::on_body(http_parser* parser, const char* data, size_t length) {
  State& state = of(parser);
  const int verdict = state.admit("body", state.call.body.size() + length, kMaxCallBodyBytes);
  if (verdict == 0) state.call.body.append(data, length);
  return verdict;
}

int HttpCallDecoder::State::on_message_complete(http_parser* parser) {
  State& state = of(parser);
  state.complete = true;
  state.call.method = http_method_str(static_cast<http_method>(parser->method));
  http_parser_pause(parser, 1);
  return 0;
}

HttpCallDecoder::HttpCallDecoder() : state_(std::make_unique<State>()) {
  http_parser_init(&state_->parser, HTTP_REQUEST);
  state_->parser.data = state_.get();
}
HttpCallDecoder::~HttpCallDecoder() = default;

Result<bool> HttpCallDecoder::feed(std::string_view bytes) {
  http_parser_settings settings;
  http_parser_settings_init(&settings);
  settings.on_url = State::on_url;
  settings.on_header_field = State::on_head;
  settings.on_header_value = State::on_head;
  settings.on_headers_complete = State::on_headers_complete;
  settings.on_body = State::on_body;
  settings.on_message_complete = State::on_message_complete;
  State& state = *state_;
  http_parser_execute(&state.parser, &settings, bytes.data(), bytes.size());
  if (!state.too_long.empty())
    return Error{Code::kLimit, 0, fmt::format("the {} of a request is too long", state.too_long)};
  const auto error = HTTP_PARSER_ERRNO(&state.parser);
  if (error != HPE_OK && error != HPE_PAUSED) {
    return Error{Code::kProtocol, 0,
                 fmt::format("not an HTTP request: {}", http_errno_description(error))};
  }
  if (state.parser.upgrade != 0)
    return Error{Code::kProtocol, 0, "a request for another protocol than HTTP"};
  return state.complete;
}

HttpCall HttpCallDecoder::take() { return std::move(state_->call); }

}  // namespace muster
