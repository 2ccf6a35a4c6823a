// Key pairs for signatures by Ed25519 (RFC 8032). Made here; programs that read them from files use
// them.
#pragma once

#include <array>

#include "base/result.h"

namespace muster {

struct Ed25519KeyPair {
  Ed25519KeyPair() = default;
  Ed25519KeyPair(const Ed25519KeyPair&) = default;
  Ed25519KeyPair& operator=(const Ed25519KeyPair&) = default;
  ~Ed25519KeyPair();
  std::array<unsigned char, 32> seed{};  ///< the private half; overwritten at the end
  std::array<unsigned char, 32> public_key{};
};

/// A new pair, from the kernel's randomness. kInternal: OpenSSL cannot. 0.1 ms.
Result<Ed25519KeyPair> make_ed25519_key_pair();

}  // namespace muster
