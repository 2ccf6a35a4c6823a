#include "launcher/frameworks/mpi_ssh_keys.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace muster::launcher {

namespace {

// One file of the folder; "" as name = there is none.
class Folder {
 public:
  Folder(const Files& files, std::string path) : files_(files), path_(std::move(path)) {}

  [[nodiscard]] std::string about(const std::string& name) const {
    return "--mpi-ssh-keys: '" + path_ + "/" + name + "'";
  }
  [[nodiscard]] Result<std::string> read(const std::string& name) const {
    auto text = files_.read(path_ + "/" + name, mpi::kMaxSshKeyFileBytes);
    if (text) return text;
    Error error = std::move(text).error();
    error.code = Code::kConfig;
    error.text = "--mpi-ssh-keys: " + error.text;
    if (error.os_errno == EACCES) {
      error.text +=
          "; mount the Secret with `defaultMode: 0444`, or with 0440 and an fsGroup: this agent "
          "makes a copy for itself that nobody else can read";
    }
    return error;
  }

 private:
  const Files& files_;
  std::string path_;
};

Result<mpi::SshKeyFiles> files_at(const Files& files, const std::string& path) {
  if (!files.is_directory(path)) {
    const std::string name(base_name(path));
    return mpi::SshKeyFiles{name, files.exists(path + ".pub") ? name + ".pub" : "", ""};
  }
  auto names = files.list(path);
  if (!names) return std::move(names).error().with_context("--mpi-ssh-keys");
  auto found = mpi::find_ssh_key_files(*names);
  if (!found) return std::move(found).error().with_context("--mpi-ssh-keys '" + path + "'");
  return found;
}

}  // namespace

MountedSshKeys::~MountedSshKeys() { explicit_bzero(private_file.data(), private_file.size()); }

Result<MountedSshKeys> read_mounted_ssh_keys(const Files& files, const std::string& path) {
  auto names = files_at(files, path);
  if (!names) return std::move(names).error();
  const Folder folder(files, files.is_directory(path) ? path : folder_of(path));
  MountedSshKeys keys;
  auto secret = folder.read(names->private_key);
  if (!secret) return std::move(secret).error();
  keys.private_file = std::move(*secret);
  auto known = mpi::check_ssh_private_key(keys.private_file);
  if (!known) return std::move(known).error().with_context(folder.about(names->private_key));
  // OpenSSH wants the last line to end, which Secrets made by hand often lack.
  if (!keys.private_file.ends_with('\n')) keys.private_file += '\n';
  if (known->public_key) keys.may_login.push_back(*known->public_key);
  if (!names->public_key.empty()) {
    const auto text = folder.read(names->public_key);
    if (!text) return Error(text.error());
    auto key = mpi::parse_ssh_public_key(*text);
    if (!key) return std::move(key).error().with_context(folder.about(names->public_key));
    keys.may_login.push_back(std::move(*key));
  }
  if (!names->authorized_keys.empty()) {
    const auto text = folder.read(names->authorized_keys);
    if (!text) return Error(text.error());
    auto more = mpi::parse_ssh_authorized_keys(*text);
    if (!more) return std::move(more).error().with_context(folder.about(names->authorized_keys));
    keys.may_login.insert(keys.may_login.end(), more->begin(), more->end());
  }
  if (!keys.may_login.empty()) return keys;
  return Error{Code::kConfig, 0,
               folder.about(names->private_key) + ": its public part is not there (" +
                   names->private_key +
                   ".pub or authorized_keys); `ssh-keygen -y -f FILE` prints it"};
}

}  // namespace muster::launcher
