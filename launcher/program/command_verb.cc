#include "launcher/program/command_verb.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/interfaces.h"
#include "base/json.h"
#include "base/text.h"
#include "launcher/agent/serving/agent_query.h"
#include "launcher/report/exit_codes.h"

namespace muster::launcher {

namespace {

using rendezvous::JobCommandKind;

constexpr const char* kStopHelp =
    "usage: muster stop [--reason TEXT] [--rdzv-id ID] [ENDPOINT]\n"
    "\n"
    "Ends a running job: every agent goes as if it had got SIGTERM. Workers have the grace period\n"
    "to save; the agents end with 143. Who joins its leader later is told to go as well. Another\n"
    "leader, should this one be lost first, does not know of it: ask again then.\n";
constexpr const char* kRestartHelp =
    "usage: muster restart [--reason TEXT] [--rdzv-id ID] [ENDPOINT]\n"
    "\n"
    "Ends the round of a running job, and another one begins with the nodes that are there.\n"
    "Workers have the grace period to save. The restart is not charged to --max-restarts.\n";
constexpr const char* kFlagsHelp =
    "\n"
    "  --reason TEXT  why, for the log of the job\n"
    "  ENDPOINT       HOST[:PORT] of any agent of the job, or several with commas between, asked "
    "in\n"
    "                 turn. Default: this machine's agent, 127.0.0.1 with the port of\n"
    "                 MUSTER_RDZV_ENDPOINT or PET_RDZV_ENDPOINT, else 29400\n"
    "  --rdzv-endpoint ENDPOINT\n"
    "                 the same\n"
    "  --rdzv-id ID   only the job of this id\n"
    "\n"
    "Exit codes: 0; 69 nobody answers (a command that was sent may have been obeyed), or for a\n"
    "restart too few of the job's nodes are with the leader, or no round runs that could end; 78\n"
    "another job secret (MUSTER_JOB_SECRET_FILE) or run id.\n";

struct Verb {
  const char* name;
  const char* help;
  JobCommandKind kind;
};
constexpr Verb kStop{"muster stop", kStopHelp, JobCommandKind::kStop};
constexpr Verb kRestart{"muster restart", kRestartHelp, JobCommandKind::kRestart};

// What the verb borrows.
struct Doors {
  const Environment& environment;
  const Files& files;
  Loop& loop;
  Network& network;
  Resolver& resolver;
};

struct CommandOptions {
  AgentQuestion question;
  bool help = false;
};

Error usage(std::string text) { return {Code::kUsage, 0, std::move(text)}; }

// "--reason TEXT" and "--reason=TEXT"; none: it is another word.
Result<std::optional<std::string>> reason_in(const std::vector<std::string>& words, size_t& i) {
  constexpr std::string_view kFlag = "--reason";
  const std::string& word = words[i];
  if (word.starts_with("--reason=")) return std::optional(word.substr(kFlag.size() + 1));
  if (word != kFlag) return std::optional<std::string>();
  if (i + 1 == words.size()) return usage("--reason needs a value");
  return std::optional(words[++i]);
}

Result<CommandOptions> parse(const std::vector<std::string>& words, JobCommandKind kind,
                             const Environment& environment) {
  QuestionWords question;
  rendezvous::JobCommand command{kind, ""};
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto taken = question.take(words, i);
    if (!taken) return Error(taken.error());
    if (*taken) continue;
    if (word == "--help" || word == "-h") return CommandOptions{{}, true};
    const auto reason = reason_in(words, i);
    if (!reason) return Error(reason.error());
    if (*reason) {
      command.reason = one_line(**reason);
      continue;
    }
    if (word.starts_with('-') || !question.endpoint.empty())
      return usage("unknown argument '" + word + "'");
    MUSTER_RETURN_IF_ERROR(question.take_endpoint(word));
  }
  auto agents = agents_to_ask(question.endpoint, environment);
  if (!agents) return std::move(agents).error();
  const auto own_name = host_name();
  return CommandOptions{{.agents = std::move(*agents),
                         .run_id = question.run_id,
                         .asker = own_name ? *own_name : "",
                         .command = std::move(command)}};
}

// Only who leads obeys, and only that one tells of nodes.
Result<std::string> told(const AgentQuery::Answer& answer, JobCommandKind kind) {
  if (!answer.note.empty())
    return Error{Code::kPeer, 0, "the leader does not answer: " + answer.note};
  const auto status = parse_json(answer.json);
  if (!status) return Error(status.error()).with_context("the answer");
  const auto nodes = status->is_object() ? status->find("nodes") : status->end();
  if (nodes == status->end() || !nodes->is_array())
    return Error{Code::kPeer, 0, "nobody leads the job now: ask again later"};
  // Who has no link now is told when it is back.
  const auto reached = std::ranges::count_if(*nodes, [](const nlohmann::json& node) {
    const auto here = node.is_object() ? node.find("connected") : node.end();
    return here != node.end() && here->is_boolean() && here->get<bool>();
  });
  const auto name = status->find("job");
  const std::string job =
      name != status->end() && name->is_string() ? one_line(name->get<std::string>()) : "";
  return fmt::format("job {}: {}, {}", job,
                     kind == JobCommandKind::kStop ? "told to end" : "told to start again",
                     counted(static_cast<size_t>(reached), "node", "nodes"));
}

int run(const Verb& verb, const std::vector<std::string>& arguments, const Doors& doors,
        std::FILE* output, std::FILE* errors) {
  const auto fail = [&verb, errors](const Error& error) {
    return complain(errors, verb.name, error.text, exit_code_of_error(Personality::kMuster, error));
  };
  const auto options = parse(arguments, verb.kind, doors.environment);
  if (!options) return fail(options.error());
  if (options->help) {
    // Nobody is left to tell.
    (void)std::fputs(verb.help, output);
    (void)std::fputs(kFlagsHelp, output);
    return kExitSuccess;
  }
  const auto answer = ask_agents(options->question, doors.environment, doors.files, doors.loop,
                                 doors.network, doors.resolver);
  if (!answer) return fail(answer.error());
  const auto line = told(*answer, verb.kind);
  if (!line) return fail(line.error());
  (void)std::fprintf(output, "%s\n", line->c_str());
  return kExitSuccess;
}

}  // namespace

int run_stop_verb(const std::vector<std::string>& arguments, const Environment& environment,
                  const Files& files, Loop& loop, Network& network, Resolver& resolver,
                  std::FILE* output, std::FILE* errors) {
  return run(kStop, arguments, {environment, files, loop, network, resolver}, output, errors);
}

int run_restart_verb(const std::vector<std::string>& arguments, const Environment& environment,
                     const Files& files, Loop& loop, Network& network, Resolver& resolver,
                     std::FILE* output, std::FILE* errors) {
  return run(kRestart, arguments, {environment, files, loop, network, resolver}, output, errors);
}

}  // namespace muster::launcher
