// StatusQuery: asks agents how their job is doing, one after the other, and follows the
// one that answers to its leader. It prints nothing (status_verb.h does).
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/resolver.h"
#include "base/socket.h"
#include "base/tls.h"
#include "rendezvous/dial.h"
#include "rendezvous/host_list.h"
#include "rendezvous/link.h"

namespace muster::launcher {

/// From the dial of one agent to its answer: a leader that is alive answers at once, so this only
/// bounds what is lost on one that is not.
inline constexpr Duration kAnswerDeadline = std::chrono::seconds(3);
/// An agent's leader may have changed since it was told of it: so often is a pointer followed.
inline constexpr int kMaxPointers = 3;

class StatusQuery {
 public:
  /// What came of it. `note`: why `json` is not the leader's word; "" = it is.
  struct Answer {
    std::string json;
    std::string note;
  };
  /// Errors: kPeer, nobody answers, with why for each of them; kConfig, an agent has another job
  /// secret, run id or version.
  using Done = std::function<void(Result<Answer>)>;

  /// What it borrows for its life. `tls` null = no job secret.
  struct Doors {
    Loop& loop;
    Network& network;
    Resolver& resolver;
    const TlsContext* tls;
  };
  /// `run_id` "" = whatever job it is. `agents` are not empty. `done` is called once, from the
  /// loop.
  StatusQuery(Doors doors, std::string run_id, std::vector<rendezvous::Candidate> agents,
              Done done);
  StatusQuery(const StatusQuery&) = delete;
  StatusQuery& operator=(const StatusQuery&) = delete;

 private:
  void ask_next();
  void greet(rendezvous::DialAnswer answer);
  void closed(const Error& error);
  void take(const rendezvous::Message& message);
  void take_status(const std::string& json);
  void give_up_on(const std::string& problem);
  void go_on();
  void finish(Result<Answer> result);

  Doors doors_;
  const std::string run_id_;
  std::deque<rendezvous::Candidate> waiting_;
  Done done_;
  rendezvous::Candidate asked_;
  bool open_ = false;  // to asked_
  int pointers_ = 0;
  std::optional<std::string> follower_;  // the answer of one that does not lead
  std::vector<std::string> problems_;    // one per agent that gave no answer
  std::unique_ptr<rendezvous::Dial> dial_;
  std::unique_ptr<rendezvous::Link> link_;
  Timer deadline_;
  Timer next_;  // the next question, from the loop: a link must not be destroyed by its own handler
};

}  // namespace muster::launcher
