#include "launcher/rsh/rsh_server.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/log.h"
#include "base/socket_owner.h"
#include "launcher/job_secret.h"
#include "launcher/rsh/rsh_peers.h"

namespace muster::launcher {

namespace {

constexpr const char* kShell = "/bin/sh";

Error refusal(std::string text) { return {Code::kPeer, 0, std::move(text)}; }

}  // namespace

Result<std::unique_ptr<RshServer>> RshServer::create(RshServerSetup setup) {
  std::unique_ptr<RshServer> server(new RshServer(std::move(setup)));
  const auto file = server->setup_.pod.get(kJobSecretFileVariable);
  if (server->setup_.tls == nullptr || !file) return server;
  // Commands start in another folder than we did.
  auto path = absolute_path(std::string(*file));
  if (!path) return std::move(path).error();
  server->secret_file_ = std::move(*path);
  return server;
}

RshServer::RshServer(RshServerSetup setup)
    : setup_(std::move(setup)),
      account_(find_account(setup_.files.read("/etc/passwd").value_or(""), getuid())),
      context_{.loop = setup_.loop,
               .processes = setup_.processes,
               .tls = setup_.tls,
               .node = setup_.node,
               .run_id = setup_.run_id,
               .find = [this](const std::string& host) { return find(host); },
               .plan = [this](const std::string& command,
                              const std::string& mark) { return plan(command, mark); },
               .tell_refused = [this](const std::string& peer,
                                      const std::string& reason) { tell_refused(peer, reason); }} {}

// Whoever can reach the port could fill the log.
void RshServer::tell_refused(const std::string& peer, const std::string& reason) {
  const TimePoint now = setup_.loop.now();
  if (now >= refusals_until_) {
    refusals_until_ = now + kRshRefusalWindow;
    refusals_ = 0;
  }
  if (++refusals_ > kMaxRshRefusalLines) return (void)++untold_;
  log::warning("rsh.refused",
               {{"peer", peer}, {"reason", reason}, {"untold", std::exchange(untold_, 0)}});
}

std::vector<std::string> RshServer::worker_variables() const {
  std::vector<std::string> variables = {std::string(kRshAgentVariable) + "=" +
                                        setup_.port.to_string()};
  if (!secret_file_.empty())
    variables.push_back(std::string(kJobSecretFileVariable) + "=" + secret_file_);
  return variables;
}

void RshServer::adopt(UniqueFd connection, std::string first_bytes) {
  // Those that are only being told "too many" count too, but not without end.
  if (requests_.size() >= 2 * most()) {
    return tell_refused("unknown", "too many calls at a time, no answer");
  }
  const Status admitted = admit(connection.get());
  const uint64_t number = next_number_++;
  auto request = std::make_unique<RshRequest>(
      context_, std::move(connection), std::move(first_bytes), number,
      setup_.agent_token + "-" + std::to_string(number), admitted,
      [this] { cleaning_ = setup_.loop.at(setup_.loop.now(), [this] { remove_ended(); }); });
  requests_.emplace(number, std::move(request));
}

size_t RshServer::most() const { return context_.ranks.began ? kMaxRshLines : kMaxRshRequests; }

void RshServer::watch(RankHooks ranks, std::function<void(const RshCommandEnd&)> command_ended) {
  context_.ranks = std::move(ranks);
  context_.command_ended = std::move(command_ended);
}

bool RshServer::busy() const {
  return std::any_of(requests_.begin(), requests_.end(),
                     [](const auto& entry) { return entry.second->has_command(); });
}

Status RshServer::admit(int connection) const {
  if (stopping_) return refusal("the agent of " + setup_.node + " ends");
  if (requests_.size() >= most()) {
    return refusal("more than " + std::to_string(most()) + " calls at a time on " + setup_.node);
  }
  if (setup_.tls != nullptr) return {};  // the handshake proves it
  const auto peer = peer_address(connection);
  const auto own = setup_.network.local_address(connection);
  if (!peer || !own) return refusal("the connection's addresses are not known");
  if (!peer->is_loopback() && peer->host != own->host) {
    return refusal(
        "this job has no secret, so commands are taken from this machine alone; "
        "MUSTER_JOB_SECRET_FILE on every node allows the others");
  }
  const auto owner = owner_of_peer(setup_.files, *own, *peer);
  if (!owner) return Error(owner.error());
  if (*owner == geteuid() || *owner == 0) return {};
  return refusal("uid " + std::to_string(*owner) + " may not run commands as uid " +
                 std::to_string(geteuid()));
}

Result<rsh::Found> RshServer::find(const std::string& host) const {
  auto peer = find_peer(nodes_, setup_.node, host);
  if (!peer) return std::move(peer).error();
  const rendezvous::RosterEntry& entry = **peer;
  return rsh::Found{entry.identity.name, entry.host, static_cast<uint16_t>(entry.port),
                    setup_.run_id, setup_.node};
}

SpawnRequest RshServer::plan(const std::string& command, const std::string& mark) const {
  RshEnvironmentFacts facts;
  facts.agent = setup_.port.to_string();
  facts.agent_token = setup_.agent_token;
  facts.request = mark.substr(mark.find('=') + 1);
  facts.secret_file = secret_file_;
  Environment environment = rsh_environment(setup_.pod, account_, facts);
  SpawnRequest request;
  request.program = kShell;
  request.arguments = {kShell, "-c", command};
  for (const std::string& variable : variables_) {
    const size_t end = variable.find('=');
    environment.set(variable.substr(0, end), variable.substr(end + 1));
  }
  request.environment = environment.to_exec_strings();
  const std::string home(environment.get("HOME").value_or("/"));
  request.working_directory = setup_.files.is_directory(home) ? home : "/";
  sigemptyset(&request.signal_mask);
  request.default_signals = true;
  request.fd_limit = setup_.setup.original_fd_limit;
  return request;
}

void RshServer::process_exited(const Reaped& reaped) {
  for (const auto& [number, request] : requests_) {
    if (request->pid() == reaped.pid) return request->process_exited(reaped.status);
  }
}

void RshServer::kill_all() {
  for (const auto& [number, request] : requests_) request->kill();
}

void RshServer::stop(std::function<void()> stopped) {
  if (std::exchange(stopping_, true)) return;
  stopped_ = std::move(stopped);
  kill_all();
  stop_timer_ = setup_.loop.after(kRshStopDeadline, [this] {
    requests_.clear();
    remove_ended();
  });
  cleaning_ = setup_.loop.at(setup_.loop.now(), [this] { remove_ended(); });
}

void RshServer::remove_ended() {
  const bool ended =
      std::erase_if(requests_, [](const auto& entry) { return entry.second->ended(); }) > 0;
  if (ended && idle_ && !busy()) idle_();
  if (!stopping_ || !requests_.empty() || !stopped_) return;
  stop_timer_.reset();
  std::exchange(stopped_, {})();
}

}  // namespace muster::launcher
