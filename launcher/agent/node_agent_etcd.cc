// A NodeAgent whose leader is elected through etcd: to its member there is one candidate, whoever
// leads, and the links are told where that is each time it is sought.
#include <utility>

#include "launcher/agent/node_agent.h"
#include "launcher/options/rendezvous_values.h"

namespace muster::launcher {

namespace {

rendezvous::Candidate candidate_at(const Address& address) {
  rendezvous::Candidate candidate;
  candidate.host = address.host;
  candidate.port = address.port;
  return candidate;
}

}  // namespace

// Before the port is open: no endpoint tells where this agent is to listen. Where etcd is on
// loopback no other machine takes part.
Status NodeAgent::plan_etcd() {
  auto etcd = etcd_options(context_.options, doors_.files);
  if (!etcd) return std::move(etcd).error();
  const std::string& host = etcd->servers.endpoints.front().host;
  const bool local = host == "localhost" || Address{host, 0}.is_loopback();
  const std::string own = own_address();
  const std::string listens = !own.empty() ? own : local ? "127.0.0.1" : "::";
  candidates_.adopt({candidate_at({listens, kDefaultRendezvousPort})});
  etcd_options_ = std::move(*etcd);
  return {};
}

void NodeAgent::make_etcd() {
  EtcdSelf self{.run_id = context_.options.run_id,
                .node = context_.node,
                .host = own_address(),
                .port = store_->address().port,
                .lease = job_.lease};
  etcd_ = std::make_unique<EtcdCandidates>(doors_.loop, doors_.resolver, doors_.network,
                                           *etcd_options_, std::move(self), etcd_hooks());
  own_candidate_.reset();  // nobody is one before it was elected
}

EtcdHooks NodeAgent::etcd_hooks() {
  return {.first = [this] { lease_first(); },
          .may_lead = [this] { return member_->may_lead(); },
          .follow =
              [this](const Address& leader) {
                links_->set_candidates({candidate_at(leader)}, std::nullopt);
                links_->dial(0);
                wake();
              },
          .lead =
              [this](const Address& own, const rendezvous::EtcdOffice& office) {
                links_->set_candidates({candidate_at(own)}, 0);
                member_->on_elected(doors_.loop.now(),
                                    {.number = static_cast<uint64_t>(office.revision),
                                     .first = office.first,
                                     .after = static_cast<uint64_t>(office.after)});
                wake();
              },
          .nobody =
              [this](const std::string& reason) {
                if (!outcome_) {
                  member_->on_dial_failed(doors_.loop.now(), 0, rendezvous::DialFailure::kNoAnswer,
                                          reason);
                }
                wake();
              },
          .stop_leading = [this](const std::string& reason) { leader_host_->stop(reason); },
          .ended = [this] { wake(); }};
}

}  // namespace muster::launcher
