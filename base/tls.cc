#include "base/tls.h"

#include <netdb.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/openssl.h"

namespace muster {

namespace {

constexpr char kIdentity[] = "muster";
// Separates this use of the secret from any other that may come.
constexpr std::string_view kKeyPurpose = "muster tls 1.3 psk v1";
constexpr size_t kRecordBytes = 16384;  // plaintext of one record, RFC 8446 5.1
constexpr std::string_view kDecodeErrorAlert("\x15\x03\x03\x00\x02\x02\x32", 7);
constexpr std::string_view kNoSecretAlert("\x15\x03\x03\x00\x02\x02\x73", 7);

// OpenSSL adds 1000 to the number of an alert that was received.
constexpr int kFirstAlert = 1000;
constexpr int kLastAlert = kFirstAlert + 255;
constexpr int kAlertIllegalParameter = SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER;  // its binder is wrong

// Without a static link there is no such function to be found, and OpenSSL has called it already.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): the linker's name
extern "C" [[gnu::weak]] void __real_OPENSSL_cpuid_setup();

// The oldest error is the cause, later ones are its consequences. Empties the queue, which is one
// for the process: it must not reach the next session.
struct Reason {
  int number = 0;
  std::string text;
};
Reason take_reason() {
  const unsigned long first = ERR_peek_error();
  ERR_clear_error();
  const char* text = ERR_reason_error_string(first);
  return {ERR_GET_REASON(first), text != nullptr ? text : "no reason given"};
}

// Why a session ended, in words for whoever has to set the secret or the certificates right.
Error session_error(const SSL* ssl) {
  const auto [number, text] = take_reason();
  const bool by_secret = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)) != nullptr;  // a TlsContext's
  if (number == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    return {Code::kConfig, 0,
            std::string("certificate not accepted: ") +
                X509_verify_cert_error_string(SSL_get_verify_result(ssl))};
  }
  if (by_secret && (number == SSL_R_BINDER_DOES_NOT_VERIFY || number == kAlertIllegalParameter)) {
    return {Code::kConfig, 0, "job secret differs"};
  }
  if (by_secret && number == SSL_R_TLSV1_ALERT_UNKNOWN_PSK_IDENTITY) {
    return {Code::kConfig, 0, "the other side has no job secret"};
  }
  if (number >= kFirstAlert && number <= kLastAlert) {
    return {Code::kPeer, 0, "the other side refuses: " + text};
  }
  return {Code::kProtocol, 0, "TLS: " + text};
}

const TlsKey& key_of(SSL* ssl) {
  return static_cast<const TlsContext*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)))->key();
}

unsigned give_key(SSL* ssl, unsigned char* out, unsigned room) {
  const auto& bytes = key_of(ssl).bytes;
  if (room < bytes.size()) return 0;
  std::copy(bytes.begin(), bytes.end(), out);
  return static_cast<unsigned>(bytes.size());
}

unsigned client_key(SSL* ssl, const char* /*hint*/, char* identity, unsigned identity_room,
                    unsigned char* key, unsigned key_room) {
  if (identity_room < sizeof kIdentity) return 0;
  std::copy(std::begin(kIdentity), std::end(kIdentity), identity);
  return give_key(ssl, key, key_room);
}

unsigned server_key(SSL* ssl, const char* identity, unsigned char* key, unsigned key_room) {
  if (identity == nullptr || std::string_view(identity) != kIdentity) return 0;
  return give_key(ssl, key, key_room);
}

bool configure(SSL_CTX* context) {
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);  // an idle link keeps none
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_psk_client_callback(context, client_key);
  SSL_CTX_set_psk_server_callback(context, server_key);
  return SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
         SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1 &&
         SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") == 1 &&
         SSL_CTX_set1_groups_list(context, "X25519") == 1 &&
         SSL_CTX_set_num_tickets(context, 0) == 1;
}

OSSL_PARAM bytes_param(const char* name, std::string_view bytes) {
  // OpenSSL reads from what it takes without const.
  return OSSL_PARAM_construct_octet_string(name, const_cast<char*>(bytes.data()), bytes.size());
}

}  // namespace

// Without openssl.cnf: what a file of the image says must not change what the nodes speak.
// Without its exit handler, which only frees memory.
Status start_openssl() {
  if (__real_OPENSSL_cpuid_setup != nullptr) __real_OPENSSL_cpuid_setup();  // twice does no harm
  if (OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr) != 1) {
    return Error{Code::kInternal, 0, "OpenSSL does not start"};
  }
  return {};
}

