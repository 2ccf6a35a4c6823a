// EtcdOptions: what --rdzv-endpoint and --rdzv-conf say about etcd.
#pragma once

#include <string>

#include "base/files.h"
#include "base/result.h"
#include "launcher/options/options.h"
#include "rendezvous/etcd/etcd_client.h"

namespace muster::launcher {

struct EtcdOptions {
  rendezvous::EtcdServers servers;  ///< port 2379 when none is given
  std::string prefix;               ///< of all keys: "" or "/a/b"
};

/// With protocol=https, or with a certificate in the conf, TLS: `cacert` (else the system's
/// authorities), `cert` and `key` name PEM files; torchrun's older spellings are ca_cert, ssl_cert
/// and ssl_cert_key. kUsage: no endpoint, too many, another protocol. kConfig: a file that cannot
/// be read or used, certificates for plain HTTP.
Result<EtcdOptions> etcd_options(const Options& options, const Files& files);

}  // namespace muster::launcher
