#include "base/http.h"

#include <fmt/core.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "base/socket.h"
#include "base/text.h"

namespace muster {

namespace {

// As much as a turn reads anywhere here; an answer of etcd has less than 1 KiB.
constexpr size_t kReadBytesPerTurn = 64 << 10;

}  // namespace

std::string encode(const HttpRequest& request, std::string_view authority) {
  const bool typed = !header_of(request.headers, "Content-Type").empty();
  return fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n{}{}Content-Length: {}\r\n\r\n{}",
                     request.method, request.path, authority,
                     typed ? "" : "Content-Type: application/json\r\n", encode(request.headers),
                     request.body.size(), request.body);
}

HttpConnection::HttpConnection(Loop& loop, UniqueFd socket, std::string authority,
                               std::unique_ptr<TlsSession> tls)
    : loop_(loop),
      socket_(std::move(socket)),
      authority_(std::move(authority)),
      tls_(std::move(tls)) {
  auto watch =
      loop_.watch(socket_.get(), Interest::kRead, [this](Ready ready) { on_ready(ready); });
  if (watch) {
    watch_ = std::move(*watch);
  } else {
    socket_.reset();  // and so it is not usable
  }
}

void HttpConnection::send(const HttpRequest& request, Duration deadline, HttpCallback done) {
  MUSTER_CHECK(usable());
  // A query may hold a secret.
  what_ = fmt::format("{} {}://{}{}", request.method, tls_ ? "https" : "http", authority_,
                      request.path.substr(0, request.path.find('?')));
  request_ = encode(request, authority_);
  decoder_ = std::make_unique<HttpDecoder>();
  done_ = std::move(done);
  timer_ = loop_.after(deadline, [this, deadline] {
    finish(Error{Code::kTimeout, 0, "no response within " + format_duration(deadline)});
  });
  if (const Status ready = encrypt(); !ready) finish(ready.error());
}

// The request goes when the handshake has ended.
Status HttpConnection::encrypt() {
  if (!tls_) {
    outgoing_ += std::exchange(request_, {});
  } else {
    if (tls_->established()) MUSTER_RETURN_IF_ERROR(tls_->write(std::exchange(request_, {})));
    outgoing_ += tls_->take_output();
  }
  if (!outgoing_.empty()) watch_.set_interest(Interest::kReadWrite);
  return {};
}

Result<std::string> HttpConnection::decrypt(std::string_view bytes) {
  if (!tls_) return std::string(bytes);
  auto plaintext = tls_->receive(bytes);
  if (plaintext) {
    MUSTER_RETURN_IF_ERROR(encrypt());
    return plaintext;
  }
  // The alert, by which the server can log why its client went.
  outgoing_ += tls_->take_output();
  if (!outgoing_.empty()) flush();
  return plaintext;
}

void HttpConnection::on_ready(Ready ready) {
  if (ready.writable && !outgoing_.empty()) flush();
  if (ready.readable && socket_.is_open()) receive();
}

void HttpConnection::flush() {
  // An answer that says why may lie in a connection that takes no more: receive() finds its end.
  if (!send_some(socket_.get(), outgoing_)) outgoing_.clear();
  if (outgoing_.empty()) watch_.set_interest(Interest::kRead);
}

void HttpConnection::receive() {
  std::array<char, kReadBytesPerTurn> bytes;
  const ssize_t count = recv(socket_.get(), bytes.data(), bytes.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  // Nothing was asked: the server ended an idle connection, or speaks out of turn.
  if (!decoder_ && !(count > 0 && tls_)) return close();
  if (count < 0) {
    Error error = os_error("recv");
    if (error.os_errno == ECONNRESET) error.code = Code::kPeer;
    return finish(std::move(error));
  }
  if (count > 0) return take_bytes({bytes.data(), static_cast<size_t>(count)});
  take_end();
}

// Between two requests TLS may have something to say that is no answer, a ticket.
void HttpConnection::take_bytes(std::string_view bytes) {
  const auto text = decrypt(bytes);
  if (!decoder_) return text && text->empty() ? void() : close();
  if (!text && !ended()) return finish(text.error());
  if (text && !text->empty()) take(decoder_->feed(*text));
  if (decoder_ && ended()) take_end();
}

void HttpConnection::take_end() {
  close();
  const auto complete = decoder_->end();
  if (!complete) return finish(Error{Code::kPeer, ECONNRESET, complete.error().text});
  if (tls_ && !ended()) {
    return finish(Error{Code::kPeer, ECONNRESET,
                        "the connection ended and TLS did not: the response may be cut short"});
  }
  finish(decoder_->take());
}

void HttpConnection::take(Result<bool> complete) {
  if (!complete) return finish(std::move(complete).error());
  if (!*complete) return;
  // A server that answers before it has everything will not read the rest.
  if (!decoder_->keeps_open() || !outgoing_.empty() || ended()) close();
  finish(decoder_->take());
}

void HttpConnection::close() {
  watch_.reset();
  socket_.reset();
}

// From a turn of its own, because the callback may destroy this.
void HttpConnection::finish(Result<HttpResponse> result) {
  decoder_.reset();
  if (!result) {
    close();
    result = std::move(result).error().with_context(what_);
  }
  timer_ = loop_.soon([this, answer = std::move(result)]() mutable {
    const HttpCallback done = std::exchange(done_, nullptr);
    Result<HttpResponse> moved = std::move(answer);
    done(std::move(moved));  // `this` may be gone from here on
  });
}

}  // namespace muster
