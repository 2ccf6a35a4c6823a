// SSH keys as OpenSSH writes them: making the files of a new pair, and saying what a file that
// somebody mounted is. Bytes in, bytes out; nothing is signed here. Source of the formats: OpenSSH
// PROTOCOL.key, RFC 4253 6.6, RFC 8709.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ed25519.h"
#include "base/result.h"

namespace muster::mpi {

/// An RSA key of 16384 bits, the largest that OpenSSH takes, fills 13 KB.
inline constexpr size_t kMaxSshKeyFileBytes = 32 << 10;
/// authorized_keys of a job: its own few keys, not those of a company.
inline constexpr size_t kMaxSshAuthorizedKeys = 1024;

struct SshPublicKey {
  std::string type;  ///< "ssh-ed25519", "ecdsa-sha2-nistp521", ...
  std::string blob;  ///< what follows it in a file, decoded; begins with the type, too
  /// "TYPE BASE64", as known_hosts and authorized_keys want it.
  [[nodiscard]] std::string text() const;
  friend bool operator==(const SshPublicKey&, const SshPublicKey&) = default;
};

/// One line of a .pub file: "TYPE BASE64 [COMMENT]". kConfig: anything else, and a blob of another
/// type than the line says. Nothing of the text is repeated: it may be a private key.
Result<SshPublicKey> parse_ssh_public_key(std::string_view line);

/// The keys of an authorized_keys file, whose lines may begin with options; these are left out,
/// with the restrictions they make. kConfig: "line N: ...", no key at all. kLimit.
Result<std::vector<SshPublicKey>> parse_ssh_authorized_keys(std::string_view text);

/// A key of Ed25519; `bytes` are its 32.
SshPublicKey ed25519_public_key(std::string_view bytes);
/// The 32 bytes of one; none: a key of another type.
[[nodiscard]] std::optional<std::string> ed25519_bytes(const SshPublicKey& key);

struct SshKeyPair {
  std::string private_file;  ///< for a file of mode 0600
  SshPublicKey public_key;
};

/// The pair in OpenSSH's own format, without a passphrase. `check`: any number, which OpenSSH
/// writes twice to see that a decryption went well.
SshKeyPair ssh_key_pair(const Ed25519KeyPair& pair, uint32_t check, std::string_view comment);

/// What a private key file tells without being decrypted.
struct SshPrivateKey {
  std::optional<SshPublicKey> public_key;  ///< none: a PEM file, which does not carry it in clear
};

/// Says whether programs that nobody watches can use it. kConfig: it is protected by a passphrase,
/// it is a public key, or no private key at all.
Result<SshPrivateKey> check_ssh_private_key(std::string_view text);

/// Which files of a folder hold the keys; "" = not there.
struct SshKeyFiles {
  std::string private_key;
  std::string public_key;
  std::string authorized_keys;
};

/// Finds them among `names`, as mpi-operator, Kubeflow Trainer, Volcano and people mount them:
/// id_ed25519, id_ecdsa or id_rsa (whatever kind it is) with NAME.pub, or the keys of a
/// kubernetes.io/ssh-auth Secret, ssh-privatekey and ssh-publickey. kConfig: no private key, with
/// what was looked for.
Result<SshKeyFiles> find_ssh_key_files(const std::vector<std::string>& names);

}  // namespace muster::mpi
