// HttpCaller: requests to one URL, one at a time, over a connection that is kept for a while. Files
// with the token and the certificates are read anew for each connection, because controllers renew
// them. It follows no redirect and uses no proxy. Whether a request is sent again is the caller's.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/files.h"
#include "base/http.h"
#include "base/loop.h"
#include "base/resolver.h"
#include "base/socket.h"
#include "base/tls_client.h"
#include "launcher/sidecar/url.h"
#include "rendezvous/finding/dial.h"

namespace muster::launcher {

/// What is borrowed of the program; for the life of who has it.
struct SidecarDoors {
  Loop& loop;
  const Clock& clock;
  Files& files;
  Network& network;
  Resolver& resolver;
};

/// Paths; "" = none.
struct HttpCredentials {
  std::string token_file;        ///< of a bearer token; white space around it does not count
  std::string authorities_file;  ///< "" = what the system trusts, if it says so
  std::string certificate_file;  ///< our own
  std::string key_file;
};

/// A token of a service account has 1 to 2 KiB.
inline constexpr size_t kMaxTokenBytes = 16 * 1024;
/// A connection that is older is not used again, so that a renewed token is seen in time: they live
/// an hour, and are renewed when a fifth of that is left.
inline constexpr Duration kMaxConnectionAge = std::chrono::minutes(4);

class HttpCaller {
 public:
  HttpCaller(SidecarDoors doors, Url url, HttpCredentials credentials);
  HttpCaller(const HttpCaller&) = delete;
  HttpCaller& operator=(const HttpCaller&) = delete;

  /// Sends to the URL; the path of `request` is filled in here, and so is the token. `deadline`:
  /// from the connection on. `done` is called once and never before this returns; it may call
  /// again. Not while a call is under way. Errors are those of HttpConnection, and kConfig of the
  /// files, kPeer of the dial.
  void call(HttpRequest request, Duration deadline, HttpCallback done);
  /// The next call makes another connection.
  void forget_connection();

 private:
  void dial();
  void on_dialled(rendezvous::DialAnswer answer);
  Status connect(UniqueFd socket);
  Result<std::unique_ptr<TlsSession>> begin_tls();
  Status read_token();
  void send();
  void on_response(Result<HttpResponse> response);
  void finish(Result<HttpResponse> response);

  SidecarDoors doors_;
  const Url url_;
  const HttpCredentials credentials_;
  HttpRequest request_;
  Duration deadline_{};
  HttpCallback done_;  // empty = no call is under way
  std::string token_;  // of the connection
  std::unique_ptr<rendezvous::Dial> dial_;
  std::unique_ptr<TlsClient> tls_;  // of the connection, which must go first
  std::unique_ptr<HttpConnection> connection_;
  TimePoint connected_at_;
  bool reused_ = false;  // the request went over a connection that has served one before
  Timer later_;
};

}  // namespace muster::launcher
