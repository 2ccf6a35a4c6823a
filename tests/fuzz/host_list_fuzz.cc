// Host lists and host files come from users, controllers and mounted files: what is accepted is
// within its limits, and says the same again when it is written out and read back.
#include <cstdint>

#include "base/check.h"
#include "rendezvous/finding/host_list.h"

namespace {

using namespace muster::rendezvous;

void check(const std::vector<Candidate>& candidates) {
  MUSTER_CHECK(!candidates.empty() && candidates.size() <= kMaxHosts);
  for (const Candidate& candidate : candidates) {
    MUSTER_CHECK(check_host_name(candidate.host).has_value());
    MUSTER_CHECK(candidate.port != 0);
    MUSTER_CHECK(candidate.slots >= 0 && candidate.slots <= kMaxSlots);
    const auto again = parse_host_list(candidate.to_string(), {1, 0});
    MUSTER_CHECK(again.has_value() && again->size() == 1);
    MUSTER_CHECK((*again)[0].host == candidate.host && (*again)[0].port == candidate.port);
    MUSTER_CHECK((*again)[0].is_service == candidate.is_service);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Few nodes, so that an input with "%d" costs no more than others.
  const HostListDefaults defaults{29400, 3};
  if (const auto list = parse_host_list(text, defaults)) check(*list);
  if (const auto file = parse_host_file(text, defaults)) check(*file);
  if (const auto by_index = hosts_by_index(text, 4, 29400)) check(*by_index);
  return 0;
}
