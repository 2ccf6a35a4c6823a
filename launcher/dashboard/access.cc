#include "launcher/dashboard/access.h"

#include <algorithm>

#include "base/socket.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

// Without the port; an IPv6 address keeps its brackets.
std::string_view without_port(std::string_view host) {
  const size_t colon = host.rfind(':');
  const bool in_brackets = colon != std::string_view::npos && colon < host.rfind(']') &&
                           host.rfind(']') != std::string_view::npos;
  return colon == std::string_view::npos || in_brackets ? host : host.substr(0, colon);
}

Error refused(std::string text) { return {Code::kProtocol, 0, std::move(text)}; }

}  // namespace

bool is_own_host(std::string_view host, const DashboardAccess& access) {
  const std::string name = to_lower(without_port(host));
  if (name == "localhost" || parse_numeric_host(name)) return true;
  return std::ranges::any_of(access.names,
                             [&name](const std::string& own) { return to_lower(own) == name; });
}

Status check_origin(const HttpCall& call, const DashboardAccess& access) {
  const std::string_view host = header_of(call.headers, "Host");
  const std::string_view origin = header_of(call.headers, "Origin");
  if (call.method == "POST") {
    if (origin.empty()) return {};
    const size_t scheme = origin.find("://");
    const bool own = scheme != std::string_view::npos && origin.substr(scheme + 3) == host &&
                     is_own_host(host, access);
    if (!own) return refused("a post from the page of another site");
    return {};
  }
  if (host.empty() || is_own_host(host, access)) return {};
  return refused("'" + std::string(host) +
                 "' is no name of this dashboard: --host-name NAME allows it");
}

}  // namespace muster::launcher
