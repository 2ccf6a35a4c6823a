#include "launcher/sidecar/url.h"

#include <algorithm>
#include <utility>

#include "base/socket.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

constexpr uint16_t kHttpPort = 80;
constexpr uint16_t kHttpsPort = 443;

Error wrong(std::string text) { return {Code::kUsage, 0, std::move(text)}; }

bool is_name_character(char character) {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
         (character >= '0' && character <= '9') || character == '-' || character == '.' ||
         character == '_';
}

// A space or a line end in a request's first line would begin something else.
bool is_path_character(char character) { return character > ' ' && character < '\x7f'; }

Result<uint16_t> parse_port(std::string_view text) {
  const auto port = parse_integer(text);
  if (!port || *port < 1 || *port > UINT16_MAX)
    return wrong("'" + one_line(text) + "' is no port from 1 to 65535");
  return static_cast<uint16_t>(*port);
}

// "host", "host:port", "[::1]:port".
Status set_authority(Url& url, std::string_view text) {
  if (text.find('@') != std::string_view::npos)
    return wrong("a URL with a user or password: everybody sees it; use --token-file");
  std::string_view port;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    const auto host =
        end == std::string_view::npos ? std::nullopt : parse_numeric_host(text.substr(0, end + 1));
    if (!host) return wrong("no IPv6 address in brackets");
    url.host = *host;
    port = text.substr(end + 1);
    if (!port.empty() && !port.starts_with(':')) return wrong("something follows the bracket");
  } else {
    const size_t colon = text.find(':');
    url.host = std::string(text.substr(0, colon));
    if (colon != std::string_view::npos) port = text.substr(colon);
    if (url.host.empty() || !std::ranges::all_of(url.host, is_name_character))
      return wrong("no host");
  }
  if (port.empty()) return {};
  const auto number = parse_port(port.substr(1));
  if (!number) return Error(number.error());
  url.port = *number;
  return {};
}

}  // namespace

std::string Url::shown() const {
  return (secure ? "https://" : "http://") + Address{host, port}.to_string() +
         path.substr(0, path.find('?'));
}

Result<Url> parse_url(std::string_view text) {
  if (text.size() > kMaxUrlBytes)
    return wrong("a URL of " + std::to_string(text.size()) + " bytes, the most is " +
                 std::to_string(kMaxUrlBytes));
  Url url;
  const std::string scheme = to_lower(text.substr(0, text.find(':')));
  if (scheme != "http" && scheme != "https") return wrong("a URL begins with http:// or https://");
  url.secure = scheme == "https";
  url.port = url.secure ? kHttpsPort : kHttpPort;
  text.remove_prefix(scheme.size());
  if (!text.starts_with("://")) return wrong("a URL begins with http:// or https://");
  text.remove_prefix(3);
  text = text.substr(0, text.find('#'));
  const size_t end = text.find_first_of("/?");
  MUSTER_RETURN_IF_ERROR(set_authority(url, text.substr(0, end)));
  if (end != std::string_view::npos) url.path = std::string(text.substr(end));
  if (!url.path.starts_with('/')) url.path.insert(0, 1, '/');
  if (!std::ranges::all_of(url.path, is_path_character))
    return wrong("a character in the path that must be written as %XX");
  return url;
}

}  // namespace muster::launcher
