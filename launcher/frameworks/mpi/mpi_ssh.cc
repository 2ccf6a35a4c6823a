#include "launcher/frameworks/mpi/mpi_ssh.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "base/process/process_marks.h"
#include "base/text.h"
#include "launcher/frameworks/mpi/mpi_launcher.h"
#include "mpi/ssh/mpi_ssh_client.h"
#include "mpi/ssh/mpi_ssh_verb.h"

namespace muster::launcher {

namespace {

// sshd lies where users' PATH does not lead.
constexpr std::string_view kServerFolders = ":/usr/local/sbin:/usr/sbin:/sbin";

}  // namespace

Result<std::unique_ptr<LaunchTransport>> MpiSsh::create(LaunchTransportSetup setup) {
  auto folder = TemporaryFolder::create(setup.folder);
  if (!folder) {
    return std::move(folder).error().with_context(
        "keys of SSH need a folder of their own; TMPDIR names where");
  }
  std::unique_ptr<MpiSsh> ssh(new MpiSsh(std::move(setup), std::move(*folder)));
  MUSTER_RETURN_IF_ERROR(ssh->find_programs());
  MUSTER_RETURN_IF_ERROR(ssh->listen());
  MUSTER_RETURN_IF_ERROR(ssh->begin_keys());
  return std::unique_ptr<LaunchTransport>(std::move(ssh));
}

Status MpiSsh::find_programs() {
  const Files& files = setup_.job.doors.files;
  const std::string path(search_path(setup_.job.context.environment));
  MUSTER_RETURN_IF_ERROR(mpi::place_ssh_client(files, path, setup_.muster, folder_));
  auto server = find_program(files, "sshd", path + std::string(kServerFolders));
  if (!server) {
    return Error{Code::kExec, ENOENT,
                 "no sshd in this image, which --mpi-transport ssh needs on every node (Debian: "
                 "openssh-server); " +
                     std::string(mpi::kWithoutSsh)};
  }
  sshd_ = std::move(*server);
  auto keygen = mpi::find_ssh_keygen(files, path);
  if (!keygen) return std::move(keygen).error();
  keygen_ = std::move(*keygen);
  return mpi::place_ssh_account(folder_);
}

Status MpiSsh::put(std::string_view name, std::string_view bytes) {
  auto written = folder_.put(std::string(name), bytes);
  return written ? Status() : Status(std::move(written).error());
}

Status MpiSsh::begin_keys() {
  const auto environment =
      mpi::ssh_program_environment(setup_.job.context.environment, folder_.path());
  keys_ = std::make_unique<mpi::SshKeyring>(
      mpi::SshKeyringSetup{.loop = setup_.job.doors.loop,
                           .processes = setup_.job.doors.processes,
                           .files = setup_.job.doors.files,
                           .folder = folder_,
                           .program = keygen_,
                           .environment = environment.to_exec_strings()});
  const std::string& mounted = setup_.job.context.options.framework.mpi_ssh_keys;
  if (!mounted.empty()) MUSTER_RETURN_IF_ERROR(keys_->mount(mounted));
  keys_->begin(/*with_host_key=*/true, [this](const Status& status) {
    is_preparing_ = false;
    setup_.job.prepared(status);
  });
  return {};
}

bool MpiSsh::process_exited(const Reaped& reaped) {
  return keys_->process_exited(reaped) || server_->process_exited(reaped);
}

Status MpiSsh::listen() {
  const std::string& mounted = setup_.job.context.options.framework.mpi_ssh_keys;
  const int port = setup_.job.context.options.framework.mpi_ssh_port;
  // Nothing of the agent's environment: sshd hands on none of it, and none is its business.
  Environment environment;
  environment.set("PATH", search_path(Environment()));
  environment.set(kAgentIdVariable, setup_.job.context.token);
  environment = mpi::ssh_program_environment(std::move(environment), folder_.path());
  auto server = mpi::SshServer::listen(
      {.loop = setup_.job.doors.loop,
       .processes = setup_.job.doors.processes,
       .network = setup_.job.doors.network,
       .program = sshd_,
       .config = folder_.path() + "/" + std::string(mpi::kSshServerConfigFile),
       .environment = environment.to_exec_strings(),
       .fd_limit = setup_.job.context.setup.original_fd_limit,
       .killed = [this](pid_t pid,
                        int signal) { setup_.killed("sshd, serving a connection", pid, signal); },
       .has_logged_in = mpi::ssh_has_logged_in},
      {setup_.job.own_host, static_cast<uint16_t>(port)});
  if (!server) return std::move(server).error().with_context("--mpi-ssh-port");
  server_ = std::move(*server);
  log::info("ssh.listen", {{"port", server_->address().to_string()},
                           {"sshd", sshd_},
                           {"keys", mounted.empty() ? "made" : "mounted"}});
  return {};
}

std::string MpiSsh::card() const {
  return mpi::write_ssh_card({server_->address().port, keys_->host_key(), keys_->made_user_key()});
}

std::vector<PlannedVariable> MpiSsh::variables() const {
  return {launcher_variable(mpi::kSshFolderVariable, folder_.path(),
                            "where the keys and the configuration of SSH are")};
}

Status MpiSsh::write_files(const rendezvous::Assign& assign) {
  std::vector<mpi::SshPeer> peers;
  for (const auto& member : assign.roster) {
    const std::string& name = member.identity.name;
    if (member.note.empty()) {
      return Error{Code::kConfig, 0,
                   "node " + name +
                       " has no SSH server: every node must be started with --mpi-transport ssh"};
    }
    auto card = mpi::parse_ssh_card(member.note);
    if (!card) return std::move(card).error().with_context("node " + name);
    peers.push_back({name, member.host, std::move(*card)});
  }
  if (peers.empty()) {
    return Error{Code::kLimit, 0,
                 "the list of " + std::to_string(assign.node_count) +
                     " nodes with their keys of SSH does not fit a message; " +
                     std::string(mpi::kWithoutSsh)};
  }
  auto config = mpi::ssh_config(folder_.path(), peers);
  if (!config) return std::move(config).error();
  MUSTER_RETURN_IF_ERROR(put(mpi::kSshClientConfigFile, *config));
  MUSTER_RETURN_IF_ERROR(put(mpi::kSshKnownHostsFile, mpi::known_hosts(peers)));
  MUSTER_RETURN_IF_ERROR(
      put(mpi::kSshAuthorizedKeysFile, mpi::authorized_keys(peers, keys_->mounted_keys())));
  return write_server_config(peers.at(static_cast<size_t>(assign.node_rank)).name);
}

Status MpiSsh::write_server_config(const std::string& own_name) {
  if (!mpi::is_plain_for_ssh(setup_.muster)) {
    return Error{Code::kConfig, 0,
                 "'" + setup_.muster +
                     "': sshd starts this through a shell, which would read "
                     "something else; put muster under a path of letters, digits and ._-/+,@"};
  }
  // The login shell runs it; SSH_ORIGINAL_COMMAND is data to it.
  const std::string command =
      "exec " + setup_.muster + " rsh " + own_name + " -- \"$SSH_ORIGINAL_COMMAND\"";
  std::vector<std::pair<std::string, std::string>> variables;
  for (const PlannedVariable& variable : setup_.job.rsh.worker_variables()) {
    if (variable.value) variables.emplace_back(variable.name, *variable.value);
  }
  auto config = mpi::sshd_config(folder_.path(), command, variables);
  if (!config) return std::move(config).error();
  return put(mpi::kSshServerConfigFile, *config);
}

}  // namespace muster::launcher
