#include "launcher/frameworks/mpi_sshd.h"

#include <unistd.h>

#include <utility>

#include "base/interfaces.h"
#include "base/text.h"
#include "launcher/contracts/contract.h"
#include "launcher/frameworks/mpi_ssh_client.h"
#include "launcher/frameworks/mpi_ssh_verb.h"
#include "launcher/frameworks/tend_verb.h"
#include "launcher/job_setup.h"
#include "launcher/rsh/rsh_environment.h"
#include "mpi/ssh_config.h"

namespace muster::launcher {

namespace {

constexpr const char* kPasswd = "/etc/passwd";
constexpr size_t kMaxKnownHostsBytes = 1U << 20;

// Where the keys are: given, or those that the controller has mounted.
std::string keys_of(const AgentContext& context) {
  const std::string& given = context.options.framework.mpi_ssh_keys;
  if (!given.empty() || context.contract == nullptr) return given;
  const std::string& file = context.contract->secret_file;
  return file.empty() ? "" : folder_of(file);
}

}  // namespace

Result<std::string> login_name(std::string_view passwd, uid_t uid, const Environment& environment) {
  if (const Account account = find_account(passwd, uid); account.is_listed) return account.name;
  const std::string user(environment.get("USER").value_or(""));
  if (!user.empty()) return user;
  if (uid == 0) return std::string("root");
  return Error{Code::kConfig, 0,
               "uid " + std::to_string(uid) +
                   " has no name in /etc/passwd under which it could log in: set USER"};
}

Result<std::unique_ptr<MpiSshd>> MpiSshd::create(AgentDoors doors, const AgentContext& context,
                                                 const std::string& folder,
                                                 const std::string& muster) {
  auto made = TemporaryFolder::create(folder);
  if (!made) return std::move(made).error();
  std::unique_ptr<MpiSshd> sshd(new MpiSshd(doors, context, std::move(*made)));
  MUSTER_RETURN_IF_ERROR(sshd->write_files(muster));
  return sshd;
}

Status MpiSshd::write_files(const std::string& muster) {
  const FrameworkOptions& framework = context_.options.framework;
  const Files& files = doors_.files;
  MUSTER_RETURN_IF_ERROR(
      place_ssh_client(files, search_path(context_.environment), muster, folder_));
  const std::string passwd = files.read(kPasswd).value_or("");
  if (!find_account(passwd, getuid()).is_listed) MUSTER_RETURN_IF_ERROR(place_ssh_account(folder_));
  const std::string keys = keys_of(context_);
  if (keys.empty()) {
    return Error{Code::kConfig, 0,
                 "--mpi-transport sshd needs the key that the workers let in: mount it and say "
                 "where with --mpi-ssh-keys"};
  }
  MUSTER_RETURN_IF_ERROR(mount_key(keys));
  const bool verified = framework.mpi_transport == MpiTransport::kSshd;
  if (verified) MUSTER_RETURN_IF_ERROR(put_known_hosts(keys));
  auto user = login_name(passwd, getuid(), context_.environment);
  if (!user) return std::move(user).error();
  const int port = framework.mpi_ssh_port == 0 ? kUsualSshPort : framework.mpi_ssh_port;
  auto config =
      mpi::foreign_ssh_config(folder_.path(), *user, port, verified, context_.options.nodes.lease);
  if (!config) return std::move(config).error();
  auto written = folder_.put(std::string(mpi::kSshClientConfigFile), *config);
  return written ? Status() : Status(std::move(written).error());
}

Status MpiSshd::mount_key(const std::string& keys) {
  auto keygen = find_ssh_keygen(doors_.files, search_path(context_.environment));
  if (!keygen) return std::move(keygen).error();
  const auto environment = ssh_program_environment(context_.environment, folder_.path());
  keys_ =
      std::make_unique<SshKeyring>(SshKeyringSetup{.loop = doors_.loop,
                                                   .processes = doors_.processes,
                                                   .files = doors_.files,
                                                   .folder = folder_,
                                                   .program = *std::move(keygen),
                                                   .environment = environment.to_exec_strings()});
  return keys_->mount(keys);
}

Status MpiSshd::put_known_hosts(const std::string& keys) {
  const std::string folder = doors_.files.is_directory(keys) ? keys : folder_of(keys);
  const std::string path = folder + "/" + std::string(mpi::kSshKnownHostsFile);
  auto known = doors_.files.read(path, kMaxKnownHostsBytes);
  if (!known) {
    return Error{Code::kConfig, 0,
                 known.error().text +
                     ": nobody knows the host keys of the workers, so anybody could answer for "
                     "them; put the file there, or say --mpi-transport sshd-unverified"};
  }
  auto written = folder_.put(std::string(mpi::kSshKnownHostsFile), *known);
  return written ? Status() : Status(std::move(written).error());
}

std::string MpiSshd::variable() const {
  return std::string(kSshFolderVariable) + "=" + folder_.path();
}

void MpiSshd::wait(const std::vector<mpi::HostSlots>& hosts, Duration deadline,
                   std::function<void(Status)> done) {
  const int port = context_.options.framework.mpi_ssh_port;
  const auto own = host_name();
  std::vector<rendezvous::Candidate> servers;
  for (const auto& host : hosts) {
    if (own && first_label(host.host) == first_label(*own)) continue;
    servers.push_back({host.host, static_cast<uint16_t>(port == 0 ? kUsualSshPort : port)});
  }
  stop_waiting();
  keys_->begin(/*with_host_key=*/false, [this, servers = std::move(servers), deadline,
                                         done = std::move(done)](const Status& status) mutable {
    if (!status) return done(status);
    look_for(std::move(servers), deadline, std::move(done));
  });
}

void MpiSshd::look_for(std::vector<rendezvous::Candidate> servers, Duration deadline,
                       std::function<void(Status)> done) {
  wait_ = std::make_unique<SshWait>(
      doors_.loop, doors_.resolver, doors_.network, std::move(servers), deadline,
      random_number(context_.token), [this, done = std::move(done)](Status status) {
        own_host_ = wait_->own_host();
        // The wait ends in a turn of its own: its method is running.
        later_ = doors_.loop.soon([this, done, status = std::move(status)] {
          wait_.reset();
          done(status);
        });
      });
}

void MpiSshd::stop_waiting() {
  keys_->stop();
  wait_.reset();
  later_.reset();
}

elastic::FailureRecord MpiSshd::explained(const elastic::FailureRecord& launcher) const {
  elastic::FailureRecord record = launcher;
  const auto reason = doors_.files.read(folder_.path() + "/" + std::string(kTendReasonFile));
  if (reason) record.reason = *reason;
  return record;
}

}  // namespace muster::launcher
