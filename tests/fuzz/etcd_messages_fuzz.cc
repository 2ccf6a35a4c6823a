// What an etcd, or whatever listens on its port, answers: no reader believes more than it says.
#include <cstdint>

#include "base/check.h"
#include "base/text.h"
#include "rendezvous/etcd/etcd_messages.h"

using namespace muster;
using namespace muster::rendezvous;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const HttpResponse response{data[0] % 2 == 0 ? 200 : 400, std::string(text)};
  const auto entry = read_range(response);
  if (!entry) MUSTER_CHECK(one_line(entry.error().text) == entry.error().text);
  if (entry && *entry) MUSTER_CHECK((*entry)->create_revision > 0);
  if (const auto lease = read_grant(response)) MUSTER_CHECK(lease->id != 0);
  (void)read_keep_alive(response);
  (void)read_revoke(response);
  (void)read_put(response);
  if (const auto claim = read_claim(response)) {
    MUSTER_CHECK(claim->won ? claim->revision > 0 : claim->holder.has_value());
  }
  if (const auto leader = decode_leader(text)) {
    const auto again = decode_leader(encode(*leader));
    MUSTER_CHECK(again.has_value() && *again == *leader);
    MUSTER_CHECK(one_line(leader->node) == leader->node);
  }
  return 0;
}
