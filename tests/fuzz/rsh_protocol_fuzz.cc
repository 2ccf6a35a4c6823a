// Whoever reaches the job port can send anything: what is taken for a message says the same when it
// is encoded again, and cutting the input elsewhere changes nothing.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "mpi/rsh/rsh_protocol.h"

namespace {

using namespace muster;

std::string decoded(std::string_view bytes, size_t piece) {
  mpi::RshDecoder decoder;
  std::string all;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    decoder.append(bytes.substr(at, piece));
    for (;;) {
      auto message = decoder.next();
      if (!message) return all + "!" + message.error().text;
      if (!*message) break;
      all += mpi::encode(**message);
    }
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string whole = decoded(bytes, size + 1);
  MUSTER_CHECK(decoded(bytes, 7) == whole);
  if (whole.find('!') == std::string::npos) MUSTER_CHECK(bytes.starts_with(whole));
  (void)mpi::read_rsh_greeting(bytes.substr(0, mpi::kRshGreetingBytes));  // no input may harm it
  return 0;
}
