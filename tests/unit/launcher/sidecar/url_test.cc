#include "launcher/sidecar/url.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

TEST(UrlTest, ItsPartsAreThoseOfARequest) {
  const auto url = parse_url("https://controller.team.svc/apis/v1?job=bert#top");
  ASSERT_TRUE(url);
  EXPECT_TRUE(url->secure);
  EXPECT_EQ(url->host, "controller.team.svc");
  EXPECT_EQ(url->port, 443);
  EXPECT_EQ(url->path, "/apis/v1?job=bert");
  EXPECT_EQ(url->shown(), "https://controller.team.svc:443/apis/v1");
}

TEST(UrlTest, WhatIsLeftOutHasADefault) {
  const auto url = parse_url("HTTP://10.0.0.7:8080");
  ASSERT_TRUE(url);
  EXPECT_FALSE(url->secure);
  EXPECT_EQ(url->port, 8080);
  EXPECT_EQ(url->path, "/");
  EXPECT_EQ(parse_url("http://a?x=1")->path, "/?x=1");
  EXPECT_EQ(parse_url("http://[fd00::1]/x")->host, "fd00::1");
  EXPECT_EQ(parse_url("http://[fd00::1]:81")->port, 81);
}

TEST(UrlTest, WhatIsNoUrlIsRefusedWithAReason) {
  for (const char* wrong :
       {"", "controller:8080", "ftp://a/", "http:/a", "http://", "http:///x", "http://a:0/",
        "http://a:99999/", "http://a:x/", "http://user:password@a/", "http://a/b c",
        "http://a/\r\nHost: b", "http://[::1/", "http://[x]/", "http://[::1]x/", "http://a b/"}) {
    const auto url = parse_url(wrong);
    ASSERT_FALSE(url) << wrong;
    EXPECT_EQ(url.error().code, Code::kUsage) << wrong;
  }
  EXPECT_FALSE(parse_url("http://a/" + std::string(kMaxUrlBytes, 'x')));
}

}  // namespace
}  // namespace muster::launcher
