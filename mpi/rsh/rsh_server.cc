#include "mpi/rsh/rsh_server.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/log.h"
#include "mpi/rsh/rsh_door.h"
#include "rendezvous/wire/job_secret.h"

namespace muster::mpi {

namespace {

// Callers of ssh expect a shell on the other side: Open MPI sends statements that set variables,
// and MPICH puts its daemon's path into quotes. Only Intel MPI sends nothing but words.
constexpr std::string_view kShell = "/bin/sh";

Error refusal(std::string text) { return {Code::kPeer, 0, std::move(text)}; }

}  // namespace

Result<std::unique_ptr<RshServer>> RshServer::create(RshServerSetup setup) {
  std::unique_ptr<RshServer> server(new RshServer(std::move(setup)));
  RshServer* const self = server.get();
  auto calls = RshCalls::create(
      {.loop = self->setup_.loop,
       .network = self->setup_.network,
       .tls = self->setup_.tls,
       .node = self->setup_.node,
       .run_id = self->setup_.run_id,
       .door = rsh_door_name(self->setup_.agent_token),
       .find =
           [self](const std::string& host) {
             return find_peer(self->nodes_, self->setup_.max_nodes, self->setup_.node, host);
           },
       .tell_refused =
           [self](const std::string& reason) {
             self->context_.tell_refused("a process of this node", reason);
           },
       .tell_no_node =
           [self](const std::string& reason) {
             if (self->no_node_) self->no_node_(reason);
           }});
  if (!calls) return std::move(calls).error();
  server->calls_ = std::move(*calls);
  if (server->setup_.tls == nullptr) {
    auto door =
        RshDoor::create(server->setup_.loop, rsh_commands_door_name(server->setup_.incarnation),
                        [self](UniqueFd connection, const Status& admitted) {
                          self->early_.take({std::move(connection), ""}, admitted);
                        });
    if (!door) return std::move(door).error();
    server->door_for_commands_ = std::move(*door);
  }
  const auto file = server->setup_.pod.get(rendezvous::kJobSecretFileVariable);
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
      context_{
          .loop = setup_.loop,
          .processes = setup_.processes,
          .tls = setup_.tls,
          .node = setup_.node,
          .incarnation = setup_.incarnation,
          .run_id = setup_.run_id,
          .plan = [this](const rsh::Run& run, const std::string& mark) { return plan(run, mark); },
          .tell_refused =
              [this](const std::string& peer, const std::string& reason) {
                if (const auto untold = lines_.take())
                  log::warning("rsh.refused",
                               {{"peer", peer}, {"reason", reason}, {"untold", *untold}});
              }},
      lines_(setup_.loop),
      drain_(setup_.loop, [this] { terminate_all(); }),
      early_(setup_.loop, [this](Arrival arrival, const Status& admitted) {
        begin(std::move(arrival), admitted);
      }) {}

std::vector<PlannedVariable> RshServer::worker_variables() const {
  const auto variable = [](std::string_view name, const std::string& value, std::string reason) {
    return PlannedVariable{.name = std::string(name),
                           .value = value,
                           .reason = std::move(reason),
                           .source = "--rsh",
                           .claim = Claim::kOverrides};
  };
  std::vector<PlannedVariable> variables = {variable(kRshAgentVariable,
                                                     rsh_door_name(setup_.agent_token),
                                                     "where the agent listens to `muster rsh`")};
  if (!secret_file_.empty()) {
    variables.push_back(variable(rendezvous::kJobSecretFileVariable, secret_file_,
                                 "ranks report to the agent with it"));
  }
  return variables;
}

// With a secret the handshake proves who may come.
void RshServer::adopt(Arrival arrival) {
  if (setup_.tls != nullptr) return early_.take(std::move(arrival), {});
  begin(std::move(arrival), refusal("this job has no secret, so nothing is run for other machines, "
                                    "and for this one at the agent's door alone; "
                                    "MUSTER_JOB_SECRET_FILE on every node allows it"));
}

void RshServer::set_variables(std::vector<PlannedVariable> variables) {
  variables_ = std::move(variables);
  early_.release();
}

void RshServer::hold_early_calls() {
  holds_early_ = true;
  early_.hold();
}

void RshServer::begin(Arrival arrival, const Status& admitted) {
  const uint64_t number = next_number_++;
  requests_.emplace(
      number, std::make_unique<RshRequest>(context_, std::move(arrival), number, mark_of(number),
                                           admitted ? has_room() : admitted, when_ended()));
}

// Another command may come on this connection. If this agent ends, its peer is told so.
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

Status RshServer::has_room() const {
  if (stopping_) return refusal("the agent of " + setup_.node + " ends");
  const auto idle = std::count_if(requests_.begin(), requests_.end(),
                                  [](const auto& entry) { return entry.second->is_idle(); });
  if (requests_.size() - static_cast<size_t>(idle) < setup_.max_requests) return {};
  return refusal("more than " + std::to_string(setup_.max_requests) + " calls at a time on " +
                 setup_.node);
}

Result<SpawnRequest> RshServer::plan(const rsh::Run& run, const std::string& mark) const {
  if (!is_same_user(run.user, account_, geteuid(), setup_.pod)) {
    return refusal("commands run as '" + account_.name + "' there (uid " +
                   std::to_string(geteuid()) + "), not as '" + run.user + "'");
  }
  RshEnvironmentFacts facts;
  facts.agent = rsh_door_name(setup_.agent_token);
  facts.agent_token = setup_.agent_token;
  facts.request = mark.substr(mark.find('=') + 1);
  facts.secret_file = secret_file_;
  EnvironmentPlan variables = rsh_environment(setup_.pod, account_, facts);
  variables.add(EnvironmentLayer::kMpi, variables_);
  const Environment environment = variables.merge(setup_.pod).environment;
  const std::string shell(kShell);
  if (!setup_.files.exists(shell)) {
    return Error{Code::kExec, ENOENT,
                 "there is no " + shell + " in this image, and commands of other nodes need it"};
  }
  SpawnRequest request;
  request.program = shell;
  request.arguments = {shell, "-c", run.command};
  request.environment = environment.to_exec_strings();
  const std::string home(environment.get("HOME").value_or("/"));
  // Only a user that may enter the folder sees its ".": an image may say HOME=/root to all users.
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

}  // namespace muster::mpi