Error broken_openssl(std::string_view call) {
  return {Code::kInternal, 0, std::string(call) + ": " + take_reason().text};
}

// What OpenSSL would call and a static binary must not: loading libraries, asking the system's
// resolver, working before main. The static link (CMakeLists.txt, --wrap) puts these in their
// place, in the whole program; the paths that lead here, engines and sockets by host name, are none
// of ours.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker chose the
// names.
void* __wrap_dlopen(const char* /*file*/, int /*flags*/) { return nullptr; }
int __wrap_getaddrinfo(const char* /*node*/, const char* /*service*/, const addrinfo* /*hints*/,
                       addrinfo** /*found*/) {
  return EAI_FAIL;
}
hostent* __wrap_gethostbyname(const char* /*name*/) { return nullptr; }
// Asks the CPU what it can do, before main; start_openssl() does it when it is wanted. Each
// question is a trap on a virtual machine.
void __wrap_OPENSSL_cpuid_setup() {}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
}

TlsKey::~TlsKey() { OPENSSL_cleanse(bytes.data(), bytes.size()); }

Result<TlsKey> derive_tls_key(std::string_view secret) {
  MUSTER_RETURN_IF_ERROR(start_openssl());
  const std::unique_ptr<EVP_KDF, decltype(&EVP_KDF_free)> hkdf(
      EVP_KDF_fetch(nullptr, OSSL_KDF_NAME_HKDF, nullptr), EVP_KDF_free);
  if (hkdf == nullptr) return broken_openssl("EVP_KDF_fetch HKDF");
  const std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)> context(
      EVP_KDF_CTX_new(hkdf.get()), EVP_KDF_CTX_free);
  if (context == nullptr) return broken_openssl("EVP_KDF_CTX_new");
  char digest[] = "SHA256";
  const std::array<OSSL_PARAM, 4> parameters = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      bytes_param(OSSL_KDF_PARAM_KEY, secret),
      bytes_param(OSSL_KDF_PARAM_INFO, kKeyPurpose),
      OSSL_PARAM_construct_end(),
  };
  TlsKey key;
  if (EVP_KDF_derive(context.get(), key.bytes.data(), key.bytes.size(), parameters.data()) != 1) {
    return broken_openssl("EVP_KDF_derive");
  }
  return key;
}

std::string_view tls_no_secret_alert() { return kNoSecretAlert; }

