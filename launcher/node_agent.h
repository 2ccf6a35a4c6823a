// NodeAgent: carries a job of many nodes through on this one. It drives a rendezvous::Member, owns
// its links to the candidates, hosts the leader when told to (leader_host.h) and gives this node's
// workers (local_group.h) one life per round. The decisions are the member's and the leader's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/signals.h"
#include "base/tls.h"
#include "launcher/agent_context.h"
#include "launcher/failure_report.h"
#include "launcher/job_store.h"
#include "launcher/leader_host.h"
#include "launcher/local_group.h"
#include "rendezvous/member.h"

namespace muster::launcher {

class NodeAgent {
 public:
  NodeAgent(AgentDoors doors, AgentContext context);
  NodeAgent(const NodeAgent&) = delete;
  NodeAgent& operator=(const NodeAgent&) = delete;

  /// Everything that must be right before the first round, then seeks the leader. An error means
  /// that nothing was started.
  Status start();
  /// One signal of the signalfd.
  void handle_signal(const ReceivedSignal& signal);
  /// Called once, when the job is over for this node, everything it started is gone and all reports
  /// are written.
  void on_finished(std::function<void(int exit_code)> finished) { finished_ = std::move(finished); }

 private:
  /// One dialled link. The number tells it from an earlier one to the same candidate.
  struct CandidateLink {
    uint64_t number = 0;
    int candidate = 0;
    bool open = false;
    bool leaving = false;  ///< we closed it: the member has forgotten it
    bool ended = false;
    std::unique_ptr<rendezvous::Link> link;
  };

  LocalGroupCallbacks group_callbacks();
  Status read_secret();
  Status open_port();
  Result<bool> open_port_at(const Address& address);
  void make_host();
  void make_member();
  [[nodiscard]] std::string status() const;
  [[nodiscard]] uint64_t random_number() const;

  void wake();
  void turn();
  void perform(const rendezvous::MemberOutput& output);
  void perform_round(const rendezvous::MemberOutput& output);

  void dial(int candidate);
  rendezvous::LinkHandlers handlers_of(uint64_t number);
  void link_closed(CandidateLink& link, const Error& error);
  void send(int candidate, rendezvous::Message message);
  void close_link(int candidate, const std::string& reason);
  CandidateLink* link_to(int candidate);
  CandidateLink* link_numbered(uint64_t number);

  void prepare_round(const rendezvous::Assign& assign);
  void stop_workers(uint64_t round, Duration grace, const std::string& reason);
  void worker_failed(const elastic::FailureRecord& record, bool would_fail_again);
  void group_finished();
  void request_stop(const ReceivedSignal& signal);
  [[nodiscard]] RunReport report() const;
  void leave_when_told();

  AgentDoors doors_;
  AgentContext context_;
  std::function<void(int)> finished_;
  rendezvous::JobOptions job_;
  std::unique_ptr<TlsContext> tls_;
  std::vector<Address> candidates_;
  std::optional<int> own_candidate_;
  std::string listen_host_;
  std::unique_ptr<JobStore> store_;
  LocalGroup group_;
  std::unique_ptr<LeaderHost> host_;
  std::unique_ptr<rendezvous::Member> member_;
  std::vector<CandidateLink> links_;
  uint64_t next_number_ = 1;

  rendezvous::Assign assign_;  // of the round that is current here
  bool ordered_to_stop_ = false;
  std::optional<rendezvous::MemberOutcome> outcome_;
  bool leaving_ = false;  // all reports are written
  int exit_code_ = 0;
  int stop_signal_ = 0;
  TimePoint stop_requested_;
  Timer turn_;
  Timer leave_timer_;
};

}  // namespace muster::launcher
