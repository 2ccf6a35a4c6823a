#include "base/http_message.h"

#include <fmt/core.h>
#include <http_parser.h>

#include <utility>

#include "base/text.h"

namespace muster {

struct HttpMessage::State {
  State(Kind given, Limits bounds) : kind(given), limits(bounds) {
    http_parser_init(&parser, kind == Kind::kRequest ? HTTP_REQUEST : HTTP_RESPONSE);
    parser.data = this;
  }

  const Kind kind;
  const Limits limits;
  http_parser parser{};
  std::string target;
  HttpHeaders headers;
  std::string body;
  size_t head_bytes = 0;
  bool within_value = false;  // of the last header
  bool has_head = false;
  bool complete = false;
  bool keeps_open = false;
  std::string_view too_long;  // which part

  static State& of(http_parser* parser) { return *static_cast<State*>(parser->data); }
  static http_parser_settings callbacks();
  static int on_url(http_parser* parser, const char* data, size_t length);
  static int on_status(http_parser* parser, const char* data, size_t length);
  static int on_name(http_parser* parser, const char* data, size_t length);
  static int on_value(http_parser* parser, const char* data, size_t length);
  static int on_headers_complete(http_parser* parser);
  static int on_body(http_parser* parser, const char* data, size_t length);
  static int on_message_complete(http_parser* parser);
  int admit(std::string_view part, uint64_t bytes, size_t limit);
  int admit_head(size_t bytes);
};

// What callbacks return: another value than 0 ends http_parser_execute.
int HttpMessage::State::admit(std::string_view part, uint64_t bytes, size_t limit) {
  if (bytes <= limit) return 0;
  too_long = part;
  return -1;
}

int HttpMessage::State::admit_head(size_t bytes) {
  head_bytes += bytes;
  return admit("head", head_bytes, limits.head_bytes);
}

int HttpMessage::State::on_url(http_parser* parser, const char* data, size_t length) {
  State& state = of(parser);
  const int verdict = state.admit_head(length);
  if (verdict == 0) state.target.append(data, length);
  return verdict;
}

int HttpMessage::State::on_status(http_parser* parser, const char* /*data*/, size_t length) {
  return of(parser).admit_head(length);
}

int HttpMessage::State::on_name(http_parser* parser, const char* data, size_t length) {
  State& state = of(parser);
  const int verdict = state.admit_head(length);
  if (verdict != 0) return verdict;
  if (state.headers.empty() || state.within_value) state.headers.emplace_back();
  state.within_value = false;
  state.headers.back().name.append(data, length);
  return 0;
}

int HttpMessage::State::on_value(http_parser* parser, const char* data, size_t length) {
  State& state = of(parser);
  const int verdict = state.admit_head(length);
  if (verdict != 0) return verdict;
  state.within_value = true;
  state.headers.back().value.append(data, length);
  return 0;
}

int HttpMessage::State::on_headers_complete(http_parser* parser) {
  State& state = of(parser);
  state.has_head = true;
  const bool sized = parser->content_length != UINT64_MAX;  // the parser's "none given"
  return sized ? state.admit("body", parser->content_length, state.limits.body_bytes) : 0;
}

int HttpMessage::State::on_body(http_parser* parser, const char* data, size_t length) {
  State& state = of(parser);
  const int verdict = state.admit("body", state.body.size() + length, state.limits.body_bytes);
  if (verdict == 0) state.body.append(data, length);
  return verdict;
}

int HttpMessage::State::on_message_complete(http_parser* parser) {
  State& state = of(parser);
  constexpr unsigned kFirstFinalStatus = 200;
  if (state.kind == Kind::kResponse && parser->status_code < kFirstFinalStatus) {
    state.headers.clear();
    state.has_head = false;
    return 0;
  }
  state.complete = true;
  state.keeps_open = http_should_keep_alive(parser) != 0;
  http_parser_pause(parser, 1);
  return 0;
}

http_parser_settings HttpMessage::State::callbacks() {
  http_parser_settings settings;
  http_parser_settings_init(&settings);
  settings.on_url = on_url;
  settings.on_status = on_status;
  settings.on_header_field = on_name;
  settings.on_header_value = on_value;
  settings.on_headers_complete = on_headers_complete;
  settings.on_body = on_body;
  settings.on_message_complete = on_message_complete;
  return settings;
}

HttpMessage::HttpMessage(Kind kind, Limits limits)
    : state_(std::make_unique<State>(kind, limits)) {}
HttpMessage::~HttpMessage() = default;

Result<size_t> HttpMessage::feed(std::string_view bytes) {
  State& state = *state_;
  const http_parser_settings settings = State::callbacks();
  const size_t taken = http_parser_execute(&state.parser, &settings, bytes.data(), bytes.size());
  const std::string_view whose = state.kind == Kind::kRequest ? "request" : "response";
  if (!state.too_long.empty()) {
    const bool head = state.too_long == "head";
    return Error{Code::kLimit, 0,
                 fmt::format("the {}'s {} has more than {} bytes", whose, state.too_long,
                             head ? state.limits.head_bytes : state.limits.body_bytes)};
  }
  const auto error = HTTP_PARSER_ERRNO(&state.parser);
  if (error != HPE_OK && error != HPE_PAUSED) {
    return Error{Code::kProtocol, 0,
                 fmt::format("not an HTTP {}: {}", whose, http_errno_description(error))};
  }
  if (state.parser.upgrade != 0) {
    return Error{Code::kProtocol, 0,
                 state.kind == Kind::kRequest
                     ? "a request for another protocol than HTTP"
                     : fmt::format("HTTP status {}", static_cast<int>(state.parser.status_code))};
  }
  return taken;
}

bool HttpMessage::complete() const { return state_->complete; }
bool HttpMessage::has_head() const { return state_->has_head; }
std::string HttpMessage::method() const {
  return http_method_str(static_cast<http_method>(state_->parser.method));
}
const std::string& HttpMessage::target() const { return state_->target; }
int HttpMessage::status() const { return static_cast<int>(state_->parser.status_code); }
bool HttpMessage::keeps_open() const { return state_->keeps_open; }
// The parser leaves white space behind a value.
HttpHeaders HttpMessage::take_headers() {
  for (HttpHeader& header : state_->headers) header.value = trim(header.value);
  return std::move(state_->headers);
}
std::string HttpMessage::take_body() { return std::move(state_->body); }

}  // namespace muster
