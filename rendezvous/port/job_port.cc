#include "rendezvous/port/job_port.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "rendezvous/store/store_protocol.h"
#include "rendezvous/wire/control_protocol.h"

namespace muster::rendezvous {

namespace {

constexpr size_t kFirstReadBytes = 4096;  // a greeting and the first requests behind it
constexpr size_t kShownBytes = 16;        // of an unknown protocol, in the log

constexpr std::array<std::string_view, 7> kHttpMethods = {"GET ",     "PUT ",  "POST ", "DELETE ",
                                                          "OPTIONS ", "HEAD ", "PATCH "};
constexpr uint8_t kLastLegacyOp =
    8;  // a current store client begins with 0, as a control frame does
constexpr std::string_view kXgboostMagic("\x99\xff\x00\x00", 4);
constexpr std::string_view kTlsHandshake("\x16\x03", 2);
constexpr std::string_view kCommandsGreeting = "MRSH";

Protocol match_literal(std::string_view bytes, std::string_view literal, Protocol protocol) {
  if (bytes.starts_with(literal)) return protocol;
  return literal.starts_with(bytes) ? Protocol::kUndecided : Protocol::kUnknown;
}

Protocol match_http(std::string_view bytes) {
  Protocol best = Protocol::kUnknown;
  for (const std::string_view method : kHttpMethods) {
    const Protocol found = match_literal(bytes, method, Protocol::kHttp);
    if (found == Protocol::kHttp) return found;
    if (found == Protocol::kUndecided) best = found;
  }
  return best;
}

bool is_control_frame(std::string_view five_bytes) {
  uint32_t length = 0;
  for (size_t i = 0; i < 4; ++i) length = length << 8 | static_cast<uint8_t>(five_bytes[i]);
  return five_bytes[4] == '{' && length <= kMaxFrameBytes;
}

// Ops 0..8. Byte 0 also begins a control frame; the fifth byte is then '{', which in a legacy SET
// would be part of an impossible key length.
Protocol match_store(std::string_view bytes) {
  const auto detected = detect_dialect(bytes);
  if (std::holds_alternative<NeedMore>(detected)) return Protocol::kUndecided;
  if (const auto* greeting = std::get_if<Greeting>(&detected)) {
    return greeting->dialect == Dialect::kCurrent ? Protocol::kStoreCurrent
                                                  : Protocol::kStoreLegacy;
  }
  return bytes.size() >= 5 && is_control_frame(bytes) ? Protocol::kControl : Protocol::kUnknown;
}

// Connections to our agents; frameworks' protocols prove nothing at all.
bool proves_itself(Protocol protocol) {
  return protocol == Protocol::kControl || protocol == Protocol::kTls ||
         protocol == Protocol::kCommands;
}

}  // namespace

std::string_view to_string(Protocol protocol) {
  switch (protocol) {
    case Protocol::kUndecided:
      return "undecided";
    case Protocol::kUnknown:
      return "unknown";
    case Protocol::kStoreCurrent:
      return "torch store";
    case Protocol::kStoreLegacy:
      return "torch store 1.13";
    case Protocol::kXgboost:
      return "XGBoost tracker";
    case Protocol::kHttp:
      return "HTTP";
    case Protocol::kControl:
      return "control";
    case Protocol::kTls:
      return "TLS";
    case Protocol::kCommands:
      return "commands";
  }
  return "unknown";
}

Protocol detect_protocol(std::string_view bytes) {
  if (bytes.empty()) return Protocol::kUndecided;
  const char first = bytes.front();
  if (static_cast<uint8_t>(first) <= kLastLegacyOp) return match_store(bytes);
  if (first == kXgboostMagic.front()) {
    return match_literal(bytes, kXgboostMagic, Protocol::kXgboost);
  }
  if (first == kTlsHandshake.front()) return match_literal(bytes, kTlsHandshake, Protocol::kTls);
  if (first == kCommandsGreeting.front())
    return match_literal(bytes, kCommandsGreeting, Protocol::kCommands);
  return match_http(bytes);
}

void JobPort::serve(Protocol protocol, Handler handler) {
  handlers_.insert_or_assign(protocol, std::move(handler));
}

void JobPort::close() {
  listener_.close();
  undecided_.clear();
}

// Most clients speak at once: asking the socket first saves registering it twice.
void JobPort::look_at(UniqueFd connection) {
  std::array<char, kFirstReadBytes> buffer;
  const ssize_t count = recv(connection.get(), buffer.data(), buffer.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return keep(std::move(connection), "");
  if (count <= 0) return;  // came and went, as health checks do
  std::string bytes(buffer.data(), static_cast<size_t>(count));
  const Protocol protocol = detect_protocol(bytes);
  if (protocol == Protocol::kUndecided) return keep(std::move(connection), std::move(bytes));
  hand_over(protocol, {std::move(connection), std::move(bytes)});
}

void JobPort::keep(UniqueFd connection, std::string bytes) {
  const uint64_t id = next_id_++;
  auto watch =
      loop_.watch(connection.get(), Interest::kRead, [this, id](Ready) { on_readable(id); });
  if (!watch) return log_dropped(connection.get(), watch.error().text, bytes);
  auto place = strangers_.enter();
  place.on_drop([this, id](const std::string& reason) { drop(id, reason); });
  undecided_.emplace(
      id, Undecided{std::move(connection), std::move(*watch), std::move(bytes), std::move(place)});
}

void JobPort::drop(uint64_t id, const std::string& reason) {
  Undecided& undecided = undecided_.at(id);
  log_dropped(undecided.fd.get(), reason, undecided.bytes);
  undecided_.erase(id);
}

void JobPort::on_readable(uint64_t id) {
  Undecided& undecided = undecided_.at(id);
  std::array<char, kFirstReadBytes> buffer;
  const ssize_t count = recv(undecided.fd.get(), buffer.data(), buffer.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    undecided_.erase(id);
    return;
  }
  undecided.bytes.append(buffer.data(), static_cast<size_t>(count));
  const Protocol protocol = detect_protocol(undecided.bytes);
  if (protocol == Protocol::kUndecided) return;
  undecided.watch.reset();  // before the new owner registers it
  Arrival arrival{std::move(undecided.fd), std::move(undecided.bytes), std::move(undecided.place)};
  undecided_.erase(id);
  hand_over(protocol, std::move(arrival));
}

void JobPort::hand_over(Protocol protocol, Arrival arrival) {
  if (const auto handler = handlers_.find(protocol); handler != handlers_.end()) {
    arrival.place = proves_itself(protocol) ? strangers_.enter() : Strangers::Place();
    return handler->second(std::move(arrival));
  }
  const std::string reason = protocol == Protocol::kUnknown
                                 ? "the first bytes are of no protocol we know"
                                 : std::string(to_string(protocol)) + " is not served here";
  log_dropped(arrival.connection.get(), reason, arrival.first_bytes);
}

void JobPort::log_dropped(int fd, std::string_view reason, std::string_view bytes) {
  const auto untold = strangers_.lines().take();
  if (!untold) return;
  const auto peer = peer_address(fd);
  log::warning("port.client_dropped", {{"reason", reason},
                                       {"peer", peer ? peer->to_string() : "unknown"},
                                       {"first_bytes", bytes.substr(0, kShownBytes)},
                                       {"untold", *untold}});
}

}  // namespace muster::rendezvous
