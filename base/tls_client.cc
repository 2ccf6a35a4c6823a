#include "base/tls_client.h"

#include <fmt/core.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <utility>
#include <vector>

#include "base/openssl.h"

namespace muster {

namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

constexpr size_t kMaxChain = 17;  // our own certificate and those above it; real ones have 2 to 4

Error unusable(std::string text) {
  ERR_clear_error();
  return {Code::kConfig, 0, std::move(text)};
}

Bio reader(const std::string& pem) {
  return {BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free};
}

// What OpenSSL calls to ask whoever sits at the terminal: here is nobody.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*writes*/, void* /*argument*/) { return -1; }

// All in `text`, at least one; keys and words between them are passed over. `what` begins errors.
Result<std::vector<Certificate>> read_certificates(const std::string& text, std::string_view what) {
  const Bio pem = reader(text);
  std::vector<Certificate> found;
  for (;;) {
    Certificate next(PEM_read_bio_X509(pem.get(), nullptr, no_passphrase, nullptr), X509_free);
    if (!next) break;
    found.push_back(std::move(next));
  }
  // The end of the file and a broken certificate differ in nothing but this.
  const unsigned long last = ERR_peek_last_error();
  if (ERR_GET_LIB(last) != ERR_LIB_PEM || ERR_GET_REASON(last) != PEM_R_NO_START_LINE) {
    const char* why = ERR_reason_error_string(ERR_peek_error());
    return unusable(fmt::format("{}: certificate {} cannot be read: {}", what, found.size() + 1,
                                why != nullptr ? why : "no reason given"));
  }
  if (found.empty()) return unusable(fmt::format("{}: no certificate in PEM", what));
  ERR_clear_error();
  return found;
}

Status trust(SSL_CTX* context, const std::string& text) {
  const auto authorities = read_certificates(text, "authorities");
  if (!authorities) return authorities.error();
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  for (const Certificate& authority : *authorities) {
    if (X509_STORE_add_cert(store, authority.get()) != 1)
      return broken_openssl("X509_STORE_add_cert");
  }
  return {};
}

Status show(SSL_CTX* context, const std::string& text) {
  const auto chain = read_certificates(text, "certificate");
  if (!chain) return chain.error();
  if (chain->size() > kMaxChain) {
    return unusable(
        fmt::format("certificate: {} in PEM, the most is {}", chain->size(), kMaxChain));
  }
  if (SSL_CTX_use_certificate(context, chain->front().get()) != 1)
    return unusable("certificate: not usable");
  for (size_t i = 1; i < chain->size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, (*chain)[i].get()) != 1)
      return broken_openssl("SSL_CTX_add1_chain_cert");
  }
  return {};
}

Status prove(SSL_CTX* context, const std::string& pem_key) {
  const Bio pem = reader(pem_key);
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
  return TlsSession::of_client(ssl.release());
}

}  // namespace muster
