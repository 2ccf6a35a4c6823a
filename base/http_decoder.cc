#include "base/http_decoder.h"

#include <fmt/core.h>
#include <http_parser.h>

#include <utility>

namespace muster {

struct HttpDecoder::State {
  http_parser parser{};
  HttpResponse response;
  size_t head_bytes = 0;  // of status text, header names and values; trailers, too
  bool begun = false;
  bool complete = false;
  bool keeps_open = false;
  std::string_view too_long;  // which part

  static State& of(http_parser* parser) { return *static_cast<State*>(parser->data); }
  static int on_head(http_parser* parser, const char* data, size_t length);
  static int on_headers_complete(http_parser* parser);
  static int on_body(http_parser* parser, const char* data, size_t length);
  static int on_message_complete(http_parser* parser);
  int admit(std::string_view part, uint64_t bytes, size_t limit);
};

// What callbacks return: another value than 0 ends http_parser_execute.
int HttpDecoder::State::admit(std::string_view part, uint64_t bytes, size_t limit) {
  if (bytes <= limit) return 0;
  too_long = part;
  return -1;
}

int HttpDecoder::State::on_head(http_parser* parser, const char* /*data*/, size_t length) {
  State& state = of(parser);
  state.head_bytes += length;
  return state.admit("head", state.head_bytes, kMaxHttpHeadBytes);
}

int HttpDecoder::State::on_headers_complete(http_parser* parser) {
  const bool sized = parser->content_length != UINT64_MAX;  // the parser's "none given"
  return sized ? of(parser).admit("body", parser->content_length, kMaxHttpBodyBytes) : 0;
}

int HttpDecoder::State::on_body(http_parser* parser, const char* data, size_t length) {
  State& state = of(parser);
  const int verdict = state.admit("body", state.response.body.size() + length, kMaxHttpBodyBytes);
  if (verdict == 0) state.response.body.append(data, length);
  return verdict;
}

int HttpDecoder::State::on_message_complete(http_parser* parser) {
  constexpr unsigned kFirstFinalStatus = 200;
  if (parser->status_code < kFirstFinalStatus) return 0;
  State& state = of(parser);
  state.complete = true;
  state.keeps_open = http_should_keep_alive(parser) != 0;
  state.response.status = static_cast<int>(parser->status_code);
  http_parser_pause(parser, 1);
  return 0;
}

HttpDecoder::HttpDecoder() : state_(std::make_unique<State>()) {
  http_parser_init(&state_->parser, HTTP_RESPONSE);
  state_->parser.data = state_.get();
}
HttpDecoder::~HttpDecoder() = default;

Result<bool> HttpDecoder::feed(std::string_view bytes) {
  constexpr int kLastStatus = 599;
  http_parser_settings settings;
  http_parser_settings_init(&settings);
  settings.on_status = State::on_head;
  settings.on_header_field = State::on_head;
  settings.on_header_value = State::on_head;
  settings.on_headers_complete = State::on_headers_complete;
  settings.on_body = State::on_body;
  settings.on_message_complete = State::on_message_complete;
  State& state = *state_;
  state.begun = state.begun || !bytes.empty();
  const size_t taken = http_parser_execute(&state.parser, &settings, bytes.data(), bytes.size());
  if (!state.too_long.empty()) {
    const size_t limit = state.too_long == "head" ? kMaxHttpHeadBytes : kMaxHttpBodyBytes;
    return Error{Code::kLimit, 0,
                 fmt::format("the response's {} has more than {} bytes", state.too_long, limit)};
  }
  const auto error = HTTP_PARSER_ERRNO(&state.parser);
  if (error != HPE_OK && error != HPE_PAUSED) {
    return Error{Code::kProtocol, 0,
                 fmt::format("not an HTTP response: {}", http_errno_description(error))};
  }
  if (state.parser.upgrade != 0 || (state.complete && state.response.status > kLastStatus)) {
    return Error{Code::kProtocol, 0,
                 fmt::format("HTTP status {}", static_cast<int>(state.parser.status_code))};
  }
  if (state.complete && taken < bytes.size()) {
    return Error{Code::kProtocol, 0,
                 fmt::format("{} bytes behind the response", bytes.size() - taken)};
  }
  return state.complete;
}

Status HttpDecoder::end() {
  if (!state_->begun)
    return Error{Code::kProtocol, 0, "the connection was closed instead of a response"};
  // No bytes mean the end of the stream to the parser.
  auto finished = feed("");
  if (!finished) return std::move(finished).error();
  if (!*finished) return Error{Code::kProtocol, 0, "the connection was closed within the response"};
  return {};
}

HttpResponse HttpDecoder::take() { return std::move(state_->response); }
bool HttpDecoder::keeps_open() const { return state_->keeps_open; }

}  // namespace muster
