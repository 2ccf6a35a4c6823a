// What every use of OpenSSL begins with; tls.cc has it, beside what the static link needs. For the
// files of base/ that call it.
#pragma once

#include <string_view>

#include "base/result.h"

namespace muster {

/// Starts OpenSSL without its configuration file; cheap when it runs already. kInternal.
Status start_openssl();

/// kInternal with OpenSSL's own word for what went wrong in `call`.
Error broken_openssl(std::string_view call);

}  // namespace muster
