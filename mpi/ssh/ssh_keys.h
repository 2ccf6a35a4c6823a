// Facts about the files of SSH keys: which ones a mounted folder holds, and what a public key looks
// like. Keys are made and read by the image's ssh-keygen (mpi/ssh/ssh_keyring.h). Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::mpi {

/// An RSA key of 16384 bits, the largest that OpenSSH takes, fills 13 KB.
inline constexpr size_t kMaxSshKeyFileBytes = 32 << 10;
/// How every public key of Ed25519 begins in a file; 43 digits of base64 follow (RFC 8709, 4).
inline constexpr std::string_view kEd25519Begin = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI";
inline constexpr size_t kEd25519Digits = 43;

/// "TYPE BASE64" of such a line of a .pub file, without its comment. None: it is no public key.
[[nodiscard]] std::optional<std::string> public_key_of(std::string_view line);

/// `key`, as public_key_of() gives it, is one of Ed25519.
[[nodiscard]] bool is_ed25519_key(std::string_view key);

/// Which files of a folder hold the keys.
struct SshKeyFiles {
  std::string private_key;
  std::string authorized_keys;  ///< "" = not there
};

/// Finds them among `names`, as mpi-operator, Kubeflow Trainer, Volcano and people mount them:
/// id_ed25519, id_ecdsa or id_rsa (whatever kind it is), or the ssh-privatekey of a
/// kubernetes.io/ssh-auth Secret. kConfig: no private key, with what was looked for.
Result<SshKeyFiles> find_ssh_key_files(const std::vector<std::string>& names);

}  // namespace muster::mpi
