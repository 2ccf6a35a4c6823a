#include "launcher/rsh/rsh_server.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/log.h"
#include "base/socket_owner.h"
#include "launcher/job_secret.h"
#include "launcher/rsh/rsh_door.h"
#include "launcher/rsh/rsh_shell.h"

namespace muster::launcher {

namespace {

// In one window so many refusals are told one by one; the rest is a number in the next line.
constexpr Duration kRefusalWindow = std::chrono::seconds(10);
constexpr int kMaxRefusalLines = 10;

Error refusal(std::string text) { return {Code::kPeer, 0, std::move(text)}; }

}  // namespace

Result<std::unique_ptr<RshServer>> RshServer::create(RshServerSetup setup) {
  std::unique_ptr<RshServer> server(new RshServer(std::move(setup)));
  RshServer* self = server.get();
  auto calls = RshCalls::create({.loop = self->setup_.loop,
                                 .network = self->setup_.network,
                                 .tls = self->setup_.tls,
                                 .node = self->setup_.node,
                                 .run_id = self->setup_.run_id,
                                 .door = self->door_,
                                 .shell = self->caller_language(),
                                 .find =
                                     [self](const std::string& host) {
                                       return find_peer(self->nodes_, self->setup_.max_nodes,
                                                        self->setup_.node, host);
                                     },
                                 .tell_refused =
                                     [self](const std::string& reason) {
                                       self->tell_refused("a process of this node", reason);
                                     },
                                 .tell_no_node =
                                     [self](const std::string& reason) {
                                       if (self->no_node_) self->no_node_(reason);
                                     }});
  if (!calls) return std::move(calls).error();
  server->calls_ = std::move(*calls);
  const auto file = server->setup_.pod.get(kJobSecretFileVariable);
  if (!server->setup_.ranks_report || server->setup_.tls == nullptr || !file) return server;
  // Commands start in another folder than we did.
  auto path = absolute_path(std::string(*file));
  if (!path) return std::move(path).error();
  server->secret_file_ = std::move(*path);
  return server;
}

RshServer::RshServer(RshServerSetup setup)
    : setup_(std::move(setup)),
      account_(find_account(setup_.files.read("/etc/passwd").value_or(""), getuid())),
      door_(rsh_door_name(setup_.agent_token)),
      context_{
          .loop = setup_.loop,
          .processes = setup_.processes,
          .tls = setup_.tls,
          .node = setup_.node,
          .run_id = setup_.run_id,
          .plan = [this](const rsh::Run& run, const std::string& mark) { return plan(run, mark); },
          .tell_refused = [this](const std::string& peer,
                                 const std::string& reason) { tell_refused(peer, reason); }},
      drain_(setup_.loop, [this] { terminate_all(); }),
      early_(setup_.loop, [this](UniqueFd connection, std::string first_bytes) {
        begin(std::move(connection), std::move(first_bytes));
      }) {}

// As Open MPI chooses it: the login shell, for an unknown user $SHELL.
RshShell RshServer::caller_language() const {
  if (account_.is_listed) return language_of(account_.shell);
  return language_of(setup_.pod.get("SHELL").value_or(account_.shell));
}

// Whoever can reach the port could fill the log.
void RshServer::tell_refused(const std::string& peer, const std::string& reason) {
  const TimePoint now = setup_.loop.now();
  if (now >= refusals_until_) {
    refusals_until_ = now + kRefusalWindow;
    refusals_ = 0;
  }
  if (++refusals_ > kMaxRefusalLines) return (void)++untold_;
  log::warning("rsh.refused",
               {{"peer", peer}, {"reason", reason}, {"untold", std::exchange(untold_, 0)}});
}

std::vector<std::string> RshServer::worker_variables() const {
  std::vector<std::string> variables = {std::string(kRshAgentVariable) + "=" + door_};
  if (!secret_file_.empty())
    variables.push_back(std::string(kJobSecretFileVariable) + "=" + secret_file_);
  return variables;
}

void RshServer::adopt(UniqueFd connection, std::string first_bytes) {
  early_.take(std::move(connection), std::move(first_bytes));
}

void RshServer::set_variables(std::vector<std::string> variables) {
  variables_ = std::move(variables);
  early_.release();
}

void RshServer::hold_early_calls() {
  holds_early_ = true;
  early_.hold();
}

void RshServer::begin(UniqueFd connection, std::string first_bytes) {
  // Those that are only being told "too many" count too, but not without end.
  if (requests_.size() >= 2 * most()) {
    return tell_refused("unknown", "too many calls at a time, no answer");
  }
  const Status admitted = admit(connection.get());
  const uint64_t number = next_number_++;
  requests_.emplace(
      number, std::make_unique<RshRequest>(context_, std::move(connection), std::move(first_bytes),
                                           number, mark_of(number), admitted, when_ended()));
}

// Another command may come on it. That of an agent that ends is told so, and closes it.
void RshServer::add(std::unique_ptr<RshChannel> channel) {
  const uint64_t number = next_number_++;
  const auto [entry, added] =
      requests_.emplace(number, std::make_unique<RshRequest>(context_, std::move(channel), number,
                                                             mark_of(number), when_ended()));
  if (stopping_) entry->second->kill();
}

std::string RshServer::mark_of(uint64_t number) const {
  return setup_.agent_token + "-" + std::to_string(number);
}

std::function<void()> RshServer::when_ended() {
  return [this] { cleaning_ = setup_.loop.soon([this] { remove_ended(); }); };
}

void RshServer::set_nodes(std::vector<rendezvous::RosterEntry> nodes) {
  nodes_ = std::move(nodes);
  calls_->nodes_changed();
}

void RshServer::update_nodes(std::vector<rendezvous::RosterEntry> nodes) {
  const auto same = [](const auto& left, const auto& right) {
    return left.identity == right.identity && left.host == right.host && left.port == right.port;
  };
  if (std::equal(nodes_.begin(), nodes_.end(), nodes.begin(), nodes.end(), same)) return;
  nodes_ = std::move(nodes);
  calls_->nodes_changed();
}

size_t RshServer::most() const { return context_.ranks.began ? kMaxRshLines : kMaxRshRequests; }

void RshServer::watch(RankHooks ranks, std::function<void(const RshCommandEnd&)> command_ended,
                      std::function<void(const std::string&)> no_node) {
  no_node_ = std::move(no_node);
  context_.ranks = std::move(ranks);
  context_.command_ended = std::move(command_ended);
}

bool RshServer::busy() const {
  return std::any_of(requests_.begin(), requests_.end(),
                     [](const auto& entry) { return entry.second->has_command(); });
}

Status RshServer::admit(int connection) const {
  if (stopping_) return refusal("the agent of " + setup_.node + " ends");
  const auto idle = std::count_if(requests_.begin(), requests_.end(),
                                  [](const auto& entry) { return entry.second->is_idle(); });
  if (requests_.size() - static_cast<size_t>(idle) >= most()) {
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

Result<SpawnRequest> RshServer::plan(const rsh::Run& run, const std::string& mark) const {
  if (!is_same_user(run.user, account_, geteuid(), setup_.pod)) {
    return refusal("commands run as '" + account_.name + "' there (uid " +
                   std::to_string(geteuid()) + "), not as '" + run.user + "'");
  }
  RshEnvironmentFacts facts;
  facts.agent = door_;
  facts.agent_token = setup_.agent_token;
  facts.request = mark.substr(mark.find('=') + 1);
  facts.secret_file = secret_file_;
  Environment environment = rsh_environment(setup_.pod, account_, facts);
  auto program = program_for(setup_.files, run.shell, account_.shell, environment, run.command);
  if (!program) return std::move(program).error();
  SpawnRequest request;
  request.program = std::move(program->path);
  request.arguments = std::move(program->arguments);
  for (const auto& [name, value] : program->variables) environment.set(name, value);
  for (const std::string& variable : variables_) environment.set_entry(variable);
  request.environment = environment.to_exec_strings();
  const std::string home(environment.get("HOME").value_or("/"));
  // Its "." is seen by who may enter it: an image's HOME=/root is not for every user.
  request.working_directory = setup_.files.is_directory(home + "/.") ? home : "/";
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
  if (holds_early_ && !stopping_) early_.hold();
}

void RshServer::terminate_all() {
  for (const auto& [number, request] : requests_) request->tell_to_end();
}

bool RshServer::drained(Duration grace, std::function<void()> done) {
  if (drain_.state() == DrainState::kIdle) {
    if (!busy()) return true;
    drain_.begin(grace, std::move(done));
  }
  return drain_.state() == DrainState::kDone;
}

void RshServer::stop(std::function<void()> stopped) {
  if (std::exchange(stopping_, true)) return;
  stopped_ = std::move(stopped);
  early_.release();  // they are told
  kill_all();
  // Whoever called from here hears how it ended.
  calls_->stop([this] { remove_ended(); });
  stop_timer_ = setup_.loop.after(kRshStopDeadline, [this] {
    requests_.clear();
    calls_.reset();
    remove_ended();
  });
  cleaning_ = setup_.loop.soon([this] { remove_ended(); });
}

void RshServer::remove_ended() {
  std::vector<std::unique_ptr<RshChannel>> channels;
  const bool ended = std::erase_if(requests_, [&channels](const auto& entry) {
                       if (!entry.second->ended()) return false;
                       if (auto channel = entry.second->take_channel())
                         channels.push_back(std::move(channel));
                       return true;
                     }) > 0;
  for (auto& channel : channels) add(std::move(channel));
  if (ended && !busy()) drain_.all_ended();
  if (ended && idle_ && !busy()) idle_();
  if (!stopping_ || !requests_.empty() || !stopped_ || (calls_ && !calls_->empty())) return;
  stop_timer_.reset();
  std::exchange(stopped_, {})();
}

}  // namespace muster::launcher
