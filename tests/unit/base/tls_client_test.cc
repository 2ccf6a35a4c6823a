#include "base/tls_client.h"

#include <gtest/gtest.h>

#include "tests/support/tls_server.h"

namespace muster {
namespace {

using testing::MadeCertificate;
using testing::make_certificate;
using testing::TlsServer;

// A record that holds a fatal alert, before any keys are agreed upon (RFC 8446, 6).
std::string alert(char number) { return std::string("\x15\x03\x03\x00\x02\x02", 6) + number; }
constexpr char kIllegalParameter = 47;
constexpr char kHandshakeFailure = 40;

// Until neither has anything to say. The first error of the client, or Code::kInternal for none.
Error shake_hands(TlsSession& client, TlsServer& server) {
  for (;;) {
    const std::string question = client.take_output();
    if (question.empty()) return {Code::kInternal, 0, "none"};
    (void)server.receive(question);  // nothing is said but the handshake
    const std::string answer = server.take_output();
    if (answer.empty()) return {Code::kInternal, 0, "none"};
    if (const auto taken = client.receive(answer); !taken) return taken.error();
  }
}

class TlsClientTest : public ::testing::Test {
 protected:
  static Error refusal(const TlsCertificates& certificates) {
    const auto client = TlsClient::create(certificates);
    EXPECT_FALSE(client);
    return client ? Error{} : client.error();
  }
  std::unique_ptr<TlsClient> client(const TlsCertificates& certificates) {
    auto made = TlsClient::create(certificates);
    EXPECT_TRUE(made) << made.error().text;
    return std::move(*made);
  }

