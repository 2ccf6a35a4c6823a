// The other side of a TlsClient: certificates made on the spot, and a server's end of TLS, with
// OpenSSL itself. Bytes in, bytes out, as TlsSession.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct ssl_ctx_st;
struct ssl_st;

namespace muster::testing {

/// Both as PEM; a key of P-256, valid for an hour.
struct MadeCertificate {
  std::string certificate;
  std::string key;
};
/// For the DNS name `name`. Signed by `authority`, none: by itself, and an authority.
MadeCertificate make_certificate(const std::string& name,
                                 const MadeCertificate* authority = nullptr);
/// `key` with a passphrase, as PKCS #8.
std::string lock_key(const std::string& key, std::string_view passphrase);

class TlsServer {
 public:
  /// One connection. `authorities`: who signs the clients' certificates, which must have one then;
  /// "" = none is asked for.
  explicit TlsServer(const MadeCertificate& own, const std::string& authorities = "");
  ~TlsServer();
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  /// The plaintext that became readable. A failure is in error() from then on.
  std::string receive(std::string_view bytes);
  void write(std::string_view plaintext);
  /// Says that nothing follows.
  void end();
  [[nodiscard]] std::string take_output();
  /// OpenSSL's word for why it failed, "" = it did not.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  ssl_ctx_st* context_;
  ssl_st* ssl_;
  std::string error_;
};

}  // namespace muster::testing
