#include "base/tls_client.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <utility>

#include "base/openssl.h"

namespace muster {

namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

constexpr int kMaxChain = 16;

Error unusable(std::string text) {
  ERR_clear_error();
  return {Code::kConfig, 0, std::move(text)};
}

Bio reader(const std::string& pem) {
  return {BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free};
}

// None: the end, or no certificate. A passphrase is never asked for.
Certificate next_certificate(BIO* pem) {
  return {PEM_read_bio_X509(pem, nullptr, nullptr, nullptr), X509_free};
}

Status trust(SSL_CTX* context, const std::string& authorities) {
  const Bio pem = reader(authorities);
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  int count = 0;
  for (;; ++count) {
    const Certificate authority = next_certificate(pem.get());
    if (!authority) break;
    if (X509_STORE_add_cert(store, authority.get()) != 1)
      return broken_openssl("X509_STORE_add_cert");
  }
  if (count == 0) return unusable("authorities: no certificate in PEM");
  ERR_clear_error();  // that there were no more
  return {};
}

Status show(SSL_CTX* context, const std::string& chain) {
  const Bio pem = reader(chain);
  const Certificate own = next_certificate(pem.get());
  if (!own) return unusable("certificate: none in PEM");
  if (SSL_CTX_use_certificate(context, own.get()) != 1) return unusable("certificate: not usable");
  for (int i = 0; i < kMaxChain; ++i) {
    const Certificate above = next_certificate(pem.get());
    if (!above) break;
    if (SSL_CTX_add1_chain_cert(context, above.get()) != 1)
      return broken_openssl("add1_chain_cert");
  }
  ERR_clear_error();
  return {};
}

Status prove(SSL_CTX* context, const std::string& pem_key) {
  const Bio pem = reader(pem_key);
  const auto no_passphrase = [](char*, int, int, void*) { return 0; };
  const Key key(PEM_read_bio_PrivateKey(pem.get(), nullptr, no_passphrase, nullptr), EVP_PKEY_free);
  if (!key) return unusable("key: no private key in PEM, or one with a passphrase");
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1)
    return unusable("key: not that of the certificate");
  return {};
}

Status configure(SSL_CTX* context, const TlsCertificates& certificates) {
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1)
    return broken_openssl("SSL_CTX_set_min_proto_version");
  MUSTER_RETURN_IF_ERROR(trust(context, certificates.authorities));
  if (certificates.certificate.empty()) {
    return certificates.key.empty() ? Status() : unusable("key: there is no certificate for it");
  }
  MUSTER_RETURN_IF_ERROR(show(context, certificates.certificate));
  return prove(context, certificates.key.empty() ? certificates.certificate : certificates.key);
}

}  // namespace

Result<std::unique_ptr<TlsClient>> TlsClient::create(const TlsCertificates& certificates) {
  MUSTER_RETURN_IF_ERROR(start_openssl());
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  if (context == nullptr) return broken_openssl("SSL_CTX_new");
  std::unique_ptr<TlsClient> client(new TlsClient(context));
  MUSTER_RETURN_IF_ERROR(configure(context, certificates));
  return client;
}

TlsClient::~TlsClient() { SSL_CTX_free(context_); }

Result<std::unique_ptr<TlsSession>> TlsClient::session(const std::string& host) const {
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context_), SSL_free);
  if (!ssl) return broken_openssl("SSL_new");
  const bool named = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), host.c_str()) != 1;
  if (named && (SSL_set1_host(ssl.get(), host.c_str()) != 1 ||
                SSL_ctrl(ssl.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                         const_cast<char*>(host.c_str())) != 1)) {
    return broken_openssl("SSL_set1_host");
  }
  ERR_clear_error();  // a name is no address
  return TlsSession::over(ssl.release(), TlsRole::kClient);
}

}  // namespace muster
