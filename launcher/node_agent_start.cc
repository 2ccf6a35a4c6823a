// How a NodeAgent begins: the job's secret, its port, its place among the candidates.
#include <cerrno>
#include <variant>

#include "base/log.h"
#include "launcher/flags.h"
#include "launcher/job_secret.h"
#include "launcher/job_setup.h"
#include "launcher/node_agent.h"
#include "launcher/status_answer.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kDisableSharingVariable = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE";

}  // namespace

Status NodeAgent::start() {
  const Options& options = context_.options;
  if (parse_boolean(context_.environment.get(kDisableSharingVariable).value_or("")) == true) {
    return Error{Code::kConfig, 0,
                 std::string(kDisableSharingVariable) +
                     "=1 with more than one node: the store is served by the agent"};
  }
  if (options.backend == RendezvousBackend::kEtcd)
    return Error{Code::kConfig, 0, "--rdzv-backend etcd is not supported; use c10d or static"};
  if (options.local_addr && !parse_numeric_host(*options.local_addr)) {
    return Error{Code::kUsage, 0,
                 "--local-addr '" + *options.local_addr + "': must be a numeric address"};
  }
  MUSTER_RETURN_IF_ERROR(read_secret());
  auto job = job_options(options, tls_ != nullptr);
  if (!job) return std::move(job).error();
  job_ = std::move(*job);
  auto candidates = candidate_addresses(options);
  if (!candidates) return std::move(candidates).error();
  candidates_ = std::move(*candidates);
  MUSTER_RETURN_IF_ERROR(open_port());
  // At least two workers, as far as prefixes go: other nodes have some, too.
  MUSTER_RETURN_IF_ERROR(group_.open(2));
  log::info("job.start", {{"run_id", options.run_id},
                          {"node", context_.node},
                          {"port", store_->address().to_string()},
                          {"min_nodes", options.min_nodes},
                          {"max_nodes", options.max_nodes},
                          {"workers", group_.plan().local_world_size()},
                          {"command", options.program}});
  for (const std::string& notice : group_.plan().notices())
    log::info("job.notice", {{"text", notice}});
  make_host();
  make_member();
  wake();
  return {};
}

Status NodeAgent::read_secret() {
  auto key = read_job_secret(context_.environment, doors_.files);
  if (!key) return std::move(key).error();
  if (!*key) return {};
  auto tls = TlsContext::create(**key);
  if (!tls) return std::move(tls).error();
  tls_ = std::move(*tls);
  return {};
}

// True: this node has the port now. False: another process has it.
Result<bool> NodeAgent::open_port_at(const Address& address) {
  auto store = JobStore::listen_on(doors_.loop, doors_.network, address);
  if (!store && store.error().os_errno == EADDRINUSE) return false;
  if (!store) return std::move(store).error();
  store_ = std::move(*store);
  return true;
}

// A candidate is who has its port on its address; of several agents on one machine, the first.
Status NodeAgent::open_port() {
  const Options& options = context_.options;
  const Address& first = candidates_.front();
  const std::string own_host = options.local_addr.value_or("");
  const bool local = own_host.empty() ? first.is_loopback() : Address{own_host, 0}.is_loopback();
  listen_host_ = !local ? "::" : own_host.empty() ? first.host : own_host;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    const Address& candidate = candidates_[i];
    const bool known = job_.known_nodes;
    const bool ours = known              ? options.node_rank == static_cast<int>(i)
                      : own_host.empty() ? doors_.network.listen({candidate.host, 0}).has_value()
                                         : candidate.host == own_host;
    if (!ours) continue;
    auto opened = open_port_at({local ? candidate.host : listen_host_, candidate.port});
    if (!opened) return std::move(opened).error();
    if (!*opened) continue;
    own_candidate_ = static_cast<int>(i);
    return {};
  }
  auto opened = open_port_at({listen_host_, first.port});
  if (opened && !*opened) {
    opened = open_port_at({listen_host_, 0});
    // Two agents on one machine are two nodes.
    if (opened && options.nodes.name.empty())
      context_.node += ":" + std::to_string(store_->address().port);
  }
  if (!opened) return std::move(opened).error();
  return {};
}

void NodeAgent::make_host() {
  host_ = std::make_unique<LeaderHost>(
      doors_.loop, doors_.network,
      LeaderHostSetup{
          .options = job_,
          .policy = round_policy_options(context_.options),
          .seed = random_number(),
          .tls = tls_.get(),
          .answer = [this](const rendezvous::Hello& hello) { return member_->answer(hello); },
          .status = [this] { return status(); },
          .changed = [this] { wake(); }});
  const auto adopt = [this](UniqueFd connection, std::string first_bytes) {
    host_->adopt(std::move(connection), std::move(first_bytes));
  };
  store_->serve(rendezvous::Protocol::kControl, adopt);
  store_->serve(rendezvous::Protocol::kTls, adopt);
  if (!tls_ && !candidates_.front().is_loopback()) {
    log::warning("job.no_secret", {{"action",
                                    "whoever reaches the job port can join or end the "
                                    "job; MUSTER_JOB_SECRET_FILE protects it"}});
  }
}

void NodeAgent::make_member() {
  const Options& options = context_.options;
  rendezvous::MemberSetup setup;
  setup.self.identity = {context_.node, std::nullopt, random_number()};
  setup.self.host = options.local_addr.value_or("");
  if (setup.self.host.empty() && own_candidate_)
    setup.self.host = candidates_.at(static_cast<size_t>(*own_candidate_)).host;
  setup.self.port = store_->address().port;
  setup.self.local_world_size = group_.plan().local_world_size();
  setup.self.role = options.role;
  if (job_.known_nodes) setup.self.node_rank = options.node_rank;
  setup.self.candidate = own_candidate_;
  for (const Address& candidate : candidates_) setup.candidates.push_back(candidate.to_string());
  setup.jitter = static_cast<double>(random_number() % 1024) / 1024;
  member_ = std::make_unique<rendezvous::Member>(doors_.loop.now(), job_, std::move(setup));
}

// What an observer hears while nobody leads here: the member knows whom to ask instead.
std::string NodeAgent::status() const {
  rendezvous::Hello hello;
  hello.run_id = job_.run_id;
  hello.secured = job_.secured;
  hello.purpose = rendezvous::Purpose::kObserver;
  const rendezvous::Message answer = member_->answer(hello);
  FollowerFacts facts;
  facts.run_id = job_.run_id;
  facts.node = context_.node;
  if (const auto* refuse = std::get_if<rendezvous::Refuse>(&answer)) {
    facts.reason = refuse->text;
    facts.last = refuse->last;
    if (refuse->leader)
      facts.leader_at = candidates_.at(static_cast<size_t>(*refuse->leader)).to_string();
  }
  return follower_status(facts);
}

// The token is 128 random bits in hex; its first half is as good a number as any.
uint64_t NodeAgent::random_number() const {
  uint64_t number = 0;
  for (const char digit : context_.token.substr(0, 16))
    number = number * 16 + static_cast<uint64_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
  return number;
}

}  // namespace muster::launcher
