#include "base/http.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <optional>

#include "base/tls_client.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_network.h"
#include "tests/support/tls_server.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";

std::string with_body(const std::string& body) {
  return std::string(kHead) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string complaint(std::string_view bytes) {
  HttpDecoder decoder;
  const auto complete = decoder.feed(bytes);
  return complete ? "" : complete.error().text;
}

TEST(HttpDecoder, TakesAResponseInPiecesOfAnySize) {
  const std::string chunked = std::string(kHead) +
                              "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n"
                              "Trailer: 1\r\n\r\n";
  for (const std::string& bytes : {with_body("abcde"), chunked}) {
    for (size_t size = 1; size <= bytes.size(); ++size) {
      HttpDecoder decoder;
      bool complete = false;
      for (size_t at = 0; at < bytes.size(); at += size) {
        ASSERT_FALSE(complete) << at;
        const auto fed = decoder.feed(std::string_view(bytes).substr(at, size));
        ASSERT_TRUE(fed) << fed.error().text;
        complete = *fed;
      }
      ASSERT_TRUE(complete);
      EXPECT_TRUE(decoder.keeps_open());
      const HttpResponse response = decoder.take();
      EXPECT_EQ(response.status, 200);
      EXPECT_EQ(response.body, "abcde");
    }
  }
}

TEST(HttpDecoder, KnowsTheHeadersOfTheFinalResponse) {
  HttpDecoder decoder;
  ASSERT_TRUE(decoder.feed("HTTP/1.1 100 Continue\r\nRetry-After: 1\r\n\r\n"));
  EXPECT_EQ(*decoder.feed("HTTP/1.1 429 No\r\nretry-after: 7\r\nContent-Length: 0\r\n\r\n"), true);
  const HttpResponse response = decoder.take();
  EXPECT_EQ(response.headers.size(), 2U);
  EXPECT_EQ(header_of(response.headers, "Retry-After"), "7");
}

TEST(HttpRequest, HasHeadersOfItsOwn) {
  const HttpRequest plain{.path = "/a", .body = "{}"};
  EXPECT_EQ(encode(plain, "h:1"),
            "POST /a HTTP/1.1\r\nHost: h:1\r\nContent-Type: application/json\r\n"
            "Content-Length: 2\r\n\r\n{}");
  const HttpRequest own{
      .method = "PATCH", .path = "/a", .headers = {{"content-type", "text/x"}, {"X", "y"}}};
  EXPECT_EQ(encode(own, "h:1"),
            "PATCH /a HTTP/1.1\r\nHost: h:1\r\ncontent-type: text/x\r\nX: y\r\n"
            "Content-Length: 0\r\n\r\n");
}

TEST(HttpDecoder, PassesOverInterimResponses) {
  HttpDecoder decoder;
  EXPECT_EQ(*decoder.feed("HTTP/1.1 100 Continue\r\n\r\n" + with_body("x")), true);
  EXPECT_EQ(decoder.take().body, "x");
}

TEST(HttpDecoder, ABodyWithoutLengthEndsWithTheConnection) {
  HttpDecoder decoder;
  EXPECT_EQ(*decoder.feed("HTTP/1.1 503 Gone\r\n\r\nsorry"), false);
  EXPECT_TRUE(decoder.end());
  EXPECT_FALSE(decoder.keeps_open());
  const HttpResponse response = decoder.take();
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.body, "sorry");
}

TEST(HttpDecoder, AnEndTooEarlyIsAnError) {
  HttpDecoder nothing;
  EXPECT_EQ(nothing.end().error().text, "the connection was closed instead of a response");
  HttpDecoder half;
  EXPECT_EQ(*half.feed(std::string(kHead) + "Content-Length: 5\r\n\r\nab"), false);
  EXPECT_EQ(half.end().error().code, Code::kProtocol);
}

