#include "rendezvous/wire/foreign_answer.h"

#include <gtest/gtest.h>

namespace muster::rendezvous {
namespace {

TEST(ForeignAnswerTest, NamesWhatIsKnownAndQuotesItsFirstLine) {
  EXPECT_EQ(describe_foreign("HTTP/1.1 400 Bad Request\r\nServer: nginx\r\n"),
            "no agent of muster: an HTTP server answered 'HTTP/1.1 400 Bad Request'");
  EXPECT_EQ(describe_foreign("SSH-2.0-OpenSSH_9.2\r\n"),
            "no agent of muster: an SSH server answered 'SSH-2.0-OpenSSH_9.2'");
  EXPECT_EQ(describe_foreign("-ERR unknown command\r\n"),
            "no agent of muster: a Redis server answered '-ERR unknown command'");
}

TEST(ForeignAnswerTest, AnythingElseIsPrintableAndShort) {
  const std::string text = describe_foreign(std::string(1000, '\x01'));
  EXPECT_LT(text.size(), 400u);
  EXPECT_EQ(text.find('\x01'), std::string::npos);
  EXPECT_NE(text.find("another program"), std::string::npos);
}

}  // namespace
}  // namespace muster::rendezvous