Result<std::unique_ptr<TlsContext>> TlsContext::create(const TlsKey& key) {
  MUSTER_RETURN_IF_ERROR(start_openssl());
  std::unique_ptr<TlsContext> context(new TlsContext(key));
  context->context_ = SSL_CTX_new(TLS_method());
  if (context->context_ == nullptr) return broken_openssl("SSL_CTX_new");
  SSL_CTX_set_app_data(context->context_, context.get());
  if (!configure(context->context_)) return broken_openssl("configuring TLS");
  return context;
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

Result<std::unique_ptr<TlsSession>> TlsContext::session(TlsRole role) const {
  if (role == TlsRole::kServer) return std::unique_ptr<TlsSession>(new TlsSession(context_));
  return TlsSession::of_client(SSL_new(context_));
}

Result<std::unique_ptr<TlsSession>> TlsSession::of_client(ssl_st* ssl) {
  std::unique_ptr<TlsSession> session(new TlsSession(nullptr));
  MUSTER_RETURN_IF_ERROR(session->begin(ssl));
  SSL_set_connect_state(ssl);
  MUSTER_RETURN_IF_ERROR(session->handshake());
  return session;
}

Status TlsSession::begin(ssl_st* ssl) {
  if (ssl == nullptr) return broken_openssl("SSL_new");
  ssl_ = ssl;
  BIO* incoming = BIO_new(BIO_s_mem());
  BIO* outgoing = BIO_new(BIO_s_mem());
  SSL_set_bio(ssl, incoming, outgoing);  // owned by ssl from here on
  if (incoming == nullptr || outgoing == nullptr) return broken_openssl("BIO_new");
  return {};
}

TlsSession::~TlsSession() { SSL_free(ssl_); }

bool TlsSession::established() const { return ssl_ != nullptr && SSL_is_init_finished(ssl_) == 1; }

// The client's first record is there as a whole. kProtocol: that will never be.
Result<bool> TlsSession::has_hello() const {
  constexpr size_t kRecordHead = 5;   // type, version, length (RFC 8446 5.1)
  constexpr size_t kMessageHead = 4;  // type, length (RFC 8446 4)
  constexpr uint8_t kHandshake = 22;
  constexpr uint8_t kClientHello = 1;
  const auto byte = [this](size_t at) { return size_t{static_cast<uint8_t>(hello_[at])}; };
  if (hello_.size() < kRecordHead + kMessageHead) return false;
  const size_t record = byte(3) << 8 | byte(4);
  const size_t message = byte(6) << 16 | byte(7) << 8 | byte(8);
  if (byte(0) != kHandshake || byte(kRecordHead) != kClientHello)
    return Error{Code::kProtocol, 0, "TLS: it does not begin with a ClientHello"};
  if (message + kMessageHead > record || record > kMaxClientHelloBytes) {
    return Error{Code::kProtocol, 0,
                 "TLS: a ClientHello of " + std::to_string(message) + " bytes, at most " +
                     std::to_string(kMaxClientHelloBytes) + " in one record are taken"};
  }
  return hello_.size() >= kRecordHead + record;
}

Status TlsSession::handshake() {
  const int outcome = SSL_do_handshake(ssl_);
  if (outcome == 1 || SSL_get_error(ssl_, outcome) == SSL_ERROR_WANT_READ) return {};
  return session_error(ssl_);
}

Result<std::string> TlsSession::read_plaintext() {
  std::string plaintext;
  for (;;) {
    size_t count = 0;
    std::array<char, kRecordBytes> record;
    const int outcome = SSL_read_ex(ssl_, record.data(), record.size(), &count);
    if (outcome == 1) {
      plaintext.append(record.data(), count);
      continue;
    }
    const int why = SSL_get_error(ssl_, outcome);
    if (why == SSL_ERROR_WANT_READ) return plaintext;
    if (why == SSL_ERROR_ZERO_RETURN) {
      ended_ = true;
      if (!plaintext.empty()) return plaintext;  // its last words; the end is told next time
      return Error{Code::kPeer, 0, "the other side ended TLS"};
    }
    return session_error(ssl_);
  }
}

Result<std::string> TlsSession::receive(std::string_view bytes) {
  std::string hello;
  if (context_ != nullptr) {
    hello_ += bytes;
    const auto whole = has_hello();
    if (!whole) {
      alert_ = kDecodeErrorAlert;
      return Error(whole.error());
    }
    if (!*whole) return "";
    hello = std::exchange(hello_, {});
    bytes = hello;
    MUSTER_RETURN_IF_ERROR(begin(SSL_new(std::exchange(context_, nullptr))));
    SSL_set_accept_state(ssl_);
  }
  std::string plaintext;
  // In pieces, so that OpenSSL's own copy of what waits stays small.
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kRecordBytes);
    bytes.remove_prefix(piece.size());
    const int taken = BIO_write(SSL_get_rbio(ssl_), piece.data(), static_cast<int>(piece.size()));
    if (taken != static_cast<int>(piece.size())) return broken_openssl("BIO_write");
    if (!established()) MUSTER_RETURN_IF_ERROR(handshake());
    if (!established()) continue;
    auto more = read_plaintext();
    if (!more && ended_ && !plaintext.empty()) return plaintext;
    if (!more) return std::move(more).error();
    plaintext += *more;
  }
  return plaintext;
}

Status TlsSession::write(std::string_view plaintext) {
  MUSTER_CHECK(established());
  if (plaintext.empty()) return {};
  size_t written = 0;  // all of it: a memory BIO is never full
  if (SSL_write_ex(ssl_, plaintext.data(), plaintext.size(), &written) != 1) {
    return broken_openssl("SSL_write");
  }
  return {};
}

std::string TlsSession::take_output() {
  if (ssl_ == nullptr) return std::exchange(alert_, {});
  BIO* outgoing = SSL_get_wbio(ssl_);
  std::string bytes(BIO_ctrl_pending(outgoing), '\0');
  if (!bytes.empty()) (void)BIO_read(outgoing, bytes.data(), static_cast<int>(bytes.size()));
  return bytes;
}

}  // namespace muster
