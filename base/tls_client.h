// TLS towards a server that is known by a certificate, as etcd is. Sessions are those of tls.h.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/tls.h"

namespace muster {

/// Each is the text of a PEM file.
struct TlsCertificates {
  std::string authorities;  ///< who may sign the server's certificate; not empty
  std::string certificate;  ///< our own, with what it needs up to its authority; "" = none
  std::string key;          ///< of our certificate, without a passphrase; "" = it is beside it
};

/// Client sessions, TLS 1.2 and newer. What files of the image say (openssl.cnf) changes nothing.
class TlsClient {
 public:
  /// kConfig: no certificate in it or a broken one, a chain of more than 17, a key that does not
  /// fit or wants a passphrase, which is never asked for (the text names which of the three).
  /// kInternal: OpenSSL cannot.
  static Result<std::unique_ptr<TlsClient>> create(const TlsCertificates& certificates);
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  /// `host`: the name or numeric address that the server's certificate must be for; another ends
  /// the session with kConfig. Must not outlive this. kInternal: OpenSSL cannot.
  Result<std::unique_ptr<TlsSession>> session(const std::string& host) const;

 private:
  explicit TlsClient(ssl_ctx_st* context) : context_(context) {}

  ssl_ctx_st* context_;
};

}  // namespace muster
