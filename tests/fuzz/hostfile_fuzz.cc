// Hostfiles come from users and controllers: what is accepted is within its limits, and means the
// same after it was written for the same launcher and read back.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "mpi/launch/hostfile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster::mpi;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const Implementation implementation :
       {Implementation::kOpenMpi, Implementation::kMpich, Implementation::kIntelMpi}) {
    auto hosts = parse_hostfile(implementation, text);
    if (!hosts) {
      MUSTER_CHECK(hosts.error().text.starts_with("line ") ||
                   hosts.error().text.starts_with("hostfile of "));
      continue;
    }
    MUSTER_CHECK(!hosts->empty() && hosts->size() <= kMaxHostfileHosts);
    for (HostSlots& host : *hosts) {
      MUSTER_CHECK(host.slots >= 0 && host.slots <= kMaxHostSlots);
      MUSTER_CHECK(!host.host.empty() && host.host.size() <= kMaxHostfileNameBytes);
      host.user.clear();  // not written: all nodes run as one user, on one port
      host.port = 0;
    }
    const auto written = write_hostfile(implementation, *hosts);
    if (!written) continue;  // first labels that are not unique
    const auto again = parse_hostfile(implementation, *written);
    MUSTER_CHECK(again.has_value() && *again == *hosts);
  }
  return 0;
}
