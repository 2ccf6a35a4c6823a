// The private key that a controller made for this job and mounted into all of its pods, for their
// sshd. Muster needs no ssh there, but a secret that all pods of a job share and nobody else has:
// who holds this key may run commands in every pod anyway.
#pragma once

#include <string>

#include "base/files.h"

namespace muster::launcher {

/// Of /proc/self/mountinfo: pods have some dozens of mounts, machines some hundreds.
inline constexpr size_t kMaxMountInfoBytes = 1U << 20;

/// The path of id_rsa in the first folder, by name, that is a mount of its own in memory, or whose
/// id_rsa is (as Kubernetes mounts Secrets; a folder of the image, whose key may be known to
/// anybody, is none), and holds id_rsa, id_rsa.pub and authorized_keys, as mpi-operator, Trainer
/// and Volcano lay it out. "" = none. Whether it can be read is the reader's business.
[[nodiscard]] std::string find_mounted_key(const Files& files);

}  // namespace muster::launcher
