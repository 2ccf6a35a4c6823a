// SshKeyring: the SSH keys of this node, in files that only this user can read. The image's
// ssh-keygen makes them, or says whether those that somebody mounted (--mpi-ssh-keys) can be used.
#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/files.h"
#include "base/loop.h"
#include "base/process.h"
#include "base/process/temporary_folder.h"

namespace muster::mpi {

/// For one run of ssh-keygen, which takes some milliseconds.
inline constexpr Duration kSshKeygenDeadline = std::chrono::seconds(30);

/// Borrowed for the life of the keyring, but for strings.
struct SshKeyringSetup {
  Loop& loop;
  ProcessHost& processes;
  const Files& files;
  const TemporaryFolder& folder;  ///< of the key files, whose names are in mpi/ssh/ssh_config.h
  std::string program;            ///< ssh-keygen, absolute
  std::vector<std::string> environment;  ///< "NAME=value"
};

class SshKeyring {
 public:
  /// `status`: kConfig with what ssh-keygen says; kOs. Comes once, from the loop.
  using Done = std::function<void(const Status& status)>;

  explicit SshKeyring(SshKeyringSetup setup) : setup_(std::move(setup)) {}
  SshKeyring(const SshKeyring&) = delete;
  SshKeyring& operator=(const SshKeyring&) = delete;

  /// The user key is a copy of that one; else it is made. `path`: a folder (mpi/ssh/ssh_keys.h says
  /// what may be in it) or a private key. Whoever owns it and whatever its modes are, it only has
  /// to be readable. kConfig, naming the file: it is not there, cannot be read (and how to mount it
  /// so that it can), is too large. kOs: no copy.
  Status mount(const std::string& path);
  /// Makes what is to be made, and checks what was mounted. `with_host_key`: for a server here.
  void begin(bool with_host_key, Done done);
  /// `done` of begin() does not come any more. Another begin() is possible.
  void stop();
  /// A child of this process was reaped; true: it was the ssh-keygen.
  bool process_exited(const Reaped& reaped);

  // After success.
  [[nodiscard]] const std::string& host_key() const { return host_key_; }
  /// Public; "" if it was mounted.
  [[nodiscard]] std::string made_user_key() const { return is_mounted() ? "" : user_key_; }
  /// Lines of an authorized_keys file: who may log in besides those whose keys were made.
  [[nodiscard]] std::string mounted_keys() const;

 private:
  [[nodiscard]] bool is_mounted() const { return !origin_.empty(); }
  [[nodiscard]] std::string path_of(std::string_view file) const;
  void next();
  Status start();
  Status take(const ExitStatus& status);
  [[nodiscard]] Error refused(std::string_view said) const;
  void finish(Status status);

  SshKeyringSetup setup_;
  std::string origin_;                  // of the mounted private key; "" = none
  std::string authorized_keys_;         // mounted beside it
  std::deque<std::string_view> files_;  // of keys that are still to be made or checked
  pid_t pid_ = 0;                       // of the ssh-keygen for the first of them
  UniqueFd said_;                       // its output
  std::string host_key_;
  std::string user_key_;
  Done done_;
  Timer timer_;
};

}  // namespace muster::mpi
