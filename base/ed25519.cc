#include "base/ed25519.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <memory>

#include "base/openssl.h"

namespace muster {

namespace {

struct KeyDeleter {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct ContextDeleter {
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
};

}  // namespace

Ed25519KeyPair::~Ed25519KeyPair() { OPENSSL_cleanse(seed.data(), seed.size()); }

Result<Ed25519KeyPair> make_ed25519_key_pair() {
  MUSTER_RETURN_IF_ERROR(start_openssl());
  const std::unique_ptr<EVP_PKEY_CTX, ContextDeleter> context(
      EVP_PKEY_CTX_new_id(EVP_PKEY_ED25519, nullptr));
  EVP_PKEY* made = nullptr;
  if (context == nullptr || EVP_PKEY_keygen_init(context.get()) != 1 ||
      EVP_PKEY_keygen(context.get(), &made) != 1)
    return broken_openssl("EVP_PKEY_keygen ed25519");
  const std::unique_ptr<EVP_PKEY, KeyDeleter> key(made);
  Ed25519KeyPair pair;
  size_t seed_bytes = pair.seed.size();
  size_t public_bytes = pair.public_key.size();
  if (EVP_PKEY_get_raw_private_key(key.get(), pair.seed.data(), &seed_bytes) != 1 ||
      EVP_PKEY_get_raw_public_key(key.get(), pair.public_key.data(), &public_bytes) != 1)
    return broken_openssl("EVP_PKEY_get_raw_private_key ed25519");
  return pair;
}

}  // namespace muster
