// CandidateLinks: this agent's way to the nodes that may lead the job: one link to each, dialled by
// name, and which of them this node itself is. What is said over a link is the member's business,
// where the list comes from candidate_list.h's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/resolver.h"
#include "base/socket.h"
#include "base/tls.h"
#include "launcher/agent/finding/own_host.h"
#include "rendezvous/finding/discovery.h"
#include "rendezvous/member/member.h"
#include "rendezvous/wire/link.h"

namespace muster::launcher {

/// What becomes of the links; from the loop. Candidates are indexes of the current list.
struct CandidateEvents {
  std::function<void(int candidate)> connected;
  std::function<void(int candidate, rendezvous::DialFailure, const std::string& why)> failed;
  std::function<void(int candidate, const std::string& why)> closed;
  std::function<void()> ended;  ///< a link that was closed here is gone: sweep()
  std::function<void(int candidate, const rendezvous::Message&)> message;
  /// A dial came back to this very agent: it is that candidate, under a name it did not know.
  std::function<void(int candidate)> met_self;
  /// The link within the process to the leader that lives here; null when none does.
  std::function<std::unique_ptr<rendezvous::Link>(const std::string&, rendezvous::LinkHandlers)>
      connect_self;
};

struct CandidateLinksSetup {
  const TlsContext* tls = nullptr;  ///< borrowed as the doors are; null = no job secret
  std::string local_addr;           ///< numeric --local-addr, else ""
  Duration join_timeout{};          ///< for the waiting lines
  std::string local_name = {};      ///< --local-addr that is a name, else ""
};

class CandidateLinks {
 public:
  CandidateLinks(Loop& loop, Network& network, Resolver& resolver, CandidateLinksSetup setup,
                 CandidateEvents events);
  CandidateLinks(const CandidateLinks&) = delete;
  CandidateLinks& operator=(const CandidateLinks&) = delete;

  /// From now on these; links and dials to the former ones end without a word. `own`: which of them
  /// this node is, if known.
  void set_candidates(std::vector<rendezvous::Candidate> candidates, std::optional<int> own);
  [[nodiscard]] std::optional<int> own() const { return own_; }

  /// Looks the name up afresh and connects; `connected` or `failed` follows: with a local_name once
  /// that is known, unless it is a candidate's.
  void dial(int candidate);
  /// This node as others reach it. Its problem() is why nobody was dialled.
  [[nodiscard]] OwnHost& own_host() { return own_host_; }
  /// Ignored where no link is open. A Join without a host gets the one under which peers reach us.
  void send(int candidate, rendezvous::Message message);
  /// What is known of a candidate that was not dialled, for the waiting lines.
  void note(int candidate, rendezvous::Reachability state);
  /// The address at the other end of an open link.
  [[nodiscard]] std::optional<std::string> peer(int candidate);
  void close(int candidate, const std::string& reason);
  void close_all(const std::string& reason);
  /// Lines about who is missing, at growing intervals, while `waiting`.
  void set_waiting(bool waiting);

  /// Forgets what has ended; not from within an event.
  void sweep();
  void drop_all() { links_.clear(); }
  [[nodiscard]] bool empty() const { return links_.empty(); }

 private:
  /// One link. The number tells it from an earlier one to the same candidate.
  struct Entry {
    uint64_t number = 0;
    int candidate = 0;
    // heard: a message, so it speaks our protocol
    bool open = false;
    bool heard = false;
    bool leaving = false;  ///< we closed it: the member has forgotten it
    bool ended = false;
    std::string own_host;  ///< our end's address
    std::unique_ptr<rendezvous::Link> link;
  };

  void connect(int candidate);
  void dial_self(int candidate);
  void connect_self(int candidate);
  void reached(int candidate, rendezvous::DialAnswer answer);
  void met_self(int candidate);
  Entry& add(int candidate);
  rendezvous::LinkHandlers handlers_of(uint64_t number);
  void ended(Entry& entry, const Error& error);
  Entry* link_to(int candidate);
  Entry* link_numbered(uint64_t number);

  Loop& loop_;
  Network& network_;
  Resolver& resolver_;
  CandidateLinksSetup setup_;
  CandidateEvents events_;
  std::vector<rendezvous::Candidate> candidates_;
  std::optional<int> own_;
  OwnHost own_host_;
  std::vector<int> held_;  // are dialled once local_name is known
  std::unique_ptr<rendezvous::Discovery> discovery_;
  std::vector<Entry> links_;
  uint64_t next_number_ = 1;
  std::optional<TimePoint> waiting_until_;
};

}  // namespace muster::launcher
