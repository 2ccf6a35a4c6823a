#include "rendezvous/horovod/key_values.h"

#include <gtest/gtest.h>

namespace muster::rendezvous {
namespace {

class KeyValuesTest : public ::testing::Test {
 protected:
  HttpReply ask(const std::string& method, const std::string& path, const std::string& body = "") {
    return values_.answer({method, path, body});
  }
  KeyValues values_{[](std::string_view slot) {
    return slot == "a:0" ? std::optional<std::string>("0,1,0,1,0,1") : std::nullopt;
  }};
};

TEST_F(KeyValuesTest, WhatIsPutCanBeGot) {
  EXPECT_EQ(ask("GET", "/global/0").status, 404);
  EXPECT_EQ(ask("PUT", "/global/0", std::string("a\0b", 3)).status, 200);
  EXPECT_EQ(ask("GET", "/global/0").body, std::string("a\0b", 3));
  EXPECT_EQ(ask("PUT", "/global/0", "c").status, 200);
  EXPECT_EQ(ask("GET", "/global/0").body, "c");
  EXPECT_EQ(ask("GET", "/local_a/0").status, 404) << "another scope";
}

TEST_F(KeyValuesTest, WhoHasFinishedIsForgottenInThatScope) {
  ask("PUT", "/global/1", "address");
  ask("PUT", "/global/rank_1", "host");
  ask("PUT", "/cross_0/1", "address");
  EXPECT_EQ(ask("DELETE", "/global/1").status, 200);
  EXPECT_EQ(ask("GET", "/global/1").status, 404);
  EXPECT_EQ(ask("GET", "/global/rank_1").status, 404);
  EXPECT_EQ(ask("GET", "/cross_0/1").status, 200);
}

TEST_F(KeyValuesTest, AnElasticProcessAsksForItsPlace) {
  EXPECT_EQ(ask("GET", "/rank_and_size/a:0").body, "0,1,0,1,0,1");
  EXPECT_EQ(ask("GET", "/rank_and_size/b:0").body, "-1,-1,-1,-1,-1,-1") << "it is out";
  EXPECT_EQ(ask("PUT", "/worker_addresses/a:0", "pickle").status, 200);
  EXPECT_EQ(ask("GET", "/worker_addresses/a:0").status, 404);
}

TEST_F(KeyValuesTest, ItsMemoryIsBounded) {
  const std::string large(1U << 20, 'x');
  int taken = 0;
  while (ask("PUT", "/s/" + std::to_string(taken), large).status == 200) ++taken;
  EXPECT_EQ(taken, 63);
  EXPECT_EQ(ask("PUT", "/s/small", large).status, 413);
  EXPECT_LE(values_.bytes(), kMaxKeyValueBytes);
  values_.clear();
  EXPECT_EQ(values_.bytes(), 0U);
  EXPECT_EQ(ask("PUT", "/s/0", large).status, 200);
}

TEST_F(KeyValuesTest, OtherMethodsAreNoServersFault) {
  EXPECT_EQ(ask("POST", "/global/0").status, 405);
}

}  // namespace
}  // namespace muster::rendezvous
