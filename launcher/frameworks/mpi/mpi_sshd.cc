#include "launcher/frameworks/mpi/mpi_sshd.h"

#include <unistd.h>

#include <utility>

#include "base/interfaces.h"
#include "base/text.h"
#include "launcher/contracts/contract.h"
#include "launcher/frameworks/mpi/mpi_launcher.h"
#include "launcher/options/job_setup.h"
#include "mpi/rsh/rsh_environment.h"
#include "mpi/ssh/mpi_ssh_client.h"
#include "mpi/ssh/mpi_ssh_verb.h"
#include "mpi/ssh/ssh_config.h"
#include "mpi/ssh/tend_verb.h"

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
  if (const mpi::Account account = mpi::find_account(passwd, uid); account.is_listed)
    return account.name;
  const std::string user(environment.get("USER").value_or(""));
  if (!user.empty()) return user;
  if (uid == 0) return std::string("root");
  return Error{Code::kConfig, 0,
               "uid " + std::to_string(uid) +
                   " has no name in /etc/passwd under which it could log in: set USER"};
}

Result<std::unique_ptr<LaunchTransport>> MpiSshd::create(LaunchTransportSetup setup) {
  if (setup.listed == nullptr) {
    return Error{Code::kConfig, 0,
                 "--mpi-transport sshd: no controller lists hosts in this pod (mpi-operator, "
                 "Trainer and Volcano do, in the launcher's)"};
  }
  auto folder = TemporaryFolder::create(setup.folder);
  if (!folder) return std::move(folder).error();
  std::unique_ptr<MpiSshd> sshd(new MpiSshd(std::move(setup), std::move(*folder)));
  MUSTER_RETURN_IF_ERROR(sshd->write_files());
  return std::unique_ptr<LaunchTransport>(std::move(sshd));
}

Status MpiSshd::write_files() {
  const AgentContext& context = setup_.job.context;
  const FrameworkOptions& framework = context.options.framework;
  const Files& files = setup_.job.doors.files;
  MUSTER_RETURN_IF_ERROR(
      mpi::place_ssh_client(files, search_path(context.environment), setup_.muster, folder_));
  const std::string passwd = files.read(kPasswd).value_or("");
  if (!mpi::find_account(passwd, getuid()).is_listed)
    MUSTER_RETURN_IF_ERROR(mpi::place_ssh_account(folder_));
  const std::string keys = keys_of(context);
  if (keys.empty()) {
    return Error{Code::kConfig, 0,
                 "--mpi-transport sshd needs the key that the workers let in: mount it and say "
                 "where with --mpi-ssh-keys"};
  }
  MUSTER_RETURN_IF_ERROR(mount_key(keys));
  const bool verified = framework.mpi_transport == MpiTransport::kSshd;
  if (verified) MUSTER_RETURN_IF_ERROR(put_known_hosts(keys));
  auto user = login_name(passwd, getuid(), context.environment);
  if (!user) return std::move(user).error();
  const int port = framework.mpi_ssh_port == 0 ? kUsualSshPort : framework.mpi_ssh_port;
  auto config =
      mpi::foreign_ssh_config(folder_.path(), *user, port, verified, context.options.nodes.lease);
  if (!config) return std::move(config).error();
  auto written = folder_.put(std::string(mpi::kSshClientConfigFile), *config);
  return written ? Status() : Status(std::move(written).error());
}

Status MpiSshd::mount_key(const std::string& keys) {
  auto keygen =
      mpi::find_ssh_keygen(setup_.job.doors.files, search_path(setup_.job.context.environment));
  if (!keygen) return std::move(keygen).error();
  const auto environment =
      mpi::ssh_program_environment(setup_.job.context.environment, folder_.path());
  keys_ = std::make_unique<mpi::SshKeyring>(
      mpi::SshKeyringSetup{.loop = setup_.job.doors.loop,
                           .processes = setup_.job.doors.processes,
                           .files = setup_.job.doors.files,
                           .folder = folder_,
                           .program = *std::move(keygen),
                           .environment = environment.to_exec_strings()});
  return keys_->mount(keys);
}

Status MpiSshd::put_known_hosts(const std::string& keys) {
  const std::string folder = setup_.job.doors.files.is_directory(keys) ? keys : folder_of(keys);
  const std::string path = folder + "/" + std::string(mpi::kSshKnownHostsFile);
  auto known = setup_.job.doors.files.read(path, kMaxKnownHostsBytes);
  if (!known) {
    return Error{Code::kConfig, 0,
                 known.error().text +
                     ": nobody knows the host keys of the workers, so anybody could answer for "
                     "them; put the file there, or say --mpi-transport sshd-unverified"};
  }
  auto written = folder_.put(std::string(mpi::kSshKnownHostsFile), *known);
  return written ? Status() : Status(std::move(written).error());
}

std::vector<PlannedVariable> MpiSshd::variables() const {
  return {launcher_variable(mpi::kSshFolderVariable, folder_.path(),
                            "where the keys and the configuration of SSH are")};
}

Result<std::vector<rendezvous::Candidate>> MpiSshd::servers() const {
  auto hosts = with_ranks(setup_.listed->hosts());
  if (!hosts) return std::move(hosts).error();
  const int port = setup_.job.context.options.framework.mpi_ssh_port;
  const auto own = host_name();
  std::vector<rendezvous::Candidate> servers;
  for (const auto& host : *hosts) {
    if (own && first_label(host.host) == first_label(*own)) continue;
    servers.push_back({host.host, static_cast<uint16_t>(port == 0 ? kUsualSshPort : port)});
  }
  return servers;
}

void MpiSshd::prepare_round(const rendezvous::Assign& /*assign*/,
                            const std::function<void(Status)>& ready) {
  round_over();
  auto found = servers();
  if (!found) return ready(std::move(found).error());
  keys_->begin(/*with_host_key=*/false,
               [this, servers = *std::move(found), ready](const Status& status) {
                 if (!status) return ready(status);
                 look_for(servers, ready);
               });
}

// Pods are waited for as nodes are.
void MpiSshd::look_for(std::vector<rendezvous::Candidate> servers,
                       const std::function<void(Status)>& done) {
  const AgentDoors& doors = setup_.job.doors;
  wait_ = std::make_unique<mpi::SshWait>(
      doors.loop, doors.resolver, doors.network, std::move(servers), setup_.job.job.join_timeout,
      random_number(setup_.job.context.token), [this, done](Status status) {
        own_host_ = wait_->own_host();
        // The wait ends in a turn of its own: its method is running.
        later_ = setup_.job.doors.loop.soon([this, done, status = std::move(status)] {
          wait_.reset();
          done(status);
        });
      });
}

void MpiSshd::round_over() {
  keys_->stop();
  wait_.reset();
  later_.reset();
}

elastic::FailureRecord MpiSshd::explained(const elastic::FailureRecord& launcher) const {
  elastic::FailureRecord record = launcher;
  const auto reason =
      setup_.job.doors.files.read(folder_.path() + "/" + std::string(mpi::kTendReasonFile));
  if (reason) record.reason = one_line(*reason);
  return record;
}

}  // namespace muster::launcher
