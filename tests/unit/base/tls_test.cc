#include "base/tls.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr std::string_view kSecret = "a secret of the job, long enough";
constexpr std::string_view kNoHandshake("\x16\x03\x01\x00\x05hello", 10);

TlsKey key(std::string_view secret = kSecret) {
  auto derived = derive_tls_key(secret);
  EXPECT_TRUE(derived);
  return *derived;
}

std::unique_ptr<TlsContext> context(std::string_view secret = kSecret) {
  auto made = TlsContext::create(key(secret));
  EXPECT_TRUE(made);
  return std::move(*made);
}

// Two ends and the wire between them; each step carries everything one way.
class TlsTest : public ::testing::Test {
 protected:
  std::unique_ptr<TlsSession> open(const TlsContext& owner, TlsRole role) {
    auto session = owner.session(role);
    EXPECT_TRUE(session);
    return std::move(*session);
  }
  void shake_hands() {
    ASSERT_TRUE(server_->receive(client_->take_output()));
    ASSERT_TRUE(client_->receive(server_->take_output()));
    ASSERT_TRUE(server_->receive(client_->take_output()));
    ASSERT_TRUE(client_->established());
    ASSERT_TRUE(server_->established());
  }
  static Error error_of(Result<std::string> received) {
    EXPECT_FALSE(received);
    return received ? Error{} : std::move(received).error();
  }

  std::unique_ptr<TlsContext> context_ = context();
  std::unique_ptr<TlsSession> client_ = open(*context_, TlsRole::kClient);
  std::unique_ptr<TlsSession> server_ = open(*context_, TlsRole::kServer);
};

TEST_F(TlsTest, BothSidesAreEstablishedAfterThreeFlights) {
  EXPECT_FALSE(client_->established());
  shake_hands();
}

TEST_F(TlsTest, CarriesTextBothWaysAndNeverInTheClear) {
  shake_hands();
  ASSERT_TRUE(client_->write("ping of the client"));
  const std::string ping = client_->take_output();
  EXPECT_EQ(ping.find("ping"), std::string::npos);
  EXPECT_EQ(*server_->receive(ping), "ping of the client");
  ASSERT_TRUE(server_->write("pong"));
  EXPECT_EQ(*client_->receive(server_->take_output()), "pong");
}

TEST_F(TlsTest, OutputIsGivenOnce) {
  EXPECT_FALSE(client_->take_output().empty());
  EXPECT_TRUE(client_->take_output().empty());
}

TEST_F(TlsTest, TextLongerThanARecordArrivesWhole) {
  shake_hands();
  std::string text;
  for (int i = 0; text.size() < (1U << 20); ++i) text += std::to_string(i) + ' ';
  ASSERT_TRUE(client_->write(text));
  EXPECT_EQ(*server_->receive(client_->take_output()), text);
}

TEST_F(TlsTest, WhatArrivesByteByByteMeansTheSame) {
  const std::string hello = client_->take_output();
  for (const char byte : hello) ASSERT_TRUE(server_->receive({&byte, 1}));
  ASSERT_TRUE(client_->receive(server_->take_output()));
  ASSERT_TRUE(client_->write("first"));
  std::string seen;
  for (const char byte : client_->take_output()) {
    auto part = server_->receive({&byte, 1});
    ASSERT_TRUE(part);
    seen += *part;
  }
  EXPECT_EQ(seen, "first");
}

TEST_F(TlsTest, TextBehindTheHandshakeInOnePieceIsReadAtOnce) {
  ASSERT_TRUE(server_->receive(client_->take_output()));
  ASSERT_TRUE(client_->receive(server_->take_output()));
  ASSERT_TRUE(client_->write("first"));
  EXPECT_EQ(*server_->receive(client_->take_output()), "first");
}

TEST_F(TlsTest, AnotherSecretIsRefusedWithWordsOnBothEnds) {
  const auto other = context("a secret of another job, as long");
  const auto stranger = open(*other, TlsRole::kClient);
  const Error at_server = error_of(server_->receive(stranger->take_output()));
  EXPECT_EQ(at_server.code, Code::kConfig);
  EXPECT_EQ(at_server.text, "job secret differs");
  const Error at_client = error_of(stranger->receive(server_->take_output()));
  EXPECT_EQ(at_client.code, Code::kConfig);
  EXPECT_EQ(at_client.text, "job secret differs");
  EXPECT_FALSE(server_->established());
  EXPECT_FALSE(stranger->established());
}

TEST_F(TlsTest, AServerWithoutASecretTellsSo) {
  const Error error = error_of(client_->receive(tls_no_secret_alert()));
  EXPECT_EQ(error.code, Code::kConfig);
  EXPECT_EQ(error.text, "the other side has no job secret");
}

TEST_F(TlsTest, GarbageIsAProtocolError) {
  const Error error = error_of(server_->receive(kNoHandshake));
  EXPECT_EQ(error.code, Code::kProtocol);
  EXPECT_TRUE(error.text.starts_with("TLS: ")) << error.text;
  EXPECT_EQ(error_of(client_->receive("HTTP/1.1 400 Bad Request\r\n\r\n")).code, Code::kProtocol);
}

// OpenSSL would make room at once for the 131,328 bytes that this one says it has.
TEST_F(TlsTest, AClientHelloThatIsTooLongIsRefusedByItsHead) {
  const std::string head("\x16\x03\x01\x04\x00\x01\x02\x01\x00", 9);
  EXPECT_EQ(error_of(server_->receive(head)).text,
            "TLS: a ClientHello of 131328 bytes, at most 2048 in one record are taken");
  const auto again = open(*context_, TlsRole::kServer);
  const std::string record("\x16\x03\x01\x40\x00\x01\x00\x3f\xfc", 9);
  EXPECT_EQ(error_of(again->receive(record)).code, Code::kProtocol);
  EXPECT_LT(client_->take_output().size(), kMaxClientHelloBytes / 4);
}

TEST_F(TlsTest, AChangedByteIsNoticed) {
  shake_hands();
  ASSERT_TRUE(client_->write("stop round 3"));
  std::string record = client_->take_output();
  record.back() = static_cast<char>(record.back() ^ 1);
  EXPECT_EQ(error_of(server_->receive(record)).code, Code::kProtocol);
}

TEST_F(TlsTest, ARecordedRecordCannotBePlayedAgain) {
  shake_hands();
  ASSERT_TRUE(client_->write("stop round 3"));
  const std::string record = client_->take_output();
  ASSERT_TRUE(server_->receive(record));
  EXPECT_EQ(error_of(server_->receive(record)).code, Code::kProtocol);
}

TEST_F(TlsTest, AFailureOfOneSessionLeavesTheOthersAlone) {
  EXPECT_FALSE(open(*context_, TlsRole::kServer)->receive(kNoHandshake));
  shake_hands();
}

TEST_F(TlsTest, AHalfHandshakeIsNoErrorAndNotEstablished) {
  const std::string hello = client_->take_output();
  EXPECT_EQ(*server_->receive(hello.substr(0, hello.size() / 2)), "");
  EXPECT_FALSE(server_->established());
}

TEST(TlsKey, FollowsFromTheSecretAlone) {
  EXPECT_EQ(key().bytes, key().bytes);
  EXPECT_NE(key().bytes, key("a secret of another job, as long").bytes);
}

}  // namespace
}  // namespace muster