  const MadeCertificate authority_ = make_certificate("the authority");
  const MadeCertificate other_ = make_certificate("another authority");
  const MadeCertificate etcd_ = make_certificate("etcd", &authority_);
  const MadeCertificate node_ = make_certificate("node", &authority_);
};

TEST_F(TlsClientTest, TalksToAServerThatItsAuthoritySigned) {
  const auto owner = client({authority_.certificate, "", ""});
  const auto session = *owner->session("etcd");
  TlsServer server(etcd_);
  EXPECT_EQ(shake_hands(*session, server).text, "none");
  ASSERT_TRUE(session->established());
  ASSERT_TRUE(session->write("ping"));
  EXPECT_EQ(server.receive(session->take_output()), "ping");
  server.write("pong");
  EXPECT_EQ(*session->receive(server.take_output()), "pong");
}

TEST_F(TlsClientTest, EveryAuthorityOfTheFileIsBelieved) {
  const auto owner = client({"# ours\n" + other_.certificate + "\n" + authority_.key +
                                 authority_.certificate + "# the end",
                             "", ""});
  TlsServer server(etcd_);
  const auto session = *owner->session("etcd");
  EXPECT_EQ(shake_hands(*session, server).text, "none");
  EXPECT_TRUE(session->established());
}

TEST_F(TlsClientTest, AnotherNameOrAuthorityIsRefusedAndTheServerIsToldWhy) {
  const auto owner = client({authority_.certificate, "", ""});
  TlsServer misnamed(make_certificate("mail", &authority_));
  const auto session = *owner->session("etcd");
  const Error error = shake_hands(*session, misnamed);
  EXPECT_EQ(error.code, Code::kConfig);
  EXPECT_EQ(error.text, "certificate not accepted: hostname mismatch");
  (void)misnamed.receive(session->take_output());  // an alert
  EXPECT_NE(misnamed.error(), "");

  TlsServer stranger(make_certificate("etcd", &other_));
  EXPECT_TRUE(
      shake_hands(**owner->session("etcd"), stranger).text.starts_with("certificate not accepted"));
}

TEST_F(TlsClientTest, OneFileHoldsCertificateAuthorityAndKey) {
  const auto owner =
      client({authority_.certificate, node_.key + node_.certificate + authority_.certificate, ""});
  TlsServer server(etcd_, authority_.certificate);
  const auto session = *owner->session("etcd");
  EXPECT_EQ(shake_hands(*session, server).text, "none");
  EXPECT_EQ(server.error(), "");
}

TEST_F(TlsClientTest, AFileWithoutCertificatesIsRefused) {
  EXPECT_EQ(refusal({"", "", ""}).text, "authorities: no certificate in PEM");
  EXPECT_EQ(refusal({authority_.key, "", ""}).text, "authorities: no certificate in PEM");
  EXPECT_EQ(refusal({authority_.certificate, "none", node_.key}).text,
            "certificate: no certificate in PEM");
}

// What was read before it is not the whole list.
TEST_F(TlsClientTest, ABrokenCertificateIsRefusedWithItsNumber) {
  std::string garbled = other_.certificate;
  garbled.replace(garbled.size() / 2, 1, "!");
  std::string misspelt = other_.certificate;  // PEM, but not of a certificate
  misspelt.replace(misspelt.find('\n') + 1, 4, "AAAA");
  const std::string half = other_.certificate.substr(0, other_.certificate.size() / 2);
  for (const std::string& broken : {garbled, misspelt, half}) {
    const Error second = refusal({authority_.certificate + broken, "", ""});
    EXPECT_EQ(second.code, Code::kConfig);
    EXPECT_TRUE(second.text.starts_with("authorities: certificate 2 cannot be read: "))
        << second.text;
    EXPECT_TRUE(refusal({broken + authority_.certificate, "", ""})
                    .text.starts_with("authorities: certificate 1 cannot be read: "));
    EXPECT_TRUE(refusal({authority_.certificate, node_.certificate + broken, node_.key})
                    .text.starts_with("certificate: certificate 2 cannot be read: "));
  }
}

TEST_F(TlsClientTest, AChainHasALimit) {
  std::string chain = node_.certificate;
  for (int i = 0; i < 16; ++i) chain += authority_.certificate;
  (void)client({authority_.certificate, chain, node_.key});
  EXPECT_EQ(refusal({authority_.certificate, chain + authority_.certificate, node_.key}).text,
            "certificate: 18 in PEM, the most is 17");
}

// Whoever starts an agent by hand has a terminal, and OpenSSL would ask there.
TEST_F(TlsClientTest, APassphraseIsNeverAskedFor) {
  const Error key =
      refusal({authority_.certificate, node_.certificate, testing::lock_key(node_.key, "secret")});
  EXPECT_EQ(key.text, "key: no private key in PEM, or one with a passphrase");
  std::string locked = authority_.certificate;
  locked.insert(
      locked.find('\n') + 1,
      "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\n");
  EXPECT_EQ(refusal({locked, "", ""}).text,
            "authorities: certificate 1 cannot be read: bad password read");
}

TEST_F(TlsClientTest, AKeyThatDoesNotFitIsRefused) {
  EXPECT_EQ(refusal({authority_.certificate, node_.certificate, etcd_.key}).text,
            "key: not that of the certificate");
  EXPECT_EQ(refusal({authority_.certificate, "", node_.key}).text,
            "key: there is no certificate for it");
}

// The alerts by which agents tell each other of the job's secret say something else here.
TEST_F(TlsClientTest, NobodySpeaksOfAJobSecretToAServerWithCertificates) {
  const auto owner = client({authority_.certificate, "", ""});
  for (const std::string& bytes :
       {std::string(tls_no_secret_alert()), alert(kIllegalParameter), alert(kHandshakeFailure)}) {
    const auto session = *owner->session("etcd");
    const auto taken = session->receive(bytes);
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, Code::kPeer);
    EXPECT_TRUE(taken.error().text.starts_with("the other side refuses: ")) << taken.error().text;
    EXPECT_EQ(taken.error().text.find("secret"), std::string::npos) << taken.error().text;
  }
}

TEST_F(TlsClientTest, TheEndOfTlsIsToldApartFromThatOfTheConnection) {
  const auto owner = client({authority_.certificate, "", ""});
  const auto session = *owner->session("etcd");
  TlsServer server(etcd_);
  (void)shake_hands(*session, server);
  server.write("last words");
  EXPECT_EQ(*session->receive(server.take_output()), "last words");
  EXPECT_FALSE(session->ended());
  server.end();
  EXPECT_EQ(session->receive(server.take_output()).error().text, "the other side ended TLS");
  EXPECT_TRUE(session->ended());
}

// As much as is passed to OpenSSL at a time has 16 KiB.
TEST_F(TlsClientTest, LongLastWordsAreNotLostWithTheEnd) {
  const auto owner = client({authority_.certificate, "", ""});
  for (size_t size = 16000; size < 16800; size += 7) {
    const auto session = *owner->session("etcd");
    TlsServer server(etcd_);
    (void)shake_hands(*session, server);
    server.write(std::string(size, 'x'));
    server.end();
    const auto taken = session->receive(server.take_output());
    ASSERT_TRUE(taken) << size;
    EXPECT_EQ(taken->size(), size);
    EXPECT_TRUE(session->ended());
  }
}

}  // namespace
}  // namespace muster
