// AgentQuery: asks agents of a job one after the other, and follows the one that answers to its
// leader. What verbs that ask so have in common is here as well; they print (status_verb.h,
// scale_verb.h).
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "base/loop.h"
#include "base/resolver.h"
#include "base/socket.h"
#include "base/tls.h"
#include "rendezvous/finding/dial.h"
#include "rendezvous/finding/host_list.h"
#include "rendezvous/messages/agent_messages.h"
#include "rendezvous/wire/link.h"

namespace muster::launcher {

/// From the dial of one agent to its answer: a leader that is alive answers at once, so this only
/// bounds what is lost on one that is not.
inline constexpr Duration kAnswerDeadline = std::chrono::seconds(3);
/// An agent's leader may have changed since it was told of it: so often is a pointer followed.
inline constexpr int kMaxPointers = 3;

/// What is asked of whom.
struct AgentQuestion {
  std::vector<rendezvous::Candidate> agents;  ///< in turn; not empty
  std::string run_id;                         ///< "" = whatever job it is
  std::optional<int> target = {};  ///< how many nodes the job shall have (Hello::target); none = no
                                   ///< more than how it is doing
  std::string asker = {};          ///< name of this machine, for the leader's log
  bool follow = true;              ///< from a follower to its leader, whose answer counts
  bool at_once = false;            ///< Hello::at_once
  std::optional<rendezvous::JobCommand> command = {};
};

class AgentQuery {
 public:
  /// What came of it. `note`: why `json` is not the leader's word; "" = it is, or nobody is known.
  /// `leader`: where it is; none = not known. `knows_job`: has a leader, or was in a round, or was
  /// told of one.
  struct Answer {
    std::string json;
    std::string note;
    std::optional<rendezvous::Candidate> leader = {};
    bool knows_job = false;
  };
  /// Errors: kPeer, nobody answers, with why for each of them; kConfig, an agent has another job
  /// secret, run id or version, or refuses the target.
  /// A command that an agent got and did not answer is given to no other: it may have been obeyed.
  using Done = std::function<void(Result<Answer>)>;

  /// What it borrows for its life. `tls` null = no job secret.
  struct Doors {
    Loop& loop;
    Network& network;
    Resolver& resolver;
    const TlsContext* tls;
  };
  /// `done` is called once, from the loop.
  AgentQuery(Doors doors, AgentQuestion question, Done done);
  AgentQuery(const AgentQuery&) = delete;
  AgentQuery& operator=(const AgentQuery&) = delete;

 private:
  void ask_next();
  void greet(rendezvous::DialAnswer answer);
  void closed(const Error& error);
  void take(const rendezvous::Message& message);
  void take_status(const std::string& json);
  void unanswered(const std::string& problem);
  void give_up_on(const std::string& problem);
  void go_on();
  void finish(Result<Answer> result);

  Doors doors_;
  const AgentQuestion question_;
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

/// The words by which such verbs are told whom to ask.
struct QuestionWords {
  std::string endpoint;  ///< --rdzv-endpoint
  std::string run_id;    ///< --rdzv-id
  /// True: words[i] is one of these flags; `i` then is at its value. kUsage: it has none, or an
  /// empty one.
  Result<bool> take(const std::vector<std::string>& words, size_t& i);
  /// kUsage: it is empty. Only who gives no endpoint at all means this machine's agent.
  Status take_endpoint(const std::string& word);
};

/// The agents of an ENDPOINT argument, HOST[:PORT] with commas between; "" = that of this machine,
/// with the port of MUSTER_RDZV_ENDPOINT or PET_RDZV_ENDPOINT. kUsage: no endpoint.
[[nodiscard]] Result<std::vector<rendezvous::Candidate>> agents_to_ask(
    const std::string& endpoint, const Environment& environment);
/// With the job secret of `environment`, or of the controller whose pod this is. Runs the loop
/// until there is an answer. Errors: as above; kConfig, a secret that cannot be read.
[[nodiscard]] Result<AgentQuery::Answer> ask_agents(const AgentQuestion& question,
                                                    const Environment& environment,
                                                    const Files& files, Loop& loop,
                                                    Network& network, Resolver& resolver);

}  // namespace muster::launcher
