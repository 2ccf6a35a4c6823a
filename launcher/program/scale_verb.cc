#include "launcher/program/scale_verb.h"

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
#include "rendezvous/messages/node_identity.h"

namespace muster::launcher {

namespace {

constexpr const char* kHelp =
    "usage: muster scale NODES|max [--now] [--rdzv-id ID] [ENDPOINT]\n"
    "\n"
    "Asks the leader of a running job for NODES nodes, a size that its --nnodes MIN:MAX allows, "
    "or\n"
    "for as many as may be. Fewer: the round ends as for any change of its members, and the next "
    "one\n"
    "goes on with fewer; the others wait beside it. More: it grows once nodes are there, and once\n"
    "--scale-up-quiet (1 min after a round began) and --scale-up-interval (5 min after it grew "
    "last)\n"
    "are over; the answer says how long that is. Later leaders hold to the number.\n"
    "\n"
    "  --now          grows without waiting, until the job has that many nodes\n"
    "  ENDPOINT       HOST[:PORT] of any agent of the job, or several with commas between, asked "
    "in\n"
    "                 turn. Default: this machine's agent, 127.0.0.1 with the port of\n"
    "                 MUSTER_RDZV_ENDPOINT or PET_RDZV_ENDPOINT, else 29400\n"
    "  --rdzv-endpoint ENDPOINT\n"
    "                 the same\n"
    "  --rdzv-id ID   only the job of this id\n"
    "\n"
    "Exit codes: 0; 69 nobody answers, or too few of the job's nodes are with the leader; 78 the "
    "job\n"
    "takes no such size, has another job secret (MUSTER_JOB_SECRET_FILE) or run id.\n";

struct ScaleOptions {
  AgentQuestion question;
  bool help = false;
};

Error usage(std::string text) { return {Code::kUsage, 0, std::move(text)}; }

Result<int> parse_nodes(const std::string& word) {
  if (word == "max") return 0;
  const auto nodes = parse_integer(word);
  if (nodes && *nodes >= 1 && *nodes <= rendezvous::kMaxNodes) return static_cast<int>(*nodes);
  return usage(
      fmt::format("'{}' is no number of nodes: 1 to {}, or max", word, rendezvous::kMaxNodes));
}

Result<ScaleOptions> parse(const std::vector<std::string>& words, const Environment& environment) {
  QuestionWords question;
  std::optional<int> target;
  bool at_once = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto taken = question.take(words, i);
    if (!taken) return Error(taken.error());
    if (*taken) continue;
    if (word == "--help" || word == "-h") return ScaleOptions{{}, true};
    if (word == "--now") {
      at_once = true;
      continue;
    }
    const bool flag = word.starts_with('-') && !parse_integer(word);
    if (flag || (target && !question.endpoint.empty()))
      return usage("unknown argument '" + word + "'");
    if (target) {
      MUSTER_RETURN_IF_ERROR(question.take_endpoint(word));
      continue;
    }
    const auto nodes = parse_nodes(word);
    if (!nodes) return Error(nodes.error());
    target = *nodes;
  }
  if (!target) return usage("how many nodes? `muster scale --help`");
  auto agents = agents_to_ask(question.endpoint, environment);
  if (!agents) return std::move(agents).error();
  const auto own_name = host_name();
  return ScaleOptions{{.agents = std::move(*agents),
                       .run_id = question.run_id,
                       .target = target,
                       .asker = own_name ? *own_name : "",
                       .at_once = at_once}};
}

int64_t number(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

Duration to_duration(double seconds) {
  constexpr double kMost = 1e9;  // whoever answers may say anything
  const std::chrono::duration<double> length(std::clamp(seconds, 0.0, kMost));
  return std::chrono::duration_cast<Duration>(length);
}

std::string nodes_text(int64_t nodes) {
  return counted(static_cast<size_t>(nodes), "node", "nodes");
}

// Who leads tells the target; the only agent of a job of one node has none.
Result<std::string> told(const AgentQuery::Answer& answer) {
  if (!answer.note.empty())
    return Error{Code::kPeer, 0, "the leader does not answer: " + answer.note};
  const auto status = parse_json(answer.json);
  if (!status) return Error(status.error()).with_context("the answer");
  if (!status->is_object() || !status->contains("nodes"))
    return Error{Code::kPeer, 0, "nobody leads the job now: ask again later"};
  if (!status->contains("target_nodes"))
    return Error{Code::kConfig, 0, "a job of one node, without --nnodes MIN:MAX"};
  std::string line = nodes_text(number(*status, "target_nodes")) + " wanted; ";
  const int64_t round = number(*status, "round");
  line += round == 0
              ? "no round yet"
              : fmt::format("round {} has {}", round, nodes_text(number(*status, "round_nodes")));
  line += ", " + nodes_text(number(*status, "node_total")) + " there";
  if (round == 0 || number(*status, "target_nodes") <= number(*status, "round_nodes")) return line;
  if (const auto wait = status->find("growth_wait_s"); wait != status->end() && wait->is_number())
    line += fmt::format("; the round may grow in {}; --now does not wait",
                        format_duration(to_duration(wait->get<double>())));
  return line;
}

}  // namespace

int run_scale_verb(const std::vector<std::string>& arguments, const Environment& environment,
                   const Files& files, Loop& loop, Network& network, Resolver& resolver,
                   std::FILE* output, std::FILE* errors) {
  const auto fail = [errors](const Error& error) {
    return complain(errors, "muster scale", error.text,
                    exit_code_of_error(Personality::kMuster, error));
  };
  const auto options = parse(arguments, environment);
  if (!options) return fail(options.error());
  if (options->help) {
    (void)std::fputs(kHelp, output);  // nobody is left to tell
    return kExitSuccess;
  }
  const auto answer = ask_agents(options->question, environment, files, loop, network, resolver);
  if (!answer) return fail(answer.error());
  const auto line = told(*answer);
  if (!line) return fail(line.error());
  (void)std::fprintf(output, "%s\n", line->c_str());
  return kExitSuccess;
}

}  // namespace muster::launcher
