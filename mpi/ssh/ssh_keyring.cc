#include "mpi/ssh/ssh_keyring.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "mpi/ssh/ssh_config.h"
#include "mpi/ssh/ssh_keys.h"

namespace muster::mpi {

namespace {

constexpr const char* kFlag = "--mpi-ssh-keys";

Result<std::string> read_key(const Files& files, const std::string& path) {
  auto text = files.read(path, kMaxSshKeyFileBytes);
  if (text) return text;
  Error error = std::move(text).error().with_context(kFlag);
  error.code = Code::kConfig;
  if (error.os_errno == EACCES) {
    error.text +=
        "; mount the Secret with `defaultMode: 0444`, or with 0440 and an fsGroup: this agent "
        "makes "
        "a copy for itself that nobody else can read";
  }
  return error;
}

// All that a process said that has ended. It was a line or two, so none of it was cut off.
std::string read_all(const UniqueFd& pipe) {
  std::string text;
  std::array<char, 4096> chunk{};
  ssize_t got = 0;
  while ((got = read(pipe.get(), chunk.data(), chunk.size())) > 0)
    text.append(chunk.data(), static_cast<size_t>(got));
  return text;
}

}  // namespace

Status SshKeyring::mount(const std::string& path) {
  const Files& files = setup_.files;
  origin_ = path;
  if (files.is_directory(path)) {
    auto names = files.list(path);
    if (!names) return std::move(names).error().with_context(kFlag);
    auto found = find_ssh_key_files(*names);
    if (!found)
      return std::move(found).error().with_context(std::string(kFlag) + " '" + path + "'");
    origin_ = path + "/" + found->private_key;
    if (!found->authorized_keys.empty()) {
      auto more = read_key(files, path + "/" + found->authorized_keys);
      if (!more) return std::move(more).error();
      authorized_keys_ = *std::move(more);
    }
  }
  auto secret = read_key(files, origin_);
  if (!secret) return std::move(secret).error();
  // OpenSSH wants the last line to end, which Secrets made by hand often lack.
  if (!secret->ends_with('\n')) *secret += '\n';
  auto copied = setup_.folder.put(std::string(kSshUserKeyFile), *secret);
  explicit_bzero(secret->data(), secret->size());
  return copied ? Status() : Status(std::move(copied).error());
}

std::string SshKeyring::mounted_keys() const {
  return is_mounted() ? user_key_ + "\n" + authorized_keys_ : "";
}

std::string SshKeyring::path_of(std::string_view file) const {
  return setup_.folder.path() + "/" + std::string(file);
}

void SshKeyring::begin(bool with_host_key, Done done) {
  done_ = std::move(done);
  files_ = {kSshUserKeyFile};
  if (with_host_key) files_.push_front(kSshHostKeyFile);
  next();
}

void SshKeyring::stop() {
  done_ = {};
  files_.clear();
  if (pid_ != 0) (void)setup_.processes.signal_group(pid_, SIGKILL);
  pid_ = 0;
  said_.reset();
  timer_.reset();
}

void SshKeyring::next() {
  if (files_.empty()) return finish({});
  if (Status started = start(); !started) finish(std::move(started));
}

Status SshKeyring::start() {
  const std::string path = path_of(files_.front());
  const bool checks = is_mounted() && files_.front() == kSshUserKeyFile;
  SpawnRequest keygen;
  keygen.program = setup_.program;
  keygen.arguments = {"ssh-keygen", "-q", "-t", "ed25519", "-C", "muster", "-N", "", "-f", path};
  if (checks) keygen.arguments = {"ssh-keygen", "-y", "-P", "", "-f", path};
  keygen.environment = setup_.environment;
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  auto pipe = make_pipe();
  if (!pipe) return std::move(pipe).error();
  MUSTER_RETURN_IF_ERROR(set_nonblocking(pipe->read_end.get()));
  keygen.stdin_fd = null.get();
  keygen.stdout_fd = keygen.stderr_fd = pipe->write_end.get();
  sigemptyset(&keygen.signal_mask);
  keygen.default_signals = true;
  keygen.working_directory = "/";
  const auto pid = setup_.processes.spawn(keygen);
  if (!pid) return Error(pid.error());
  pid_ = *pid;
  said_ = std::move(pipe->read_end);
  timer_ = setup_.loop.after(kSshKeygenDeadline,
                             [this] { (void)setup_.processes.signal_group(pid_, SIGKILL); });
  return {};
}

bool SshKeyring::process_exited(const Reaped& reaped) {
  if (pid_ == 0 || reaped.pid != pid_) return false;
  pid_ = 0;
  timer_.reset();
  if (Status taken = take(reaped.status); !taken) {
    finish(std::move(taken));
  } else {
    files_.pop_front();
    next();
  }
  return true;
}

// The public part: ssh-keygen has printed it, or has put it beside the key that it made.
Status SshKeyring::take(const ExitStatus& status) {
  const std::string said = read_all(said_);
  said_.reset();
  if (!status.success()) return refused(said.empty() ? status.describe() : said);
  const bool is_user_key = files_.front() == kSshUserKeyFile;
  const bool checked = is_mounted() && is_user_key;
  auto line = checked ? Result<std::string>(said)
                      : setup_.files.read(path_of(files_.front()) + ".pub", kMaxSshKeyFileBytes);
  if (!line) return std::move(line).error();
  auto key = public_key_of(*line);
  if (!key || (!checked && !is_ed25519_key(*key))) return refused("it has given no public key");
  (is_user_key ? user_key_ : host_key_) = *std::move(key);
  return {};
}

// In the words of ssh-keygen, which names our copy; people know the file that was mounted.
Error SshKeyring::refused(std::string_view said) const {
  std::string_view line = trim(said.substr(0, said.find('\n')));
  const std::string copy = "Load key \"" + path_of(files_.front()) + "\": ";
  if (line.starts_with(copy)) line.remove_prefix(copy.size());
  const std::string about = is_mounted() && files_.front() == kSshUserKeyFile
                                ? std::string(kFlag) + ": '" + origin_ + "': ssh-keygen says: "
                                : "ssh-keygen cannot make a key: ";
  return {Code::kConfig, 0, about + one_line(line)};
}

// In a turn of its own: the owner may destroy this then.
void SshKeyring::finish(Status status) {
  timer_ = setup_.loop.soon(
      [done = std::exchange(done_, {}), status = std::move(status)] { done(status); });
}

}  // namespace muster::mpi
