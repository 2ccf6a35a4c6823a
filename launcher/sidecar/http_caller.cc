#include "launcher/sidecar/http_caller.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "rendezvous/messages/candidate.h"

namespace muster::launcher {

namespace {

constexpr rendezvous::DialTimeouts kDialTimeouts{.lookup = std::chrono::seconds(5),
                                                 .connect = std::chrono::seconds(5)};

// Where distributions keep what they trust: Debian and Alpine, Fedora, SUSE, BSD.
constexpr std::array kSystemAuthorities = {"/etc/ssl/certs/ca-certificates.crt",
                                           "/etc/pki/tls/certs/ca-bundle.crt",
                                           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

Result<std::string> read_optional(const Files& files, const std::string& path) {
  return path.empty() ? Result<std::string>("") : files.read(path);
}

Result<std::string> read_authorities(const Files& files, const std::string& path) {
  if (!path.empty()) return files.read(path);
  for (const char* known : kSystemAuthorities) {
    if (files.exists(known)) return files.read(known);
  }
  return Error{Code::kConfig, 0,
               "nobody says which authorities to trust: this image has no list of them; --ca-file"};
}

}  // namespace

HttpCaller::HttpCaller(SidecarDoors doors, Url url, HttpCredentials credentials)
    : doors_(doors), url_(std::move(url)), credentials_(std::move(credentials)) {}

void HttpCaller::call(HttpRequest request, Duration deadline, HttpCallback done) {
  MUSTER_CHECK(!done_);
  request_ = std::move(request);
  request_.path = url_.path;
  deadline_ = deadline;
  done_ = std::move(done);
  const bool fresh = doors_.loop.now() - connected_at_ < kMaxConnectionAge;
  reused_ = connection_ && connection_->usable() && fresh;
  if (reused_) return send();
  dial();
}

void HttpCaller::forget_connection() { connection_.reset(); }

void HttpCaller::dial() {
  connection_.reset();
  dial_ = std::make_unique<rendezvous::Dial>(
      doors_.loop, doors_.resolver, doors_.network, rendezvous::Candidate{url_.host, url_.port},
      kDialTimeouts, [this](rendezvous::DialAnswer answer) { on_dialled(std::move(answer)); });
}

void HttpCaller::on_dialled(rendezvous::DialAnswer answer) {
  if (answer.state != rendezvous::Reachability::kReached)
    return finish(Error{Code::kPeer, 0, std::move(answer.reason)});
  if (const Status connected = connect(std::move(answer.socket)); !connected)
    return finish(Error(connected.error()));
  send();
}

Status HttpCaller::connect(UniqueFd socket) {
  MUSTER_RETURN_IF_ERROR(read_token());
  std::unique_ptr<TlsSession> session;
  if (url_.secure) {
    auto begun = begin_tls();
    if (!begun) return std::move(begun).error();
    session = *std::move(begun);
  }
  connection_ = std::make_unique<HttpConnection>(doors_.loop, std::move(socket),
                                                 Address{url_.host, url_.port}.to_string(),
                                                 std::move(session));
  connected_at_ = doors_.loop.now();
  if (connection_->usable()) return {};
  return Error{Code::kOs, 0, "the connection cannot be watched"};
}

Result<std::unique_ptr<TlsSession>> HttpCaller::begin_tls() {
  auto authorities = read_authorities(doors_.files, credentials_.authorities_file);
  if (!authorities) return std::move(authorities).error();
  auto certificate = read_optional(doors_.files, credentials_.certificate_file);
  if (!certificate) return std::move(certificate).error();
  auto key = read_optional(doors_.files, credentials_.key_file);
  if (!key) return std::move(key).error();
  auto client =
      TlsClient::create({*std::move(authorities), *std::move(certificate), *std::move(key)});
  if (!client) return std::move(client).error();
  tls_ = *std::move(client);
  return tls_->session(url_.host);
}

Status HttpCaller::read_token() {
  token_.clear();
  if (credentials_.token_file.empty()) return {};
  const auto text = doors_.files.read(credentials_.token_file, kMaxTokenBytes);
  if (!text) return Error(text.error());
  token_ = std::string(trim(*text));
  const bool fits = std::ranges::all_of(
      token_, [](char character) { return character > ' ' && character < '\x7f'; });
  if (!token_.empty() && fits) return {};
  return Error{Code::kConfig, 0, "'" + credentials_.token_file + "' holds no token"};
}

void HttpCaller::send() {
  dial_.reset();
  HttpRequest request = request_;
  if (!token_.empty()) request.headers.push_back({"Authorization", "Bearer " + token_});
  connection_->send(request, deadline_,
                    [this](Result<HttpResponse> response) { on_response(std::move(response)); });
}

// A server may have closed a connection while it was idle, which says nothing of the request.
void HttpCaller::on_response(Result<HttpResponse> response) {
  if (!response && std::exchange(reused_, false) && response.error().code == Code::kPeer) {
    later_ = doors_.loop.soon([this] { dial(); });
    return;
  }
  finish(std::move(response));
}

void HttpCaller::finish(Result<HttpResponse> response) {
  later_ = doors_.loop.soon([this, response = std::move(response)] {
    dial_.reset();
    if (!response) connection_.reset();
    const HttpCallback done = std::exchange(done_, nullptr);
    done(response);
  });
}

}  // namespace muster::launcher
