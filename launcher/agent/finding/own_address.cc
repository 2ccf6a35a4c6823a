#include "launcher/agent/finding/own_address.h"

#include <algorithm>

#include "base/socket.h"

namespace muster::launcher {

namespace {

bool is_usable(const InterfaceAddress& own) {
  return own.is_up && !own.is_loopback && !own.is_link_local;
}

// Debian's /etc/hosts says 127.0.1.1 of the own name: true here and nowhere else.
std::string first_own(const std::vector<std::string>& resolved,
                      const std::vector<InterfaceAddress>& interfaces) {
  for (const InterfaceAddress& own : interfaces) {
    const bool meant = std::find(resolved.begin(), resolved.end(), own.host) != resolved.end();
    if (is_usable(own) && meant) return own.host;
  }
  return "";
}

}  // namespace

std::string reachable_host(const std::vector<std::string>& resolved,
                           const std::vector<InterfaceAddress>& interfaces,
                           const std::string& default_source) {
  if (auto own = first_own(resolved, interfaces); !own.empty()) return own;
  if (!default_source.empty()) return default_source;
  const auto first = std::find_if(interfaces.begin(), interfaces.end(), is_usable);
  return first == interfaces.end() ? "127.0.0.1" : first->host;
}

OwnName own_name(const std::string& name, const LookupAnswer& answer,
                 const std::vector<InterfaceAddress>& interfaces) {
  if (answer.status != LookupStatus::kFound) return {"", "--local-addr: " + answer.reason};
  std::string own = first_own(answer.addresses, interfaces);
  const bool here =
      !own.empty() || interfaces.empty() ||
      std::any_of(answer.addresses.begin(), answer.addresses.end(), [](const std::string& host) {
        return Address{host, 0}.is_loopback();
      });
  if (here) return {std::move(own), ""};
  return {"", "--local-addr " + name + " is " + answer.addresses.front() +
                  ", which is no address of this node"};
}

}  // namespace muster::launcher
