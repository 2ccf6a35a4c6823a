// TLS 1.3 between two processes that know the same secret: a pre-shared key, no certificates
// (tls_client.h has those). Bytes in, bytes out; sockets are the caller's. OpenSSL costs nothing
// until the first key is derived.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct ssl_ctx_st;
struct ssl_st;

namespace muster {

/// A key of 256 bits. Overwritten when it goes out of scope.
struct TlsKey {
  TlsKey() = default;
  TlsKey(const TlsKey&) = default;
  TlsKey& operator=(const TlsKey&) = default;
  ~TlsKey();
  std::array<unsigned char, 32> bytes{};
};

/// Key for the pre-shared key of TLS: HKDF-SHA256 (RFC 5869) of `secret`, which should hold at
/// least 128 bits nobody can guess. kInternal: OpenSSL cannot.
Result<TlsKey> derive_tls_key(std::string_view secret);

/// A whole TLS record that tells a client, before any handshake, that the server has no secret:
/// alert unknown_psk_identity (RFC 8446, 6.2). Its session then fails saying so.
[[nodiscard]] std::string_view tls_no_secret_alert();

enum class TlsRole { kClient, kServer };

/// Ours has 250 bytes.
inline constexpr size_t kMaxClientHelloBytes = 2048;

/// One connection. It says nothing at its end, and the peer's need not: what is sent over it marks
/// its own ends (frames do), or its reader asks ended().
/// A server asks OpenSSL for nothing before the client's first message (ClientHello) is there,
/// whole, in one record and not longer than kMaxClientHelloBytes: OpenSSL would make room for what
/// a stranger says that it will send.
class TlsSession {
 public:
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  /// Takes bytes from the peer, any number; returns the plaintext that became readable, in order
  /// (bytes of one call become at most as many). Afterwards, also after an error, there may be
  /// output to send: an alert that says why. An error is final.
  /// kConfig: the other side has another secret or none, or a certificate that is not accepted.
  /// kPeer: it refuses, or has ended TLS. kProtocol: not TLS, or broken.
  Result<std::string> receive(std::string_view bytes);

  /// Encrypts; only when established. kInternal: OpenSSL cannot.
  Status write(std::string_view plaintext);

  /// Bytes to send, each returned once. A client's first ones are there from the beginning.
  [[nodiscard]] std::string take_output();

  /// Both sides have proved that they know the key.
  [[nodiscard]] bool established() const;

  /// The peer has said that nothing follows (close_notify, RFC 8446 6.1). A connection that ends
  /// without that may have been cut by anybody.
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  friend class TlsClient;
  friend class TlsContext;
  /// Of a client; owns `ssl`.
  static Result<std::unique_ptr<TlsSession>> of_client(ssl_st* ssl);
  explicit TlsSession(ssl_ctx_st* context) : context_(context) {}
  Status begin(ssl_st* ssl);
  Result<bool> has_hello() const;
  Status handshake();
  Result<std::string> read_plaintext();

  ssl_ctx_st* context_;    // of a server until hello_ is whole, else null
  std::string hello_;      // of a server: the client's first record, as far as it has come
  std::string alert_;      // to send, as long as OpenSSL is asked for nothing
  ssl_st* ssl_ = nullptr;  // null = nothing is asked of OpenSSL yet
  bool ended_ = false;
};

/// Sessions with one key. TLS 1.3 only, AES-128-GCM with SHA-256, and always with a fresh X25519
/// exchange: a key that leaks later opens no recorded connection. No tickets, no early data.
class TlsContext {
 public:
  /// kInternal: OpenSSL cannot.
  static Result<std::unique_ptr<TlsContext>> create(const TlsKey& key);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  /// Must not outlive the context. kInternal: out of memory.
  Result<std::unique_ptr<TlsSession>> session(TlsRole role) const;

  [[nodiscard]] const TlsKey& key() const { return key_; }

 private:
  explicit TlsContext(const TlsKey& key) : key_(key) {}

  TlsKey key_;
  ssl_ctx_st* context_ = nullptr;
};

}  // namespace muster
