#include "base/http_server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

#include "tests/support/fake_clock.h"

namespace muster {
namespace {

TEST(HttpCall, ComesInAnyPieces) {
  const std::string request = "PUT /a/b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nxyz";
  HttpCallDecoder decoder;
  for (size_t i = 0; i < request.size(); ++i) {
    const auto complete = decoder.feed(request.substr(i, 1));
    ASSERT_TRUE(complete) << complete.error().text;
    EXPECT_EQ(*complete, i + 1 == request.size());
  }
  const HttpCall call = decoder.take();
  EXPECT_EQ(call.method, "PUT");
  EXPECT_EQ(call.path, "/a/b");
  EXPECT_EQ(call.body, "xyz");
}

TEST(HttpCall, IsBounded) {
  HttpCallDecoder head;
  const auto long_head = head.feed("GET /" + std::string(kMaxCallHeadBytes, 'a'));
  ASSERT_FALSE(long_head);
  EXPECT_EQ(long_head.error().code, Code::kLimit);
  HttpCallDecoder body;
  const auto long_body = body.feed("PUT /a HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n");
  ASSERT_FALSE(long_body);
  EXPECT_EQ(long_body.error().code, Code::kLimit);
  EXPECT_EQ(head.refusal(long_head.error()), 431);
  EXPECT_EQ(body.refusal(long_body.error()), 413);
  EXPECT_FALSE(HttpCallDecoder().feed("no request at all\r\n\r\n"));
  EXPECT_FALSE(
      HttpCallDecoder().feed("CONNECT a:1 HTTP/1.1\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"));
}

TEST(HttpCall, KnowsItsHeadersInAnyPieces) {
  const std::string request =
      "GET / HTTP/1.1\r\nHost: x\r\nAccept: text/plain,\r\nEmpty:\r\nLAST-event-ID:  a b \r\n\r\n";
  for (const size_t size : {size_t{1}, size_t{7}, request.size()}) {
    HttpCallDecoder decoder;
    for (size_t at = 0; at < request.size(); at += size)
      ASSERT_TRUE(decoder.feed(std::string_view(request).substr(at, size)));
    const HttpCall call = decoder.take();
    ASSERT_EQ(call.headers.size(), 4U);
    EXPECT_EQ(header_of(call.headers, "accept"), "text/plain,");
    EXPECT_EQ(header_of(call.headers, "Empty"), "");
    EXPECT_EQ(header_of(call.headers, "Last-Event-ID"), "a b");
    EXPECT_EQ(header_of(call.headers, "Content-Type"), "");
  }
}

TEST(HttpHeaders, AValueIsNoSecondHeader) {
  EXPECT_TRUE(is_header_value("Bearer a.b\tc \xc3\xa9"));
  EXPECT_FALSE(is_header_value("Bearer a\r\nX: y"));
  EXPECT_FALSE(is_header_value(std::string_view("a\0b", 3)));
}

class HttpServerTest : public ::testing::Test {
 protected:
  UniqueFd connect(const std::string& first_bytes = "") {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    server_.adopt({UniqueFd(ends[0]), first_bytes, {}});
    return UniqueFd(ends[1]);
  }
  // "" = nothing came; "closed" = the end.
  std::string read(int client) {
    EXPECT_TRUE(loop_->run_until_idle());
    std::array<char, 4096> buffer{};
    const ssize_t count = recv(client, buffer.data(), buffer.size(), 0);
    if (count == 0) return "closed";
    return count < 0 ? "" : std::string(buffer.data(), static_cast<size_t>(count));
  }
  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  HttpServer server_{*loop_, 2, [](const HttpCall& call) {
                       if (call.path == "/stream") {
                         return HttpReply{.body = "begin " + std::to_string(call.client),
                                          .content_type = "text/event-stream",
                                          .headers = {{"Cache-Control", "no-store"}},
                                          .stream = true};
                       }
                       return HttpReply{.status = call.path == "/none" ? 404 : 200,
                                        .body = call.method + " " + call.body};
                     }};
};

TEST_F(HttpServerTest, AnswersOneRequestAndCloses) {
  const UniqueFd client = connect("PUT /a HTTP/1.1\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(read(client.get()), "");
  ASSERT_EQ(send(client.get(), "hi", 2, 0), 2);
  const std::string reply = read(client.get());
  EXPECT_TRUE(reply.starts_with("HTTP/1.1 200 OK\r\n")) << reply;
  EXPECT_TRUE(reply.ends_with("\r\n\r\nPUT hi")) << reply;
  EXPECT_NE(reply.find("Content-Length: 6\r\n"), std::string::npos) << reply;
  EXPECT_EQ(read(client.get()), "closed");
  EXPECT_EQ(server_.clients(), 0U);
}

TEST_F(HttpServerTest, WhoIsSilentOrWrongIsDroppedAndNobodyElse) {
  const UniqueFd silent = connect();
  const UniqueFd good = connect("GET /none HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(read(good.get()).starts_with("HTTP/1.1 404 "));
  const UniqueFd wrong = connect("GET\r\n");
  EXPECT_TRUE(read(wrong.get()).starts_with("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_EQ(read(wrong.get()), "closed");
  clock_.advance(kHttpCallTime);
  EXPECT_EQ(read(silent.get()), "closed");
}

TEST_F(HttpServerTest, WhoIsRefusedMaySayTheRestAndReadsWhy) {
  const UniqueFd client = connect("PUT /a HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n");
  ASSERT_GT(send(client.get(), "and more", 8, 0), 0);
  EXPECT_TRUE(read(client.get()).starts_with("HTTP/1.1 413 "));
  EXPECT_EQ(server_.clients(), 1U);
  ASSERT_GT(send(client.get(), "and more", 8, MSG_NOSIGNAL), 0);
  EXPECT_EQ(read(client.get()), "closed");
  clock_.advance(kHttpCallTime);
  EXPECT_TRUE(loop_->run_until_idle());
  EXPECT_EQ(server_.clients(), 0U);
}

TEST_F(HttpServerTest, AHeadHasTheLengthAndNotTheBody) {
  const UniqueFd client = connect("HEAD /a HTTP/1.1\r\n\r\n");
  const std::string reply = read(client.get());
  EXPECT_NE(reply.find("Content-Length: 5\r\n"), std::string::npos) << reply;
  EXPECT_TRUE(reply.ends_with("\r\n\r\n")) << reply;
  EXPECT_EQ(read(client.get()), "closed");
}

TEST_F(HttpServerTest, AStreamGoesOnUntilItsClientIsGone) {
  UniqueFd client = connect("GET /stream HTTP/1.1\r\n\r\n");
  const std::string head = read(client.get());
  EXPECT_NE(head.find("\r\nCache-Control: no-store\r\n"), std::string::npos) << head;
  EXPECT_EQ(head.find("Content-Length"), std::string::npos) << head;
  EXPECT_TRUE(head.ends_with("\r\n\r\nbegin 1")) << head;
  clock_.advance(10 * kHttpCallTime);
  EXPECT_TRUE(server_.push(1, "more"));
  EXPECT_EQ(read(client.get()), "more");
  client.reset();
  EXPECT_TRUE(loop_->run_until_idle());
  EXPECT_FALSE(server_.push(1, "nobody"));
}

TEST_F(HttpServerTest, AStreamWhoseClientDoesNotReadIsDropped) {
  const UniqueFd client = connect("GET /stream HTTP/1.1\r\n\r\n");
  const std::string piece(kMaxStreamBacklogBytes / 4, 'x');
  bool taken = true;
  for (int i = 0; i < 10 && taken; ++i) taken = server_.push(1, piece);
  EXPECT_FALSE(taken);
  EXPECT_EQ(server_.clients(), 0U);
}

TEST_F(HttpServerTest, TheOldestGoesForANewClient) {
  const UniqueFd first = connect();
  const UniqueFd second = connect();
  const UniqueFd third = connect();
  EXPECT_EQ(read(first.get()), "closed");
  EXPECT_EQ(read(second.get()), "");
  EXPECT_EQ(server_.clients(), 2U);
}

}  // namespace
}  // namespace muster
