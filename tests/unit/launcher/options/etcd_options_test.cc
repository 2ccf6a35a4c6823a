#include "launcher/options/etcd_options.h"

#include <gtest/gtest.h>

#include "tests/support/fake_files.h"

namespace muster::launcher {
namespace {

Result<EtcdOptions> read(const std::string& endpoint, std::map<std::string, std::string> conf,
                         const testing::FakeFiles& files = {}) {
  Options options;
  options.rdzv_endpoint = endpoint;
  options.rdzv_conf = std::move(conf);
  return etcd_options(options, files);
}

TEST(EtcdOptions, EndpointsAndPrefix) {
  const auto etcd = read("etcd-0,[::1]:23790", {});
  ASSERT_TRUE(etcd);
  ASSERT_EQ(etcd->servers.endpoints.size(), 2U);
  EXPECT_EQ(etcd->servers.endpoints[0].to_string(), "etcd-0:2379");
  EXPECT_EQ(etcd->servers.endpoints[1].to_string(), "[::1]:23790");
  EXPECT_EQ(etcd->servers.tls, nullptr);
  EXPECT_EQ(etcd->prefix, "/muster");
  EXPECT_EQ(read("e", {{"etcd_prefix", "a/b//"}})->prefix, "/a/b");
  EXPECT_EQ(read("e", {{"etcd_prefix", "/"}})->prefix, "");
}

TEST(EtcdOptions, TheProtocolIsHttpOrHttps) {
  EXPECT_EQ(read("e", {{"protocol", "http"}})->servers.tls, nullptr);
  EXPECT_EQ(read("e", {{"protocol", "grpc"}}).error().text,
            "--rdzv-conf protocol=grpc: must be http or https");
  const auto contradiction = read("e", {{"protocol", "http"}, {"ssl_cert", "/x.pem"}});
  EXPECT_EQ(contradiction.error().text,
            "--rdzv-conf ssl_cert=/x.pem: with protocol=http it has no use");
}

TEST(EtcdOptions, WithoutAnAuthorityNobodyIsTrusted) {
  const auto etcd = read("e", {{"protocol", "https"}});
  ASSERT_FALSE(etcd);
  EXPECT_EQ(etcd.error().code, Code::kConfig);
  EXPECT_NE(etcd.error().text.find("cacert=FILE must name the authority"), std::string::npos);
}

TEST(EtcdOptions, FilesThatCannotBeUsedAreNamed) {
  for (const char* key : {"cacert", "cert", "key", "ca_cert", "ssl_cert", "ssl_cert_key"}) {
    const auto etcd = read("e", {{key, "/x.pem"}});
    ASSERT_FALSE(etcd);
    EXPECT_EQ(etcd.error().code, Code::kConfig);
    EXPECT_NE(etcd.error().text.find(std::string(key) + "=/x.pem"), std::string::npos);
  }
  testing::FakeFiles files;
  files.add_file("/ca.pem", "not PEM");
  EXPECT_EQ(read("e", {{"cacert", "/ca.pem"}}, files).error().text,
            "--rdzv-conf cacert=/ca.pem: etcd over TLS: authorities: no certificate in PEM");
}

}  // namespace
}  // namespace muster::launcher
