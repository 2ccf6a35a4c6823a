#include "launcher/options/etcd_options.h"

#include <fmt/core.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "launcher/options/rendezvous_values.h"

namespace muster::launcher {

namespace {

using Conf = std::map<std::string, std::string>;

constexpr uint16_t kEtcdPort = 2379;
constexpr std::string_view kDefaultPrefix = "/muster";
constexpr size_t kMaxEtcdEndpoints = 16;  // clusters have 3 to 7 members
constexpr size_t kMaxPemBytes = 1 << 20;  // the system's bundle has a quarter of that
constexpr const char* kSystemAuthorities = "/etc/ssl/certs/ca-certificates.crt";

// One file of the three, under the names it has for torchrun's two etcd backends.
struct PemFile {
  std::string_view key;
  std::string_view older_key;
  std::string TlsCertificates::*text;
};
constexpr PemFile kPemFiles[] = {
    {"cacert", "ca_cert", &TlsCertificates::authorities},
    {"cert", "ssl_cert", &TlsCertificates::certificate},
    {"key", "ssl_cert_key", &TlsCertificates::key},
};

Error wrong(Code code, std::string_view key, const std::string& value, std::string_view why) {
  return {code, 0, fmt::format("--rdzv-conf {}={}: {}", key, value, why)};
}

// As it was spelled; none: it is not there.
std::optional<Conf::value_type> given(const Conf& conf, const PemFile& file) {
  for (const std::string_view key : {file.key, file.older_key}) {
    if (const auto found = conf.find(std::string(key)); found != conf.end()) return *found;
  }
  return std::nullopt;
}

// Certificates without a protocol are meant for one that has them.
Result<bool> wants_tls(const Conf& conf) {
  const auto protocol = conf.find("protocol");
  const std::string name = protocol == conf.end() ? "" : protocol->second;
  if (name == "https") return true;
  if (!name.empty() && name != "http")
    return wrong(Code::kUsage, "protocol", name, "must be http or https");
  for (const PemFile& file : kPemFiles) {
    const auto path = given(conf, file);
    if (!path) continue;
    if (name.empty()) return true;
    return wrong(Code::kConfig, path->first, path->second, "with protocol=http it has no use");
  }
  return false;
}

Result<std::shared_ptr<const TlsClient>> make_tls(const Conf& conf, const Files& files) {
  TlsCertificates certificates;
  std::vector<std::string> files_given;
  for (const PemFile& file : kPemFiles) {
    const auto path = given(conf, file);
    if (!path) continue;
    auto text = files.read(path->second, kMaxPemBytes);
    if (!text) return wrong(Code::kConfig, path->first, path->second, text.error().text);
    certificates.*file.text = std::move(*text);
    files_given.push_back(path->first + "=" + path->second);
  }
  if (certificates.authorities.empty()) {
    auto system = files.read(kSystemAuthorities, kMaxPemBytes);
    if (!system) {
      return Error{Code::kConfig, 0,
                   fmt::format("--rdzv-conf protocol=https: cacert=FILE must name the authority of "
                               "etcd's certificate, as there is no {}",
                               kSystemAuthorities)};
    }
    certificates.authorities = std::move(*system);
  }
  auto client = TlsClient::create(certificates);
  if (!client) {
    return std::move(client).error().with_context("--rdzv-conf " + join(files_given, ",") +
                                                  ": etcd over TLS");
  }
  return std::shared_ptr<const TlsClient>(std::move(*client));
}

}  // namespace

Result<EtcdOptions> etcd_options(const Options& options, const Files& files) {
  const Conf& conf = options.rdzv_conf;
  const auto tls = wants_tls(conf);
  if (!tls) return tls.error();
  auto endpoints = parse_endpoints(options.rdzv_endpoint);
  if (!endpoints) return std::move(endpoints).error().with_context("--rdzv-endpoint");
  if (endpoints->empty() || endpoints->size() > kMaxEtcdEndpoints) {
    return Error{Code::kUsage, 0,
                 fmt::format("--rdzv-endpoint: {} servers of etcd given, need 1 to {}",
                             endpoints->size(), kMaxEtcdEndpoints)};
  }
  EtcdOptions etcd;
  for (const Endpoint& endpoint : *endpoints) {
    rendezvous::Candidate candidate;
    candidate.host = endpoint.host;
    candidate.port = static_cast<uint16_t>(endpoint.port.value_or(kEtcdPort));
    etcd.servers.endpoints.push_back(std::move(candidate));
  }
  const auto prefix = conf.find("etcd_prefix");
  etcd.prefix = prefix == conf.end() ? std::string(kDefaultPrefix) : prefix->second;
  while (etcd.prefix.ends_with('/')) etcd.prefix.pop_back();
  if (!etcd.prefix.empty() && !etcd.prefix.starts_with('/')) etcd.prefix.insert(0, "/");
  if (!*tls) return etcd;
  auto client = make_tls(conf, files);
  if (!client) return std::move(client).error();
  etcd.servers.tls = std::move(*client);
  return etcd;
}

}  // namespace muster::launcher
