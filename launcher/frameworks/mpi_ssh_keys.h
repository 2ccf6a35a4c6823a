// The keys that somebody mounted for SSH (--mpi-ssh-keys): read from whatever folder a controller
// made, whoever owns it and whatever its modes, as long as this user can read them.
#pragma once

#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "mpi/ssh_keys.h"

namespace muster::launcher {

struct MountedSshKeys {
  MountedSshKeys() = default;
  MountedSshKeys(MountedSshKeys&&) = default;
  MountedSshKeys& operator=(MountedSshKeys&&) = default;
  ~MountedSshKeys();
  std::string private_file;                  ///< for a file of mode 0600; overwritten at the end
  std::vector<mpi::SshPublicKey> may_login;  ///< never empty
};

/// `path`: a folder (mpi/ssh_keys.h names what may be in it) or a private key with PATH.pub beside
/// it. kConfig, naming the file: it is not there, cannot be read (and how to mount it so that it
/// can), is protected by a passphrase, is no key; no public part is known of it. kLimit.
Result<MountedSshKeys> read_mounted_ssh_keys(const Files& files, const std::string& path);

}  // namespace muster::launcher