TEST(HttpDecoder, WhatIsNoResponseIsAnError) {
  EXPECT_NE(complaint("SSH-2.0-OpenSSH_9.2\r\n"), "");
  EXPECT_NE(complaint("HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n"), "");
  EXPECT_NE(complaint("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
            "");
  EXPECT_EQ(complaint("HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: h2\r\n\r\n"),
            "HTTP status 101");
  EXPECT_EQ(complaint("HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n"), "HTTP status 999");
  EXPECT_EQ(complaint(with_body("x") + "y"), "1 bytes behind the response");
}

TEST(HttpDecoder, HeadAndBodyHaveLimits) {
  const std::string head = "HTTP/1.1 200 OK\r\nX: ";
  EXPECT_EQ(complaint(head + std::string(kMaxHttpHeadBytes - 3, 'a') + "\r\n"), "");
  EXPECT_EQ(complaint(head + std::string(kMaxHttpHeadBytes, 'a') + "\r\n"),
            "the response's head has more than 16384 bytes");
  const std::string sized = "HTTP/1.1 200 OK\r\nContent-Length: ";
  EXPECT_EQ(complaint(sized + std::to_string(kMaxHttpBodyBytes) + "\r\n\r\n"), "");
  EXPECT_EQ(complaint(sized + std::to_string(kMaxHttpBodyBytes + 1) + "\r\n\r\n"),
            "the response's body has more than 1048576 bytes");
  const std::string open = "HTTP/1.1 200 OK\r\n\r\n";
  EXPECT_EQ(complaint(open + std::string(kMaxHttpBodyBytes, 'a')), "");
  EXPECT_EQ(complaint(open + std::string(kMaxHttpBodyBytes + 1, 'a')),
            "the response's body has more than 1048576 bytes");
}

class HttpConnectionTest : public ::testing::Test {
 protected:
  HttpConnectionTest() {
    auto listener = network_.listen(kServer);
    auto near = network_.connect(kServer);
    far_ = std::move(*network_.accept(listener->get()));
    connection_ = std::make_unique<HttpConnection>(*loop_, std::move(*near), "etcd:2379");
  }
  void turn() { ASSERT_TRUE(loop_->run_until_idle()); }
  void post(const std::string& path) {
    HttpRequest request;
    request.path = path;
    request.body = "{}";
    connection_->send(request, 2s,
                      [this](const Result<HttpResponse>& response) { got_ = response; });
  }
  std::string received() {
    std::array<char, 4096> bytes;
    const ssize_t count = recv(far_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    return count > 0 ? std::string(bytes.data(), static_cast<size_t>(count)) : "";
  }
  void answer(const std::string& bytes) {
    ASSERT_EQ(send(far_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    turn();
  }

  const Address kServer{"10.0.0.1", 2379};
  testing::FakeClock clock_;
  testing::FakeNetwork network_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  UniqueFd far_;
  std::unique_ptr<HttpConnection> connection_;
  std::optional<Result<HttpResponse>> got_;
};

TEST_F(HttpConnectionTest, OneRequestAfterTheOther) {
  for (const std::string path : {"/first", "/second"}) {
    ASSERT_TRUE(connection_->usable());
    post(path);
    EXPECT_FALSE(connection_->usable());
    turn();
    EXPECT_EQ(received(), "POST " + path +
                              " HTTP/1.1\r\nHost: etcd:2379\r\nContent-Type: application/json\r\n"
                              "Content-Length: 2\r\n\r\n{}");
    got_.reset();
    answer(with_body(path));
    ASSERT_TRUE(got_ && *got_);
    EXPECT_EQ((*got_)->body, path);
  }
}

TEST_F(HttpConnectionTest, AnErrorStatusIsAResponse) {
  post("/x");
  turn();
  answer("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno");
  ASSERT_TRUE(got_ && *got_);
  EXPECT_EQ((*got_)->status, 404);
  EXPECT_TRUE(connection_->usable());
}

TEST_F(HttpConnectionTest, SilenceEndsAtTheDeadline) {
  post("/x");
  turn();
  clock_.advance(2s);
  turn();
  ASSERT_TRUE(got_ && !*got_);
  EXPECT_EQ(got_->error().code, Code::kTimeout);
  EXPECT_EQ(got_->error().text, "POST http://etcd:2379/x: no response within 2 s");
  // A late answer would be taken for that of the next request.
  EXPECT_FALSE(connection_->usable());
}

TEST_F(HttpConnectionTest, TheUrlIsNamedWhenTheServerCloses) {
  post("/x");
  turn();
  far_.reset();
  turn();
  ASSERT_TRUE(got_ && !*got_);
  EXPECT_EQ(got_->error().code, Code::kPeer);
  EXPECT_TRUE(got_->error().text.starts_with("POST http://etcd:2379/x: ")) << got_->error().text;
}

TEST_F(HttpConnectionTest, GarbageIsAnErrorAndEndsTheConnection) {
  post("/x");
  turn();
  answer("220 mail.example.org ESMTP\r\n");
  ASSERT_TRUE(got_ && !*got_);
  EXPECT_EQ(got_->error().code, Code::kProtocol);
  EXPECT_FALSE(connection_->usable());
}

TEST_F(HttpConnectionTest, AnIdleConnectionThatTheServerClosesIsNotUsedAgain) {
  turn();
  ASSERT_TRUE(connection_->usable());
  far_.reset();
  turn();
  EXPECT_FALSE(connection_->usable());
}

TEST_F(HttpConnectionTest, ConnectionCloseEndsIt) {
  post("/x");
  turn();
  answer("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  ASSERT_TRUE(got_ && *got_);
  EXPECT_FALSE(connection_->usable());
}

TEST_F(HttpConnectionTest, ALongRequestLeavesInPiecesWhileTheServerIsSlow) {
  HttpRequest request;
  request.path = "/x";
  request.body = std::string(2 << 20, 'a');
  connection_->send(request, 2s, [this](const Result<HttpResponse>& response) { got_ = response; });
  const size_t expected = encode(request, "etcd:2379").size();
  std::string all;
  while (all.size() < expected) {
    turn();
    const std::string part = received();
    ASSERT_FALSE(part.empty());
    all += part;
  }
  EXPECT_EQ(all, encode(request, "etcd:2379"));
  answer(with_body("x"));
  EXPECT_TRUE(got_ && *got_);
}

TEST_F(HttpConnectionTest, TheCallbackMayDestroyTheConnection) {
  HttpRequest request;
  request.path = "/x";
  connection_->send(request, 2s, [this](Result<HttpResponse> response) {
    got_ = std::move(response);
    connection_.reset();
  });
  turn();
  answer(with_body("x"));
  EXPECT_TRUE(got_ && *got_);
}

// The server's end of the socket is read and written by the test, what it says is the TlsServer's.
class HttpsTest : public HttpConnectionTest {
 protected:
  HttpsTest() {
    client_ = std::move(*TlsClient::create({authority_.certificate, "", ""}));
    reconnect("etcd");
  }
  void reconnect(const std::string& host) {
    server_ = std::make_unique<testing::TlsServer>(testing::make_certificate("etcd", &authority_));
    auto listener = network_.listen(kServer);
    auto near = network_.connect(kServer);
    far_ = std::move(*network_.accept(listener->get()));
    connection_ = std::make_unique<HttpConnection>(*loop_, std::move(*near), "etcd:2379",
                                                   std::move(*client_->session(host)));
  }
  // Until the server has nothing more to say; what it was told.
  std::string exchange() {
    std::string plaintext;
    for (;;) {
      turn();
      const std::string bytes = received();
      if (bytes.empty()) return plaintext;
      plaintext += server_->receive(bytes);
      deliver();
    }
  }
  void deliver() {
    if (const std::string bytes = server_->take_output(); !bytes.empty()) answer(bytes);
  }

  const testing::MadeCertificate authority_ = testing::make_certificate("the authority");
  std::unique_ptr<TlsClient> client_;
  std::unique_ptr<testing::TlsServer> server_;
};

TEST_F(HttpsTest, OneRequestAfterTheOther) {
  for (const std::string path : {"/first", "/second"}) {
    post(path);
    EXPECT_TRUE(exchange().starts_with("POST " + path + " HTTP/1.1\r\n"));
    got_.reset();
    server_->write(with_body(path));
    deliver();
    ASSERT_TRUE(got_ && *got_);
    EXPECT_EQ((*got_)->body, path);
    EXPECT_TRUE(connection_->usable());
  }
}

TEST_F(HttpsTest, ABodyWithoutLengthEndsWithTls) {
  for (const bool at_once : {true, false}) {
    post("/x");
    (void)exchange();
    server_->write(std::string(kHead) + "\r\nall of it");
    if (!at_once) deliver();
    EXPECT_FALSE(got_);
    server_->end();
    deliver();
    ASSERT_TRUE(got_ && *got_);
    EXPECT_EQ((*got_)->body, "all of it");
    EXPECT_FALSE(connection_->usable());
    got_.reset();
    reconnect("etcd");
  }
}

// Anybody on the way can end a connection, but not TLS.
TEST_F(HttpsTest, ABodyWithoutLengthIsNotBelievedWhenTheConnectionEndsAndTlsDoesNot) {
  post("/x");
  (void)exchange();
  server_->write(std::string(kHead) + "\r\nthe first half");
  deliver();
  far_.reset();
  turn();
  ASSERT_TRUE(got_ && !*got_);
  EXPECT_EQ(got_->error().code, Code::kPeer);
  EXPECT_EQ(got_->error().text,
            "POST https://etcd:2379/x: the connection ended and TLS did not: the response may be "
            "cut short");
}

TEST_F(HttpsTest, TlsThatEndsWithinAResponseIsAnError) {
  post("/x");
  (void)exchange();
  server_->write(std::string(kHead) + "Content-Length: 5\r\n\r\nab");
  server_->end();
  deliver();
  ASSERT_TRUE(got_ && !*got_);
  EXPECT_EQ(got_->error().code, Code::kPeer);
}

TEST_F(HttpsTest, AConnectionWhoseTlsHasEndedIsNotUsedAgain) {
  for (const bool at_once : {true, false}) {
    post("/x");
    (void)exchange();
    server_->write(with_body("x"));
    if (at_once) server_->end();
    deliver();
    ASSERT_TRUE(got_ && *got_);
    EXPECT_EQ(connection_->usable(), !at_once);
    if (!at_once) server_->end();
    deliver();
    EXPECT_FALSE(connection_->usable());
    got_.reset();
    reconnect("etcd");
  }
}

TEST_F(HttpsTest, AServerWhoseCertificateIsNotAcceptedIsToldSo) {
  reconnect("another name");
  post("/x");
  (void)exchange();
  ASSERT_TRUE(got_ && !*got_);
  EXPECT_EQ(got_->error().code, Code::kConfig);
  EXPECT_NE(server_->error().find("alert"), std::string::npos) << server_->error();
}

}  // namespace
}  // namespace muster
