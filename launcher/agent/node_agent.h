// NodeAgent: carries a job of many nodes through on this one. It drives a rendezvous::Member over
// its links to the candidates (candidate_links.h), hosts the leader when told to (leader_host.h),
// gives this node's workers (local_group.h) one life per round. Member and leader decide.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/signals.h"
#include "base/tls.h"
#include "launcher/agent/finding/candidate_links.h"
#include "launcher/agent/finding/candidate_list.h"
#include "launcher/agent/finding/etcd_candidates.h"
#include "launcher/agent/finding/network_finder.h"
#include "launcher/agent/health_check.h"
#include "launcher/agent/leading/leader_guide.h"
#include "launcher/agent/leading/leader_host.h"
#include "launcher/agent/leading/node_probes.h"
#include "launcher/agent/node_facts.h"
#include "launcher/agent/serving/job_store.h"
#include "launcher/frameworks/agent_context.h"
#include "launcher/frameworks/driver.h"
#include "launcher/report/failure_report.h"
#include "launcher/workers/local_group.h"
#include "rendezvous/member/member.h"

namespace muster::launcher {

class NodeAgent {
 public:
  NodeAgent(AgentDoors doors, AgentContext context, std::unique_ptr<FrameworkDriver> driver);
  NodeAgent(const NodeAgent&) = delete;
  NodeAgent& operator=(const NodeAgent&) = delete;

  /// Everything that must be right before the first round, then seeks the leader. After an error
  /// nothing was started.
  Status start();
  /// One signal of the signalfd.
  void handle_signal(const ReceivedSignal& signal);
  /// Called once: the job is over for this node, all it started is gone, all reports are written.
  void on_finished(std::function<void(int exit_code)> finished) { finished_ = std::move(finished); }
  /// For whoever asks how this node is (status_port).
  [[nodiscard]] NodeFacts facts() const;

 private:
  LocalGroupCallbacks group_callbacks();
  Status open_port();
  [[nodiscard]] std::string rank_note() const;
  void add_port_to_name();
  [[nodiscard]] std::string own_address() const;
  Status plan_etcd();
  void make_etcd();
  EtcdHooks etcd_hooks();
  DriverHost driver_host();
  void driver_prepared(const Status& status);
  [[nodiscard]] std::vector<rendezvous::Candidate> listed_nodes() const;
  void make_host();
  void make_member();
  void wake();
  void lease_first();
  void turn();
  void perform(const rendezvous::MemberOutput& output);
  void perform_round(const rendezvous::MemberOutput& output);

  CandidateEvents candidate_events();
  void dial(int candidate);
  bool take_port_of(int candidate);
  void ask_candidates(const rendezvous::leader_output::AskCandidates& question);
  void take_message(int candidate, const rendezvous::Message& message);
  void met_self(int candidate);
  void warn_of_twin(int first, int second);
  void refresh_candidates();
  void list_refreshed(ListAnswer answer);
  void take_leaders(const std::string& leaders);
  bool set_candidates(std::vector<rendezvous::Candidate> candidates,
                      const rendezvous::SelfDecision& self);
  void use_new_list();
  void seek();

  void prepare_round(const rendezvous::Assign& assign);
  void health_checked(const HealthVerdict& verdict);
  void tell_to_save(const rendezvous::member_output::NotifyWorkers& notice);
  void stop_workers(uint64_t round, Duration grace, const std::string& reason);
  void worker_failed(const elastic::FailureRecord& record, bool would_fail_again);
  void group_settled();
  void conclude_run();
  void request_stop(const ReceivedSignal& signal);
  [[nodiscard]] RunReport report() const;
  void leave_within(Duration time);
  void leave_when_told();

  struct StopRequest {
    int signal = 0;  // 0 = none came
    TimePoint when;
  };
  // What was said already, and is said again only when it changes.
  struct Told {
    std::string list_problem;
    std::string twin_names;
  };
  // What was said of the workers of a round.
  struct RoundWords {
    bool stop = false;     // they were told to
    bool save = false;     // they were told to, since another node leaves
    bool failure = false;  // the leader was told of one
  };

  AgentDoors doors_;
  AgentContext context_;
  std::function<void(int)> finished_;
  rendezvous::JobOptions job_;
  std::unique_ptr<TlsContext> tls_;
  CandidateList candidates_;
  std::optional<int> own_candidate_;  // as known when the port was opened
  std::string listen_host_;
  std::unique_ptr<JobStore> store_;
  std::unique_ptr<FrameworkDriver> driver_;
  NetworkFinder network_;  // of assign_
  HealthCheck health_;     // of assign_
  LocalGroup group_;
  std::unique_ptr<LeaderHost> leader_host_;
  std::unique_ptr<rendezvous::Member> member_;
  NodeProbes probes_;  // of the member
  std::unique_ptr<LeaderGuide> guide_;
  std::unique_ptr<CandidateLinks> links_;
  std::optional<EtcdOptions> etcd_options_;  // none: candidates_ are who may lead
  std::unique_ptr<EtcdCandidates> etcd_;     // as etcd_options_
  Told told_;
  std::vector<rendezvous::Candidate> read_list_;  // used once no leader is known; empty = no news
  std::vector<rendezvous::Candidate> told_list_;  // by an agent of the job; counts before that
  rendezvous::Assign assign_;                     // of the round that is current here
  RoundWords words_;                              // of the workers of that round
  bool leaving_ = false;                          // all reports are written
  std::optional<rendezvous::MemberOutcome> outcome_;
  TimePoint started_;
  std::optional<int> exit_code_;  // of the run, once it was reported
  StopRequest stop_;
  Timer turn_;
  Timer leave_timer_;
  Timer refresh_;
};

}  // namespace muster::launcher
