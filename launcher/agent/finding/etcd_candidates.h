// EtcdCandidates: how a NodeAgent finds its leader with --rdzv-backend etcd. To the member there is
// one candidate, whoever leads; here is asked who that is, and this agent becomes it when nobody
// is. The decisions are rendezvous/etcd/etcd_election.h's; this carries them out.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/loop.h"
#include "base/resolver.h"
#include "base/socket.h"
#include "launcher/options/etcd_options.h"
#include "rendezvous/etcd/etcd_campaign.h"
#include "rendezvous/etcd/etcd_client.h"
#include "rendezvous/etcd/etcd_election.h"

namespace muster::launcher {

struct EtcdSelf {
  std::string run_id;
  std::string node;  ///< this node's name, for people
  std::string host;  ///< --local-addr; "" = the address from which etcd is dialled
  uint16_t port = 0;
  Duration lease{};  ///< of the job
};

/// From the loop, never from within a call of the owner's. All must be set.
struct EtcdHooks {
  std::function<void()> first = {};  ///< before anything is decided; as LeaderHostSetup::first
  std::function<bool()> may_lead;    ///< asked: would this agent lead now?
  // Exactly one of these three follows each find().
  std::function<void(const Address&)> follow;
  std::function<void(const Address& own, const rendezvous::EtcdOffice&)> lead;
  std::function<void(const std::string& reason)> nobody;
  std::function<void(const std::string& reason)> stop_leading;  ///< now
  std::function<void()> ended;
};

class EtcdCandidates {
 public:
  /// The references are borrowed for the life of the object.
  EtcdCandidates(Loop& loop, Resolver& resolver, Network& network, EtcdOptions options,
                 EtcdSelf self, EtcdHooks hooks);
  EtcdCandidates(const EtcdCandidates&) = delete;
  EtcdCandidates& operator=(const EtcdCandidates&) = delete;

  /// Who leads? Again while the answer is on its way: it counts for both.
  void find();
  void linked() { election_.linked(); }
  void refused() { election_.refused(); }
  /// Once per turn: whether a leader lives in this process, and whether it ended because every node
  /// knows how the job ended.
  void settle(bool leading, bool job_over);
  /// Gives up what is held, then calls hooks.ended, after a few seconds at most.
  void end();
  [[nodiscard]] bool ended() const { return election_.state() == rendezvous::EtcdState::kClosed; }
  /// Asked before every word of the leader in this process: is it still the one?
  [[nodiscard]] bool may_lead() const { return election_.may_lead(loop_.now()); }
  /// "etcd http://etcd-0:2379", for messages.
  [[nodiscard]] std::string name() const { return "etcd " + client_.name(); }

 private:
  void wake();
  void turn();
  void perform(const rendezvous::EtcdOutput& output);
  void ask();
  void on_asked(const Result<HttpResponse>& response);
  void campaign();
  void on_campaigned(const rendezvous::EtcdCampaignResult& result);
  void take_named(const rendezvous::EtcdEntry& entry);
  void keep_alive(const rendezvous::etcd_output::KeepAlive& leases);
  void on_kept(TimePoint sent);
  void resign(const rendezvous::etcd_output::Resign& leases);
  void withdraw();
  void revoke(int64_t lease, bool last);
  Status learn_own_address();

  Loop& loop_;
  const EtcdSelf self_;
  const rendezvous::EtcdTimes times_;
  const rendezvous::EtcdKeys keys_;
  EtcdHooks hooks_;
  Address own_address_;  // unset until etcd was reached
  rendezvous::EtcdClient client_;
  rendezvous::EtcdElection election_;
  std::unique_ptr<rendezvous::EtcdCampaign> campaign_;
  Result<Duration> kept_ = Duration::zero();  // by what has been answered of a renewal
  bool told_to_lead_ = false;                 // hooks.lead was called for this office
  Timer turn_;
};

}  // namespace muster::launcher
