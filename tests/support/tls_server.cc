#include "tests/support/tls_server.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>

#include "base/check.h"

namespace muster::testing {

namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

constexpr long kHour = 3600;

Bio reader(const std::string& pem) {
  return {BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free};
}

std::string text_of(BIO* written) {
  std::string text(BIO_ctrl_pending(written), '\0');
  MUSTER_CHECK(BIO_read(written, text.data(), static_cast<int>(text.size())) > 0);
  return text;
}

Certificate read_certificate(const std::string& pem) {
  return {PEM_read_bio_X509(reader(pem).get(), nullptr, nullptr, nullptr), X509_free};
}

Key read_key(const std::string& pem) {
  return {PEM_read_bio_PrivateKey(reader(pem).get(), nullptr, nullptr, nullptr), EVP_PKEY_free};
}

void extend(X509* certificate, int kind, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
  MUSTER_CHECK(X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

void set_name(X509_NAME* field, const std::string& name) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(name.c_str());
  MUSTER_CHECK(X509_NAME_add_entry_by_txt(field, "CN", MBSTRING_UTF8, bytes, -1, -1, 0) == 1);
}

}  // namespace

MadeCertificate make_certificate(const std::string& name, const MadeCertificate* authority) {
  const Key key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const Certificate made(X509_new(), X509_free);
  // Of one issuer no two have the same number.
  static long number = 0;
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), ++number);
  X509_set_version(made.get(), X509_VERSION_3);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -kHour);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), kHour);
  X509_set_pubkey(made.get(), key.get());
  set_name(X509_get_subject_name(made.get()), name);
  Key signer(EVP_PKEY_dup(key.get()), EVP_PKEY_free);
  if (authority == nullptr) {
    extend(made.get(), NID_basic_constraints, "critical,CA:TRUE");
    X509_set_issuer_name(made.get(), X509_get_subject_name(made.get()));
  } else {
    extend(made.get(), NID_subject_alt_name, "DNS:" + name);
    X509_set_issuer_name(made.get(),
                         X509_get_subject_name(read_certificate(authority->certificate).get()));
    signer = read_key(authority->key);
  }
  MUSTER_CHECK(X509_sign(made.get(), signer.get(), EVP_sha256()) > 0);
  const Bio certificate_text(BIO_new(BIO_s_mem()), BIO_free);
  const Bio key_text(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_X509(certificate_text.get(), made.get());
  PEM_write_bio_PKCS8PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return {text_of(certificate_text.get()), text_of(key_text.get())};
}

std::string lock_key(const std::string& key, std::string_view passphrase) {
  const Bio locked(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_PKCS8PrivateKey(locked.get(), read_key(key).get(), EVP_aes_128_cbc(),
                                passphrase.data(), static_cast<int>(passphrase.size()), nullptr,
                                nullptr);
  return text_of(locked.get());
}

TlsServer::TlsServer(const MadeCertificate& own, const std::string& authorities)
    : context_(SSL_CTX_new(TLS_server_method())) {
  MUSTER_CHECK(SSL_CTX_use_certificate(context_, read_certificate(own.certificate).get()) == 1);
  MUSTER_CHECK(SSL_CTX_use_PrivateKey(context_, read_key(own.key).get()) == 1);
  if (!authorities.empty()) {
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context_), read_certificate(authorities).get());
  }
  ssl_ = SSL_new(context_);
  SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_set_accept_state(ssl_);
}

TlsServer::~TlsServer() {
  SSL_free(ssl_);
  SSL_CTX_free(context_);
}

std::string TlsServer::receive(std::string_view bytes) {
  BIO_write(SSL_get_rbio(ssl_), bytes.data(), static_cast<int>(bytes.size()));
  std::string plaintext;
  for (;;) {
    std::array<char, 4096> piece;
    const int count = SSL_read(ssl_, piece.data(), piece.size());
    if (count > 0) {
      plaintext.append(piece.data(), static_cast<size_t>(count));
      continue;
    }
    if (SSL_get_error(ssl_, count) == SSL_ERROR_SSL)
      error_ = ERR_reason_error_string(ERR_peek_error());
    ERR_clear_error();
    return plaintext;
  }
}

void TlsServer::write(std::string_view plaintext) {
  MUSTER_CHECK(SSL_write(ssl_, plaintext.data(), static_cast<int>(plaintext.size())) > 0);
}

void TlsServer::end() { SSL_shutdown(ssl_); }

std::string TlsServer::take_output() {
  BIO* outgoing = SSL_get_wbio(ssl_);
  return BIO_ctrl_pending(outgoing) == 0 ? "" : text_of(outgoing);
}

}  // namespace muster::testing
