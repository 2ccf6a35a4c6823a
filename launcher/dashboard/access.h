// Whose requests the dashboard takes. A browser on a machine that reaches it is led by pages of
// other sites, too: by posts, and by a name of theirs that leads to this address (DNS rebinding),
// after which the page may read what it asks for. Pure; for the dashboard's service.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/http_call.h"
#include "base/result.h"

namespace muster::launcher {

struct DashboardAccess {
  std::string token;               ///< what posts must bear; "" = none
  std::vector<std::string> names;  ///< by which browsers may know this host (--host-name)
};

/// "10.0.0.1:8090", "[::1]", "localhost:80" and `names` with any port: no other site has such a
/// name.
[[nodiscard]] bool is_own_host(std::string_view host, const DashboardAccess& access);

/// kProtocol: the request is a browser's on behalf of another site; the text says why. A browser
/// tells `Host` always, and `Origin` with posts: without `Origin` a post comes from a program,
/// which may know this host by any name, as that of a Kubernetes service.
[[nodiscard]] Status check_origin(const HttpCall& call, const DashboardAccess& access);

}  // namespace muster::launcher
