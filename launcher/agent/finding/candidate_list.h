// CandidateList: who may lead the job, in their order. The one place that finds it out, from the
// flags, a host file, the addresses of a service or the pod's own name. A file and a service name
// the nodes of the job, which may change. The first three of them that this node reads may lead,
// unless an agent of the job tells it of others (NodeAgent::take_leaders). Which of them leads is
// the members' decision; how they are reached is candidate_links.h's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/interfaces.h"
#include "base/loop.h"
#include "base/resolver.h"
#include "launcher/frameworks/driver.h"
#include "launcher/options/options.h"
#include "rendezvous/finding/host_list.h"
#include "rendezvous/finding/reachability.h"
#include "rendezvous/finding/self_candidate.h"
#include "rendezvous/messages/job_options.h"

namespace muster::launcher {

/// A node that knows of no round, and follows nobody, reads its host file or asks its service so
/// often: names that are not there yet may come.
inline constexpr Duration kListRefresh = std::chrono::seconds(2);

/// What looking at a host file or a service came to.
struct ListAnswer {
  std::vector<rendezvous::Candidate> candidates;  ///< empty: `problem` says why
  rendezvous::Reachability state = rendezvous::Reachability::kUnasked;  ///< of the service then
  std::string problem;
};

class CandidateList {
 public:
  /// All borrowed, but for `needs`.
  CandidateList(Loop& loop, Resolver& resolver, const Files& files, const Options& options,
                const rendezvous::JobOptions& job, FrameworkNeeds needs)
      : loop_(loop),
        resolver_(resolver),
        files_(files),
        options_(options),
        job_(job),
        needs_(std::move(needs)) {}
  CandidateList(const CandidateList&) = delete;
  CandidateList& operator=(const CandidateList&) = delete;

  /// False: this node is no candidate, whatever the list says.
  [[nodiscard]] bool may_lead() const { return needs_.leads != Leads::kNever; }
  /// Finds out who may lead. With --standalone that is this node. Else it is the first of these
  /// that was given: --rdzv-endpoint, --hosts, --master-addr with --master-port. Where none was, it
  /// is `host_name`, this node's, if no other may lead, else the pods whose names follow from it.
  /// kUsage: nothing of that, or not readable as such; kOs, kLimit: the host file.
  Status open(const std::string& host_name);

  /// All nodes of the job, as far as the user or the pod's own name lists them; a host file is read
  /// again. Empty: not known, or not to be read now.
  [[nodiscard]] std::vector<rendezvous::Candidate> listed() const;
  /// The same, or the addresses that the service had last.
  [[nodiscard]] std::vector<rendezvous::Candidate> everyone() const;
  /// Never empty after open(). Before the addresses of a service are known: the service itself.
  [[nodiscard]] const std::vector<rendezvous::Candidate>& current() const { return current_; }
  /// From a host file or a service: other nodes may have read another list, and a refresh() may
  /// bring one.
  [[nodiscard]] bool is_read() const { return file_ || service_; }
  [[nodiscard]] bool awaits_service() const { return current_.front().is_service; }

  /// Looks at the file or asks for the service's addresses; current() stays until adopt(). `done`
  /// is called once, also right away. A further call cancels.
  void refresh(std::function<void(ListAnswer)> done);
  void adopt(std::vector<rendezvous::Candidate> candidates) { current_ = std::move(candidates); }

  /// Which of `candidates` this node is, by what it knows of itself while its job port is `port`;
  /// none = none, or not known yet.
  [[nodiscard]] rendezvous::SelfDecision find_self(
      const std::vector<rendezvous::Candidate>& candidates, uint16_t port) const;
  /// One of current() is on the machine of this node, by its name or address.
  [[nodiscard]] bool is_beside_us() const;
  /// A note for people where all of current() is loopback, and nobody said that this is meant; else
  /// "". On several machines each node would find itself, and where fewer than all will do each
  /// would begin a job of its own.
  [[nodiscard]] std::string only_here() const;

 private:
  Status open_endpoints();
  Status open_hosts();
  Status open_master();
  [[nodiscard]] rendezvous::SelfFacts facts(uint16_t port) const;
  Status set(std::vector<rendezvous::Candidate> hosts);
  [[nodiscard]] bool names_all(const std::vector<rendezvous::Candidate>& hosts) const;
  [[nodiscard]] std::vector<rendezvous::Candidate> leaders(
      std::vector<rendezvous::Candidate> hosts) const;
  [[nodiscard]] rendezvous::HostListDefaults defaults() const;
  [[nodiscard]] ListAnswer answer_of(LookupAnswer answer);

  Loop& loop_;
  Resolver& resolver_;
  const Files& files_;
  const Options& options_;
  const rendezvous::JobOptions& job_;
  const FrameworkNeeds needs_;
  std::string host_name_;
  bool file_ = false;
  std::optional<rendezvous::Candidate> service_;
  TimePoint all_until_;  // until then every node's address of the service is waited for
  std::vector<rendezvous::Candidate> current_;
  std::vector<rendezvous::Candidate> all_;         // listed(), but for a file
  std::vector<rendezvous::Candidate> of_service_;  // as it was looked up last
  Lookup lookup_;
};

/// "worker-0:29400", ...
[[nodiscard]] std::vector<std::string> names_of(
    const std::vector<rendezvous::Candidate>& candidates);

}  // namespace muster::launcher
