// LeaderHost: the control connections that this agent accepts, and the job's leader while it lives
// in this process. It carries out what rendezvous/leader/leader.h says; it decides nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/socket.h"
#include "base/strangers.h"
#include "base/tls.h"
#include "elastic/round_policy.h"
#include "launcher/agent/leading/accepted_links.h"
#include "launcher/agent/leading/arrivals.h"
#include "launcher/agent/leading/node_probes.h"
#include "launcher/timeline/job_timeline.h"
#include "rendezvous/finding/missing_hosts.h"
#include "rendezvous/leader/leader.h"
#include "rendezvous/wire/link.h"

namespace muster::launcher {

/// Everything is borrowed or copied for the life of the host.
struct LeaderHostSetup {
  const rendezvous::JobOptions& options;
  elastic::RoundPolicyOptions policy;
  uint64_t seed = 0;                ///< of the policy's jitter
  const TlsContext* tls = nullptr;  ///< null = no job secret
  /// The answer to an agent that greets while nobody leads here.
  std::function<rendezvous::Message(const rendezvous::Hello&)> answer;
  /// Somebody has another job secret than this agent, in words, while nobody leads here.
  std::function<void(const std::string&)> misfit = {};
  /// The leader here asks leader_output::AskCandidates; told() is the answer. Empty = nobody leads
  /// here.
  std::function<void(const rendezvous::leader_output::AskCandidates&)> ask = {};
  /// What an observer is told: status_answer.h.
  std::function<std::string()> status;
  std::function<std::string()> job;  ///< what it is called
  /// What the workers of this node say of how far they are, as JSON; "" = nothing. Empty = the
  /// same.
  std::function<std::string()> progress = {};
  /// What an observer asks for while nobody leads here; empty = it is told the status, which says
  /// who leads.
  std::function<Status(const rendezvous::JobCommand&, const std::string& by)> command = {};
  /// Hears what the leader here does; null = nobody does.
  JobTimeline* timeline = nullptr;
  /// From the loop: the leader went, or a link is closed.
  std::function<void()> changed;
  /// The first node from elsewhere joins, and came to this numeric address of this machine: the
  /// others reach it there, too. Empty = nobody wants to know.
  std::function<void(const std::string& host)> reached_at = {};
  /// Called before the leader here decides anything: an agent that was frozen ends its own workers
  /// first. Empty = there are none.
  std::function<void()> first = {};
  /// Asked before every word of the leader here: false ends it on the spot. Empty = always.
  std::function<bool()> may_lead = {};
  /// MissingHostsSetup::listed, and who looks names up; none = nobody is missed here.
  std::function<std::vector<rendezvous::Candidate>()> listed;
  Resolver& resolver;
  uint64_t incarnation = 0;       ///< of this agent: who greets with it is this agent itself
  std::string missing_hint = {};  ///< what may help where listed hosts are missing; "" = nothing
};

class LeaderHost {
 public:
  LeaderHost(Loop& loop, Network& network, LeaderHostSetup setup);
  LeaderHost(const LeaderHost&) = delete;
  LeaderHost& operator=(const LeaderHost&) = delete;

  /// A control connection from the job port.
  void adopt(Arrival arrival);
  /// This node's own link to the leader here; null when nobody leads here.
  std::unique_ptr<rendezvous::Link> connect(const std::string& name,
                                            rendezvous::LinkHandlers handlers);
  void lead(rendezvous::LeaderSeed seed);
  /// The answer to setup.ask, for the leader here, if there is one.
  void told(rendezvous::CandidateAnswers answers);
  /// As Leader::on_own_host().
  void set_own_host(const std::string& host);
  /// How many nodes the list of hosts asks for, of this and later leaders here; none = it asks for
  /// nothing. Not one of the allowed sizes: ignored.
  void follow_list(std::optional<int> nodes);
  /// Leads no more and decides nothing more; links that greet from now on get `answer`.
  void stop(const std::string& reason);
  /// Closes all links after what was sent to them.
  void close_links(const std::string& reason);

  /// Leader::nodes(); empty when nobody leads here.
  [[nodiscard]] std::vector<rendezvous::RosterEntry> nodes() const;
  /// What an observer is told.
  [[nodiscard]] std::string status() const;
  [[nodiscard]] bool leading() const { return leader_ != nullptr; }
  /// The last leader here ended because every node knows how the job ended.
  [[nodiscard]] bool job_over() const { return job_over_; }
  [[nodiscard]] bool has_links() const { return !links_.empty(); }

 private:
  rendezvous::LinkHandlers handlers_of(rendezvous::LinkId id);
  void take(rendezvous::LinkId id, const rendezvous::Message& message);
  [[nodiscard]] bool is_own(rendezvous::LinkId id, const rendezvous::Hello* hello) const;
  void greet(rendezvous::LinkId id, const rendezvous::Message& message);
  [[nodiscard]] rendezvous::Message answer(const rendezvous::Hello& hello);
  void wake();
  void turn();
  [[nodiscard]] bool may_speak();
  void perform(const rendezvous::LeaderOutput& output);
  void perform_or_put_off(rendezvous::LeaderOutput output);
  void answer_at_once();
  void lead_on();
  void catch_up();
  void perform_rest();

  Loop& loop_;
  LeaderHostSetup setup_;
  std::unique_ptr<elastic::RoundPolicy> policy_;
  std::unique_ptr<rendezvous::Leader> leader_;
  AcceptedLinks links_;
  rendezvous::LinkId own_link_ = 0;  // this node's
  Arrivals arrivals_;
  NodeProbes probes_;               // of the leader here
  std::optional<std::string> end_;  // why the leader goes at the end of the turn
  // the leader itself has logged it
  bool job_over_ = false;
  bool said_why_ = false;
  std::optional<int> listed_;
  rendezvous::MissingHosts missing_;
  bool woken_ = false;  // turn_ is due at once
  Timer turn_;
  std::vector<rendezvous::LeaderOutput> rest_;  // of what the leader said, in order: can_wait()
  Timer catch_up_;
};

}  // namespace muster::launcher
