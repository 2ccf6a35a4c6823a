#include "launcher/options/rendezvous_values.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/text.h"
#include "launcher/options/choice.h"
#include "launcher/options/flags.h"
#include "launcher/options/option_values.h"

namespace muster::launcher {

namespace {

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

bool is_host(std::string_view host, bool bracketed) {
  return !host.empty() && host.size() <= kMaxHostBytes &&
         std::all_of(host.begin(), host.end(), [bracketed](char c) {
           // '%' begins the zone of a link-local address.
           return is_host_character(c) || (bracketed && (c == ':' || c == '%'));
         });
}

constexpr std::string_view kService = "dns:";

// Written for rendezvous/finding/host_list.h: "dns:workers", "worker-%d", "worker-[0-3,7]".
bool is_pattern(std::string_view text) {
  const size_t bracket = text.find('[');
  return text.starts_with(kService) || text.find("%d") != std::string_view::npos ||
         (bracket != std::string_view::npos && bracket > 0);
}

Result<Endpoint> parse_pattern(std::string_view text) {
  Endpoint endpoint;
  if (text.starts_with(kService)) text.remove_prefix(kService.size());
  const size_t colon = text.rfind(':');
  endpoint.host = text.substr(0, colon);
  if (colon == std::string_view::npos) return endpoint;
  auto port = parse_port(text.substr(colon + 1));
  if (!port) return wrong("'" + std::string(text.substr(colon + 1)) + "' is " + port.error().text);
  endpoint.port = *port;
  return endpoint;
}

// Between commas that are not in brackets.
std::vector<std::string_view> split_endpoints(std::string_view text) {
  std::vector<std::string_view> parts;
  for (const std::string_view piece : split(text, ',')) {
    const bool open = !parts.empty() &&
                      std::ranges::count(parts.back(), '[') > std::ranges::count(parts.back(), ']');
    if (open) {
      const auto end = piece.data() + piece.size() - parts.back().data();
      parts.back() = std::string_view(parts.back().data(), static_cast<size_t>(end));
    } else {
      parts.push_back(piece);
    }
  }
  return parts;
}

enum class ConfKind { kSeconds, kBoolean, kStoreType, kText };

// Source: torch.distributed.elastic, the handlers of static, c10d, etcd and etcd-v2 (2.14).
// use_libuv is what people write against missing libuv; no version reads it.
constexpr Choice<ConfKind> kConfKeys[] = {
    {"timeout", ConfKind::kSeconds},
    {"join_timeout", ConfKind::kSeconds},
    {"last_call_timeout", ConfKind::kSeconds},
    {"close_timeout", ConfKind::kSeconds},
    {"heartbeat_timeout", ConfKind::kSeconds},
    {"keep_alive_interval", ConfKind::kSeconds},
    {"keep_alive_max_attempt", ConfKind::kSeconds},
    {"read_timeout", ConfKind::kSeconds},
    {"is_host", ConfKind::kBoolean},
    {"store_type", ConfKind::kStoreType},
    {"rank", ConfKind::kText},
    {"use_libuv", ConfKind::kText},
    {"etcd_prefix", ConfKind::kText},
    {"protocol", ConfKind::kText},
    {"cacert", ConfKind::kText},
    {"cert", ConfKind::kText},
    {"key", ConfKind::kText},
    {"ssl_cert", ConfKind::kText},
    {"ssl_cert_key", ConfKind::kText},
    {"ca_cert", ConfKind::kText},
};

// Those of them that mean nothing here, and why. Most speak of torchrun's way to meet: through a
// store that all nodes read and write.
constexpr Choice<std::string_view> kIdleConfKeys[] = {
    {"heartbeat_timeout",
     "has no effect: no heartbeat has a time limit, --lease is that of a node"},
    {"close_timeout", "has no effect: the leader tells all nodes when the rendezvous is closed"},
    {"read_timeout", "has no effect: who is silent is dialled anew until join_timeout or --lease"},
    {"rank", "has no effect: --node-rank says it"},
};

const Choice<ConfKind>* find_conf_key(std::string_view key) {
  const auto* const found =
      std::find_if(std::begin(kConfKeys), std::end(kConfKeys),
                   [key](const Choice<ConfKind>& candidate) { return candidate.name == key; });
  return found == std::end(kConfKeys) ? nullptr : found;
}

/// The complaint about the value of a known key; "" = fine.
std::string_view check_conf_value(ConfKind kind, std::string_view value) {
  switch (kind) {
    case ConfKind::kSeconds: {
      const auto number = parse_integer(value);
      const bool fits = number && *number > 0 && *number <= std::numeric_limits<int>::max();
      return fits ? "" : "not a whole number above 0";
    }
    case ConfKind::kBoolean:
      return parse_boolean(value) ? "" : "neither true nor false";
    case ConfKind::kStoreType:
      return value == "tcp" ? "" : "only tcp is supported";
    case ConfKind::kText:
      return "";
  }
  return "";
}

}  // namespace

Result<Endpoint> parse_endpoint(std::string_view text) {
  Endpoint endpoint;
  std::string_view rest;
  if (text.find("://") != std::string_view::npos)
    return wrong("write HOST:PORT, without " + std::string(text.substr(0, text.find("://") + 3)));
  const bool bracketed = text.starts_with('[');
  if (bracketed) {
    const size_t close = text.find(']');
    if (close == std::string_view::npos) return wrong("the ']' is missing");
    endpoint.host = text.substr(1, close - 1);
    rest = text.substr(close + 1);
  } else {
    const size_t colon = std::min(text.find(':'), text.size());
    endpoint.host = text.substr(0, colon);
    rest = text.substr(colon);
    // torchrun splits at the last colon and looks "::1" up as host ":" with port 1.
    if (std::ranges::count(rest, ':') > 1) return wrong("write an IPv6 address as [ADDRESS]:PORT");
  }
  if (!is_host(endpoint.host, bracketed)) return wrong("not HOST, HOST:PORT or [ADDRESS]:PORT");
  if (rest.empty()) return endpoint;
  if (!rest.starts_with(':')) return wrong("only :PORT may follow the ']'");
  auto port = parse_port(rest.substr(1));
  if (!port) return wrong("'" + std::string(rest.substr(1)) + "' is " + port.error().text);
  endpoint.port = *port;
  return endpoint;
}

Result<std::vector<Endpoint>> parse_endpoints(std::string_view text) {
  std::vector<Endpoint> endpoints;
  if (text.empty()) return endpoints;
  for (const std::string_view part : split_endpoints(text)) {
    auto endpoint = is_pattern(part) ? parse_pattern(part) : parse_endpoint(part);
    if (!endpoint) return std::move(endpoint).error();
    endpoints.push_back(*std::move(endpoint));
  }
  return endpoints;
}

Result<std::map<std::string, std::string>> parse_rdzv_conf(std::string_view text) {
  std::map<std::string, std::string> conf;
  text = trim(text);
  // Whoever starts programs without a shell writes the quotes that a shell would take away.
  for (const char quote : {'\'', '"'}) {
    if (text.size() >= 2 && text.starts_with(quote) && text.ends_with(quote))
      text = text.substr(1, text.size() - 2);
  }
  if (trim(text).empty()) return conf;
  for (const std::string_view part : split(text, ',')) {
    const size_t equals = part.find('=');
    const std::string key(trim(part.substr(0, equals)));
    const std::string value(equals == std::string_view::npos ? "" : trim(part.substr(equals + 1)));
    if (key.empty()) return wrong("a key is missing; the form is KEY=VALUE,KEY=VALUE");
    if (value.empty()) return wrong("key '" + key + "' has no value");
    const auto* known = find_conf_key(key);
    const auto complaint = known == nullptr ? "" : check_conf_value(known->value, value);
    if (!complaint.empty()) return wrong("key '" + key + "': " + std::string(complaint));
    conf[key] = value;
  }
  return conf;
}

WantedPort wanted_port(const Options& options) {
  if (options.master_port) return {static_cast<uint16_t>(*options.master_port), "--master-port"};
  if (options.rdzv_endpoint.empty() || options.backend == RendezvousBackend::kEtcd) return {};
  const auto endpoint = parse_endpoint(options.rdzv_endpoint);
  if (!endpoint) return {};
  return {static_cast<uint16_t>(endpoint->port.value_or(0)), "--rdzv-endpoint"};
}

std::string_view without_effect(std::string_view rdzv_key, RendezvousBackend backend) {
  if (find_conf_key(rdzv_key) == nullptr) return "is unknown and has no effect";
  if (rdzv_key == "timeout" && backend == RendezvousBackend::kC10d)
    return "has no effect with c10d, whose key is join_timeout";
  for (const auto& [key, why] : kIdleConfKeys) {
    if (key == rdzv_key) return why;
  }
  return {};
}

}  // namespace muster::launcher
