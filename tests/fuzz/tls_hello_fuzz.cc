// What a stranger sends to a server in place of a ClientHello, in pieces as the first byte says: an
// answer or an error, never a session. Nothing but a whole ClientHello that is short enough reaches
// OpenSSL.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/check.h"
#include "base/tls.h"

namespace {

std::unique_ptr<muster::TlsContext> context() {
  const auto key = muster::derive_tls_key("a secret that nobody who fuzzes knows");
  MUSTER_CHECK(key);
  auto made = muster::TlsContext::create(*key);
  MUSTER_CHECK(made);
  return std::move(*made);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster;
  static const auto server = context();
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.empty()) return 0;
  const size_t piece = static_cast<uint8_t>(bytes.front()) + size_t{1};
  bytes.remove_prefix(1);
  auto session = server->session(TlsRole::kServer);
  MUSTER_CHECK(session);
  while (!bytes.empty()) {
    const auto plaintext = (*session)->receive(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(bytes.size(), piece));
    MUSTER_CHECK(!(*session)->established());
    (void)(*session)->take_output();
    if (!plaintext) return 0;
    MUSTER_CHECK(plaintext->empty());
  }
  return 0;
}
