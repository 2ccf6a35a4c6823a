// The kernel's answers are trusted to be honest, not to be whole: no bytes of them make the decoder
// read past the end, and it never answers from fewer than a whole message.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "base/netlink.h"
#include "base/socket_diag.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kWholeMessage = 88;  // nlmsghdr and inet_diag_msg
  const std::span<const char> bytes(reinterpret_cast<const char*>(data), size);
  const auto owner = muster::decode_diag_answer(bytes, {"127.0.0.1", 45678}, {"127.0.0.1", 29400});
  MUSTER_CHECK(!owner || size >= kWholeMessage);
  (void)muster::decode_diag_answer(bytes, {"::1", 45678}, {"::1", 29400});
  constexpr size_t kWholeAcknowledgement = 36;  // nlmsghdr and nlmsgerr
  MUSTER_CHECK(!muster::decode_netlink_ack(bytes) || size >= kWholeAcknowledgement);
  return 0;
}
