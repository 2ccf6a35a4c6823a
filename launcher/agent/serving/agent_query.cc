#include "launcher/agent/serving/agent_query.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "base/json.h"
#include "base/text.h"
#include "launcher/contracts/apply_contract.h"
#include "launcher/contracts/read_contract.h"
#include "launcher/options/rendezvous_values.h"
#include "rendezvous/wire/control_link.h"
#include "rendezvous/wire/job_secret.h"

namespace muster::launcher {

namespace {

using rendezvous::RefuseCode;

constexpr const char* kLoopback = "127.0.0.1";

// What a query needs of an agent's status.
struct StatusWord {
  bool leads = false;                              // it is the leader's own word
  bool in_round = false;                           // or was, in this job
  std::optional<rendezvous::Candidate> leader_at;  // that another one leads; none = not known
};

StatusWord read_status(const std::string& json) {
  StatusWord word;
  const auto status = parse_json(json);
  if (!status || !status->is_object()) return word;
  word.leads = status->contains("leader");
  const auto round = status->find("round");
  word.in_round =
      round != status->end() && round->is_number_unsigned() && round->get<uint64_t>() > 0;
  const auto found = status->find("leader_at");
  if (found == status->end() || !found->is_string()) return word;
  const auto hosts = rendezvous::parse_host_list(found->get<std::string>(), {});
  if (hosts && hosts->size() == 1) word.leader_at = hosts->front();
  return word;
}

// The agent of this machine: it listens on every interface, or the job is on loopback anyway.
rendezvous::Candidate own_agent(const Environment& environment) {
  rendezvous::Candidate own;
  own.host = kLoopback;
  own.port = kDefaultRendezvousPort;
  for (const std::string_view name : {"MUSTER_RDZV_ENDPOINT", "PET_RDZV_ENDPOINT"}) {
    const auto text = environment.get(name);
    if (!text || text->empty()) continue;
    const auto agents = rendezvous::parse_host_list(*text, {.port = kDefaultRendezvousPort});
    if (agents && !agents->empty()) own.port = agents->front().port;
    break;
  }
  return own;
}

// A variable in a script that is not set would ask any job.
Error empty_value(const std::string& what) {
  return {Code::kUsage, 0, what + " is empty: is a variable not set?"};
}

}  // namespace

AgentQuery::AgentQuery(Doors doors, AgentQuestion question, Done done)
    : doors_(doors),
      question_(std::move(question)),
      waiting_(question_.agents.begin(), question_.agents.end()),
      done_(std::move(done)) {
  go_on();
}

void AgentQuery::go_on() {
  deadline_.reset();
  next_ = doors_.loop.soon([this] { ask_next(); });
}

void AgentQuery::ask_next() {
  link_.reset();
  if (waiting_.empty()) {
    if (follower_) return finish(Answer{*follower_, join(problems_, "; ")});
    return finish(Error{Code::kPeer, 0, "no agent answers: " + join(problems_, "; ")});
  }
  asked_ = waiting_.front();
  waiting_.pop_front();
  open_ = false;
  deadline_ = doors_.loop.after(kAnswerDeadline, [this] {
    // Servers of other protocols wait for the rest of what they take for a question of theirs.
    unanswered((link_
                    ? "takes the connection, but is no agent of muster, or hangs: no answer within "
                    : "no answer within ") +
               format_duration(kAnswerDeadline));
  });
  const rendezvous::DialTimeouts timeouts{kAnswerDeadline, kAnswerDeadline};
  dial_ = std::make_unique<rendezvous::Dial>(
      doors_.loop, doors_.resolver, doors_.network, asked_, timeouts,
      [this](rendezvous::DialAnswer answer) { greet(std::move(answer)); });
}

void AgentQuery::greet(rendezvous::DialAnswer answer) {
  if (!answer.socket.is_open()) return give_up_on(answer.reason);
  rendezvous::LinkHandlers handlers;
  handlers.on_open = [this] {
    open_ = true;
    rendezvous::Hello hello;
    hello.run_id = question_.run_id;
    if (question_.target || question_.command) hello.node = question_.asker;
    hello.target = question_.target;
    hello.at_once = question_.at_once;
    hello.command = question_.command;
    hello.secured = doors_.tls != nullptr;
    hello.purpose = rendezvous::Purpose::kObserver;
    link_->send(hello);
  };
  handlers.on_message = [this](const rendezvous::Message& message) { take(message); };
  handlers.on_closed = [this](const Error& error) { closed(error); };
  link_ = rendezvous::ControlLink::greet(doors_.loop, std::move(answer.socket), asked_.to_string(),
                                         doors_.tls, std::move(handlers));
}

void AgentQuery::closed(const Error& error) {
  if (next_.is_active()) return;
  // With a secret of its own an agent ends the handshake; everything else fails otherwise.
  if (doors_.tls != nullptr && !open_ &&
      rendezvous::dial_failure(error) == rendezvous::DialFailure::kRejected)
    return finish(Error{Code::kConfig, 0, error.text});
  unanswered(open_ ? "closed the connection without an answer" : error.text);
}

void AgentQuery::take(const rendezvous::Message& message) {
  if (next_.is_active()) return;
  if (const auto* reply = std::get_if<rendezvous::StatusReply>(&message))
    return take_status(reply->json);
  const auto* refuse = std::get_if<rendezvous::Refuse>(&message);
  if (refuse == nullptr) return unanswered("answered with something else than its status");
  if (refuse->code == RefuseCode::kRunId || refuse->code == RefuseCode::kSecret ||
      refuse->code == RefuseCode::kVersion || refuse->code == RefuseCode::kSettings)
    return finish(Error{Code::kConfig, 0, asked_.to_string() + ": " + refuse->text});
  give_up_on(refuse->text);
}

void AgentQuery::take_status(const std::string& json) {
  const StatusWord word = read_status(json);
  if (!word.leader_at) {
    const auto leader = word.leads ? std::optional(asked_) : std::nullopt;
    return finish(Answer{json, "", leader, word.leads || word.in_round});
  }
  if (!question_.follow) return finish(Answer{json, "", word.leader_at, true});
  follower_ = json;
  waiting_.clear();
  if (pointers_++ < kMaxPointers) {
    waiting_.push_back(*word.leader_at);
  } else {
    problems_.emplace_back("every agent points to another one");
  }
  go_on();
}

// A second agent would obey once more what the first one has done.
void AgentQuery::unanswered(const std::string& problem) {
  if (!open_ || !question_.command) return give_up_on(problem);
  finish(Error{
      Code::kPeer, 0,
      asked_.to_string() + ": " + problem + "; it may have been obeyed: `muster status` tells"});
}

void AgentQuery::give_up_on(const std::string& problem) {
  const std::string name = asked_.to_string();
  problems_.push_back(problem.starts_with(name) ? problem : name + ": " + problem);
  go_on();
}

void AgentQuery::finish(Result<Answer> result) {
  deadline_.reset();
  // From here on nothing that the link says matters.
  next_ = doors_.loop.soon([this, result = std::move(result)]() mutable {
    link_.reset();
    done_(std::move(result));
  });
}

Result<bool> QuestionWords::take(const std::vector<std::string>& words, size_t& i) {
  const std::string& word = words[i];
  const size_t equals = word.find('=');
  const std::string flag = word.substr(0, equals);
  if (flag != "--rdzv-endpoint" && flag != "--rdzv-id") return false;
  const bool inline_value = equals != std::string::npos;
  if (!inline_value && i + 1 == words.size())
    return Error{Code::kUsage, 0, flag + " needs a value"};
  const std::string value = inline_value ? word.substr(equals + 1) : words[++i];
  if (flag == "--rdzv-endpoint") MUSTER_RETURN_IF_ERROR(take_endpoint(value));
  if (flag == "--rdzv-id" && value.empty()) return empty_value(flag);
  if (flag == "--rdzv-id") run_id = value;
  return true;
}

Status QuestionWords::take_endpoint(const std::string& word) {
  if (word.empty()) return empty_value("the endpoint");
  endpoint = word;
  return {};
}

Result<std::vector<rendezvous::Candidate>> agents_to_ask(const std::string& endpoint,
                                                         const Environment& environment) {
  if (endpoint.empty()) return std::vector{own_agent(environment)};
  auto agents = rendezvous::parse_host_list(endpoint, {.port = kDefaultRendezvousPort});
  if (!agents) return Error{Code::kUsage, 0, agents.error().text};
  if (agents->empty()) return Error{Code::kUsage, 0, "no endpoint given"};
  for (rendezvous::Candidate& agent : *agents) {
    if (agent.host == "localhost") agent.host = kLoopback;
  }
  return agents;
}

Result<AgentQuery::Answer> ask_agents(const AgentQuestion& question, const Environment& environment,
                                      const Files& files, Loop& loop, Network& network,
                                      Resolver& resolver) {
  // In the pods of a controller its secret is the job's.
  const auto contract = read_contract({environment, files, question.asker});
  const bool is_known = contract && contract->has_value();
  const auto tls = rendezvous::tls_from_secret(
      is_known ? contract_environment(**contract, environment) : environment, files);
  if (!tls) return Error(tls.error());
  Result<AgentQuery::Answer> answer = Error{Code::kInternal, 0, "the query did not end"};
  const AgentQuery query({loop, network, resolver, tls->get()}, question,
                         [&answer, &loop](Result<AgentQuery::Answer> result) {
                           answer = std::move(result);
                           loop.stop();
                         });
  MUSTER_RETURN_IF_ERROR(loop.run());
  return answer;
}

}  // namespace muster::launcher
