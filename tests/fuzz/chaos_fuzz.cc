// --chaos: what is accepted is within its limits, and means the same when it is written out again.
#include <cstdint>

#include "base/check.h"
#include "launcher/local/chaos.h"

using namespace muster::launcher;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int kNodes = 3;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto faults = parse_chaos(text, kNodes);
  if (!faults) return 0;
  MUSTER_CHECK(faults->size() <= kMaxFaults);
  for (const Fault& fault : *faults) {
    const std::string written = to_string(fault);
    const auto again = parse_chaos(written, kMaxLocalNodes);
    MUSTER_CHECK(again.has_value() && again->size() == 1);
    MUSTER_CHECK(to_string(again->front()) == written);
    (void)is_due(fault.when, text);
  }
  return 0;
}
