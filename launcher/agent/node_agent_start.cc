// How a NodeAgent begins: the job's secret, its port, its place among the candidates.
#include <variant>

#include "base/interfaces.h"
#include "base/log.h"
#include "base/random.h"
#include "base/text.h"
#include "launcher/agent/finding/port_choice.h"
#include "launcher/agent/node_agent.h"
#include "launcher/agent/serving/status_answer.h"
#include "launcher/frameworks/mpi_program.h"
#include "launcher/frameworks/pytorch.h"
#include "launcher/options/job_setup.h"
#include "launcher/options/rendezvous_values.h"
#include "launcher/progress/progress_watch.h"
#include "rendezvous/wire/job_secret.h"

namespace muster::launcher {

Status NodeAgent::start() {
  started_ = doors_.loop.now();
  const Options& options = context_.options;
  if (worker_serves_store(context_.environment)) {
    return Error{Code::kConfig, 0,
                 std::string(kDisableSharingVariable) +
                     "=1 with more than one node: the store is served by the agent"};
  }
  if (options.local_addr) {
    auto checked = rendezvous::check_host_name(*options.local_addr);
    if (!checked) return std::move(checked).error().with_context("--local-addr");
    // Before anybody is elected there is nobody to whom a name could say something.
    if (options.backend == RendezvousBackend::kEtcd && own_address().empty()) {
      return Error{Code::kUsage, 0,
                   "--local-addr " + *options.local_addr +
                       ": with --rdzv-backend etcd it must be an address"};
    }
  }
  auto tls = rendezvous::tls_from_secret(context_.environment, doors_.files);
  if (!tls) return std::move(tls).error();
  tls_ = std::move(*tls);
  auto job = job_options(options, tls_ != nullptr);
  if (!job) return std::move(job).error();
  job_ = std::move(*job);
  if (context_.contract != nullptr) {
    for (const auto& host : context_.contract->hosts)
      job_.expected_nodes.emplace_back(first_label(host.host));
  }
  const auto own_name = host_name();
  MUSTER_RETURN_IF_ERROR(options.backend == RendezvousBackend::kEtcd
                             ? plan_etcd()
                             : candidates_.open(own_name ? *own_name : context_.node));
  if (const auto& leaders = candidates_.current(); !candidates_.is_read() && leaders.size() > 1)
    job_.leaders = names_of(leaders);
  MUSTER_RETURN_IF_ERROR(open_port());
  if (job_.rule.has_appointed() && !own_candidate_) {
    log::warning("job.launcher_unlisted",
                 {{"listed", join(names_of(candidates_.current()), ",")},
                  {"action",
                   "looking whether one of them is this node all the same; the "
                   "launcher leads, so --rdzv-endpoint must name it"}});
  }
  store_->set_networks(options.nodes.admit);
  if (etcd_options_) make_etcd();
  MUSTER_RETURN_IF_ERROR(driver_->start(driver_host()));
  // At least two workers, as far as prefixes go: other nodes have some, too.
  MUSTER_RETURN_IF_ERROR(group_.open(2));
  std::vector<std::string> notes = group_.plan().notices();
  if (std::string note = candidates_.only_here(); !note.empty()) notes.push_back(std::move(note));
  log::info("job.start", {{"run_id", options.run_id},
                          {"node", context_.node},
                          {"port", store_->address().to_string()},
                          {"min_nodes", options.min_nodes},
                          {"max_nodes", options.max_nodes},
                          {"workers", group_.plan().local_world_size()},
                          {"command", group_.plan().command_line()},
                          {"notes", join(notes, "; ")}});
  warn_of_mpi_program(doors_.files, options, group_.plan().command().program,
                      group_.plan().local_world_size() + options.min_nodes - 1);
  make_host();
  make_member();
  const bool named = !etcd_ && own_address().empty();
  const std::string local_name = named ? options.local_addr.value_or("") : "";
  links_ = std::make_unique<CandidateLinks>(doors_.loop, doors_.network, doors_.resolver,
                                            CandidateLinksSetup{.tls = tls_.get(),
                                                                .local_addr = own_address(),
                                                                .join_timeout = job_.join_timeout,
                                                                .local_name = local_name},
                                            candidate_events());
  links_->set_candidates(candidates_.current(), own_candidate_);
  wake();
  return {};
}

DriverHost NodeAgent::driver_host() {
  return {
      .doors = doors_,
      .context = context_,
      .job = job_,
      .own_host = store_->address().host,
      .tls = tls_.get(),
      .serve = [this](rendezvous::Protocol protocol,
                      auto handler) { store_->serve(protocol, std::move(handler)); },
      .serve_workers =
          [this](rendezvous::Protocol protocol, auto handler, auto clients) {
            store_->serve_workers(protocol, std::move(handler), std::move(clients));
          },
      .prepared = [this](const Status& status) { driver_prepared(status); },
      // Something else than a process of the group, which does not know of it.
      .failed =
          [this](const elastic::FailureRecord& record) {
            worker_failed(record, false);
            words_.stop = true;  // what the group says of it later is no news
          },
      .decided =
          [this](rendezvous::JobDecision decision) {
            member_->on_word(doors_.loop.now(), assign_.round, std::move(decision));
            wake();
          },
      .idle = [this] { group_.served_all(); },
      .ranks_gone = [this] { group_.ranks_gone(); },
      .exchange =
          [this](uint64_t sequence, std::string bytes) {
            member_->on_contribution(doors_.loop.now(), assign_.round, sequence, std::move(bytes));
            wake();
          },
      .nodes = [this] { return leader_host_->nodes(); },
      .hosts_changed = [this](int hosts) { leader_host_->follow_list(wanted_nodes(job_, hosts)); },
      .log_dir = [this] { return group_.log_dir(); },
      .network = [this] { return group_.plan().network_variables(); },
      .workers = [this] { return group_.plan().local_world_size(); },
      .process_of = [this](int local_rank) { return group_.pid_of(local_rank); },
      .kill = [this](int local_rank) { group_.kill(local_rank); },
      .resolve =
          [this](int local_rank, bool again) {
            group_.resolve(local_rank, again ? std::optional(Duration::zero()) : std::nullopt);
          },
      .signal = [this](int signal) { group_.notify(signal); },
      .end_workers = [this](Duration grace) { group_.stop(SIGTERM, grace); }};
}

// A numeric --local-addr, else "".
std::string NodeAgent::own_address() const {
  return parse_numeric_host(context_.options.local_addr.value_or("")).value_or("");
}

// Nodes that were all told nothing wait for each other, and so do those that were told the same.
std::string NodeAgent::rank_note() const {
  const auto rank = context_.options.node_rank;
  if (!job_.known_nodes || job_.rule.has_appointed()) return "";
  if (!rank) return "; without --node-rank this node is node rank 0";
  const bool alone = member_ && !member_->has_leader() && candidates_.current().size() == 1;
  if (*rank == 0 || !alone) return "";
  return "; node rank 0 leads, this is node rank " + std::to_string(*rank);
}

Status NodeAgent::open_port() {
  const auto& candidates = candidates_.current();
  auto chosen = choose_port(doors_.loop, doors_.network,
                            {.candidates = candidates,
                             .own_address = own_address(),
                             .known_nodes = job_.known_nodes,
                             .rank_note = rank_note(),
                             .find_self =
                                 [this, &candidates](uint16_t port) {
                                   return candidates_.find_self(candidates, port).candidate;
                                 },
                             .is_beside_us = [this] { return candidates_.is_beside_us(); }});
  if (!chosen) return std::move(chosen).error();
  store_ = std::move(chosen->store);
  listen_host_ = std::move(chosen->listen_host);
  own_candidate_ = chosen->candidate;
  if (chosen->shares_machine) add_port_to_name();
  return {};
}

// Two agents on one machine are two nodes. With a name that host files take, and hosts.
void NodeAgent::add_port_to_name() {
  if (!context_.options.nodes.name.empty()) return;
  context_.node += "-" + std::to_string(store_->address().port);
  if (context_.renamed) context_.renamed(context_.job, context_.node);
}

// By the user, else by the controller.
std::vector<rendezvous::Candidate> NodeAgent::listed_nodes() const {
  std::vector<rendezvous::Candidate> listed = candidates_.listed();
  if (!listed.empty() || context_.contract == nullptr) return listed;
  const int port = context_.contract->port > 0 ? context_.contract->port : kDefaultRendezvousPort;
  for (const auto& host : context_.contract->hosts)
    listed.push_back({host.host, static_cast<uint16_t>(port)});
  return listed;
}

void NodeAgent::make_host() {
  guide_ = std::make_unique<LeaderGuide>(
      AgentQuery::Doors{doors_.loop, doors_.network, doors_.resolver, tls_.get()}, job_.run_id);
  leader_host_ = std::make_unique<LeaderHost>(
      doors_.loop, doors_.network,
      LeaderHostSetup{.options = job_,
                      .policy = round_policy_options(context_.options),
                      .seed = random_number(context_.token),
                      .tls = tls_.get(),
                      .answer =
                          [this](const rendezvous::Hello& hello) {
                            return member_->answer(doors_.loop.now(), hello);
                          },
                      .misfit = [this](const std::string& text) { member_->on_misfit(text); },
                      .ask =
                          [this](const rendezvous::leader_output::AskCandidates& question) {
                            ask_candidates(question);
                          },
                      .status = [this] { return facts().status(); },
                      .job = [this] { return context_.job; },
                      .progress =
                          [this] {
                            return context_.progress != nullptr ? context_.progress->json()
                                                                : std::string();
                          },
                      .timeline = context_.timeline,
                      .changed = [this] { wake(); },
                      .reached_at =
                          [this](const std::string& host) {
                            if (links_->own_host().learn(host)) leader_host_->set_own_host(host);
                          },
                      .first = [this] { lease_first(); },
                      .may_lead = [this] { return !etcd_ || etcd_->may_lead(); },
                      .listed = [this] { return listed_nodes(); },
                      .resolver = doors_.resolver,
                      .incarnation = random_number(context_.token),
                      .missing_hint = driver_->needs().missing_hint});
  const auto adopt = [this](Arrival arrival) { leader_host_->adopt(std::move(arrival)); };
  store_->serve(rendezvous::Protocol::kControl, adopt);
  store_->serve(rendezvous::Protocol::kTls, adopt);
  if (!tls_ && !Address{listen_host_, 0}.is_loopback()) {
    log::warning("job.no_secret", {{"action",
                                    "whoever reaches the job port can join or end the "
                                    "job; MUSTER_JOB_SECRET_FILE protects it"}});
  }
}

void NodeAgent::make_member() {
  const Options& options = context_.options;
  rendezvous::MemberSetup setup;
  setup.self.identity = {context_.node, options.node_rank, random_number(context_.token)};
  setup.self.host = own_address();  // none: the links know better
  // But not where we listen on one loopback address: they leave from another one, 127.0.0.1.
  if (setup.self.host.empty() && store_->address().is_loopback())
    setup.self.host = store_->address().host;
  setup.self.port = store_->address().port;
  setup.self.local_world_size = group_.plan().local_world_size();
  setup.self.role = options.role;
  setup.self.wants_roster = driver_->needs().roster;
  if (!driver_->is_preparing()) setup.self.note_for_peers = driver_->card();
  if (job_.known_nodes) setup.self.node_rank = options.node_rank.value_or(0);
  if (job_.rule.has_appointed()) setup.self.node_rank = 0;
  setup.self.candidate = own_candidate_;
  setup.candidates = names_of(candidates_.current());
  if (candidates_.is_read()) setup.source = rendezvous::CandidateSource::kRead;
  if (etcd_) {
    setup.candidates = {"the leader named by " + etcd_->name()};
    setup.source = rendezvous::CandidateSource::kElected;
  }
  uint64_t random = random_number(context_.token);
  setup.jitter = next_fraction(random);
  member_ = std::make_unique<rendezvous::Member>(doors_.loop.now(), job_, std::move(setup));
  if (context_.progress != nullptr) {
    context_.progress->on_moved([this](int64_t step) {
      member_->on_progress(doors_.loop.now(), assign_.round, step);
      wake();
    });
  }
}

// While nobody leads here the member knows whom to ask instead.
NodeFacts NodeAgent::facts() const {
  NodeFacts node;
  node.leads = leader_host_->leading();
  node.stops = stop_.signal != 0 || outcome_.has_value();
  node.workers = worker_processes(group_);
  if (node.leads) {
    node.status = [this] { return leader_host_->status(); };
    return node;
  }
  node.status = [this] {
    rendezvous::Hello hello;
    hello.run_id = job_.run_id;
    hello.secured = job_.secured;
    hello.purpose = rendezvous::Purpose::kObserver;
    const rendezvous::Message answer = member_->answer(doors_.loop.now(), hello);
    FollowerFacts facts;
    facts.run_id = job_.run_id;
    facts.job = context_.job;
    facts.node = context_.node;
    if (const auto* refuse = std::get_if<rendezvous::Refuse>(&answer)) {
      facts.reason = refuse->text;
      facts.last = refuse->last;
    }
    facts.state = to_string(member_->state());
    if (context_.progress != nullptr) facts.progress = context_.progress->json();
    if (const auto leader = member_->leader()) facts.leader_at = links_->peer(*leader);
    return follower_status(facts);
  };
  return node;
}

}  // namespace muster::launcher
