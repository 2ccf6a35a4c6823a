#include "launcher/agent/finding/candidate_list.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/interfaces.h"
#include "base/text.h"
#include "launcher/options/flags.h"
#include "launcher/options/rendezvous_values.h"
#include "rendezvous/finding/discovery.h"
#include "rendezvous/messages/job_settings.h"
#include "rendezvous/messages/node_identity.h"

namespace muster::launcher {

namespace {

using rendezvous::Candidate;

constexpr const char* kLoopback = "127.0.0.1";
constexpr Duration kServiceLookup = std::chrono::seconds(5);
constexpr int kDefaultMasterPort = 29'500;  // torchrun's

Error usage(std::string text) { return {Code::kUsage, 0, std::move(text)}; }

// As on the command line: "--nnodes 1:2", "--nnodes 1 --spares 1".
std::string size_text(const rendezvous::JobOptions& job) {
  std::vector<std::string> words;
  for (const rendezvous::Setting& setting : rendezvous::told_settings(job)) {
    if (setting.flag == "--nnodes" || setting.flag == "--spares")
      words.push_back(setting.flag + " " + setting.value);
  }
  return join(words, " ");
}

// To whoever typed a list, one that is too long is as wrong as one that cannot be read.
Error wrong_value(std::string_view flag, Error error) {
  if (error.code == Code::kLimit) error.code = Code::kUsage;
  return std::move(error).with_context(flag);
}

}  // namespace

Status CandidateList::open(const std::string& host_name) {
  host_name_ = host_name;
  if (options_.standalone) return set({{.host = kLoopback, .port = 0}});
  if (!options_.rdzv_endpoint.empty()) return open_endpoints();
  if (!options_.nodes.hosts.empty()) return open_hosts();
  const bool local_master =
      job_.known_nodes && options_.personality == Personality::kTorchrun;  // as torchrun has it
  if (!options_.master_addr.empty() || local_master) return open_master();
  const std::string full = full_host_name(files_, host_name);
  if (needs_.leads == Leads::kAlone)
    return set({{.host = full, .port = static_cast<uint16_t>(kDefaultRendezvousPort)}});
  auto hosts = rendezvous::hosts_by_index(full, job_.max_nodes, kDefaultRendezvousPort);
  if (!hosts && job_.known_nodes) {
    return usage(
        fmt::format("--nnodes {} --rdzv-backend static: where node rank 0 is is not known: give "
                    "--master-addr HOST [--master-port PORT], the same on every node",
                    job_.max_nodes));
  }
  if (!hosts) {
    return usage(
        fmt::format("{}: where the nodes are is not known: give --rdzv-endpoint "
                    "HOST:PORT[,HOST:PORT...] or --hosts, the same on every node ({})",
                    size_text(job_), hosts.error().text));
  }
  return set(std::move(*hosts));
}

rendezvous::HostListDefaults CandidateList::defaults() const {
  return {kDefaultRendezvousPort, job_.max_nodes};
}

Status CandidateList::open_endpoints() {
  auto hosts = rendezvous::parse_host_list(options_.rdzv_endpoint, defaults());
  if (!hosts) return wrong_value("--rdzv-endpoint", std::move(hosts).error());
  return set(std::move(*hosts));
}

Status CandidateList::open_hosts() {
  auto hosts = rendezvous::read_hosts(files_, options_.nodes.hosts, defaults());
  if (!hosts) return wrong_value("--hosts", std::move(hosts).error());
  file_ = options_.nodes.hosts.starts_with('@');
  const bool service = std::ranges::any_of(*hosts, &Candidate::is_service);
  // A file may grow.
  if (!file_ && !service && hosts->size() < static_cast<size_t>(job_.min_nodes)) {
    return usage(fmt::format("--hosts {}: {}, but the job needs {}: list all nodes",
                             options_.nodes.hosts, counted(hosts->size(), "node", "nodes"),
                             job_.min_nodes));
  }
  return set(std::move(*hosts));
}

Status CandidateList::open_master() {
  const std::string& host = options_.master_addr.empty() ? kLoopback : options_.master_addr;
  auto checked = rendezvous::check_host_name(host);
  if (!checked) return std::move(checked).error().with_context("--master-addr " + host);
  Candidate master;
  master.host = parse_numeric_host(host).value_or(host);
  master.port = static_cast<uint16_t>(options_.master_port.value_or(kDefaultMasterPort));
  return set({std::move(master)});
}

// A short list of endpoints is one of candidates, other lists are of all nodes.
bool CandidateList::names_all(const std::vector<Candidate>& hosts) const {
  return options_.rdzv_endpoint.empty() || hosts.size() > rendezvous::kMaxCandidates;
}

std::vector<Candidate> CandidateList::listed() const {
  if (!file_) return all_;
  auto hosts = rendezvous::read_hosts(files_, options_.nodes.hosts, defaults());
  return hosts ? std::move(*hosts) : std::vector<Candidate>{};
}

std::vector<Candidate> CandidateList::everyone() const { return service_ ? of_service_ : listed(); }

std::vector<Candidate> CandidateList::leaders(std::vector<Candidate> hosts) const {
  if (names_all(hosts) && hosts.size() > rendezvous::kLeadersOfHosts)
    hosts.resize(rendezvous::kLeadersOfHosts);
  for (Candidate& host : hosts) {
    if (to_lower(host.host) == "localhost") host.host = kLoopback;
  }
  return hosts;
}

Status CandidateList::set(std::vector<Candidate> hosts) {
  for (const Candidate& host : hosts) {
    if (rendezvous::most_nodes(job_) > 1 && (host.host == "0.0.0.0" || host.host == "::")) {
      return usage(host.to_string() +
                   ": an address to listen on, which no other node can dial: give the name or the "
                   "address of the node that leads");
    }
  }
  const auto service = std::find_if(hosts.begin(), hosts.end(),
                                    [](const Candidate& host) { return host.is_service; });
  if (service == hosts.end()) {
    // As many endpoints as nodes are all of them, too.
    const bool all = names_all(hosts) || hosts.size() >= static_cast<size_t>(job_.max_nodes);
    if (hosts.size() > 1 && all) all_ = hosts;
    current_ = leaders(std::move(hosts));
    return {};
  }
  if (hosts.size() > 1) return usage(service->to_string() + ": a service must be the only entry");
  service_ = *service;
  all_until_ = loop_.now() + std::min(job_.last_call, job_.join_timeout);
  current_ = std::move(hosts);
  return {};
}

void CandidateList::refresh(std::function<void(ListAnswer)> done) {
  if (service_) {
    lookup_ = resolver_.resolve(service_->host, kServiceLookup,
                                [this, done = std::move(done)](LookupAnswer answer) {
                                  done(answer_of(std::move(answer)));
                                });
    return;
  }
  auto hosts = rendezvous::read_hosts(files_, options_.nodes.hosts, defaults());
  if (!hosts) return done({{}, {}, hosts.error().text});
  done({leaders(std::move(*hosts)), {}, ""});
}

// All nodes must come to one order, so all addresses are waited for as long as nodes may still come
// to the first round anyway.
ListAnswer CandidateList::answer_of(LookupAnswer answer) {
  if (answer.status != LookupStatus::kFound)
    return {{}, rendezvous::state_of_failed(answer.status), std::move(answer.reason)};
  const int wanted = loop_.now() < all_until_ ? job_.max_nodes : job_.min_nodes;
  const size_t count = answer.addresses.size();
  if (awaits_service() && count < static_cast<size_t>(wanted)) {
    return {{},
            rendezvous::Reachability::kFewAddresses,
            fmt::format("look up {}: {} of {} addresses", service_->host, count, wanted)};
  }
  rendezvous::sort_numeric_hosts(answer.addresses);
  of_service_.clear();
  for (std::string& host : answer.addresses)
    of_service_.push_back({std::move(host), service_->port, 0, false});
  ListAnswer list;
  list.candidates.assign(
      of_service_.begin(),
      of_service_.begin() + static_cast<ptrdiff_t>(std::min(count, rendezvous::kLeadersOfHosts)));
  return list;
}

rendezvous::SelfDecision CandidateList::find_self(const std::vector<Candidate>& candidates,
                                                  uint16_t port) const {
  if (!may_lead()) return {std::nullopt, needs_.leads_reason};
  if (job_.known_nodes) {
    const int rank = options_.node_rank.value_or(0);
    const bool ours = static_cast<size_t>(rank) < candidates.size();
    return {ours ? std::optional<int>(rank) : std::nullopt, "--node-rank"};
  }
  const auto is_host = options_.rdzv_conf.find("is_host");
  if (is_host != options_.rdzv_conf.end() && candidates.size() == 1) {
    const bool ours = parse_boolean(is_host->second) == true;
    return {ours ? std::optional<int>(0) : std::nullopt, "--rdzv-conf is_host"};
  }
  std::vector<rendezvous::ResolvedCandidate> known;
  for (const Candidate& candidate : candidates) known.push_back({candidate, {}});
  return rendezvous::find_self(known, facts(port));
}

bool CandidateList::is_beside_us() const {
  const rendezvous::SelfFacts own = facts(0);
  return std::any_of(current_.begin(), current_.end(), [&own](const Candidate& candidate) {
    const rendezvous::ResolvedCandidate alone{candidate, {}};
    return rendezvous::find_self({&alone, 1}, own).candidate.has_value();
  });
}

std::string CandidateList::only_here() const {
  const auto here = [](const Candidate& candidate) {
    return Address{candidate.host, candidate.port}.is_loopback();
  };
  const bool elected = options_.backend == RendezvousBackend::kEtcd;
  if (options_.local_addr || elected || current_.empty() || !std::ranges::all_of(current_, here))
    return "";
  return "only nodes of this machine find the endpoint " +
         Address{current_.front().host, current_.front().port}.to_string();
}

rendezvous::SelfFacts CandidateList::facts(uint16_t port) const {
  const auto interfaces = interface_addresses();
  return {.host_name = host_name_,
          .interfaces = interfaces ? *interfaces : std::vector<InterfaceAddress>{},
          .local_addr = options_.local_addr.value_or(""),
          .port = port};
}

std::vector<std::string> names_of(const std::vector<rendezvous::Candidate>& candidates) {
  std::vector<std::string> names;
  names.reserve(candidates.size());
  for (const auto& candidate : candidates) names.push_back(candidate.to_string());
  return names;
}

}  // namespace muster::launcher
