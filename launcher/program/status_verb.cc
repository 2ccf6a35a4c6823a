#include "launcher/program/status_verb.h"

#include <fmt/core.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/interfaces.h"
#include "launcher/agent/serving/agent_query.h"
#include "launcher/contracts/read_contract.h"
#include "launcher/program/status_table.h"
#include "launcher/report/exit_codes.h"

namespace muster::launcher {

namespace {

constexpr const char* kHelp =
    "usage: muster status [--json|--history|--hosts] [--rdzv-id ID] [ENDPOINT]\n"
    "\n"
    "Asks a running agent for nodes, ranks, round, restarts and reasons. Any agent of the job "
    "will\n"
    "do: one that does not lead says who does, and that one is asked.\n"
    "\n"
    "  ENDPOINT       HOST[:PORT] of an agent, or several with commas between, asked in turn;\n"
    "                 a name or an address. Default: this machine's agent, 127.0.0.1 with the "
    "port\n"
    "                 of MUSTER_RDZV_ENDPOINT or PET_RDZV_ENDPOINT, else 29400\n"
    "  --rdzv-endpoint ENDPOINT\n"
    "                 the same\n"
    "  --rdzv-id ID   refuse to answer for another job\n"
    "  --json         the answer as one JSON object\n"
    "  --history      the last restarts, and where the time of each of them went\n"
    "  --hosts        the nodes with workers that are there now, HOST:SLOTS line by line, as a "
    "host\n"
    "                 discovery script of Horovod prints them\n"
    "\n"
    "Exit codes: 0; 69 nobody answers; 78 another job secret (MUSTER_JOB_SECRET_FILE) or run id.\n";

struct StatusOptions {
  AgentQuestion question;
  bool json = false;
  bool history = false;
  bool hosts = false;
  bool help = false;
};

Error usage(std::string text) { return {Code::kUsage, 0, std::move(text)}; }

Result<StatusOptions> parse(const std::vector<std::string>& words, const Environment& environment) {
  StatusOptions options;
  QuestionWords question;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto taken = question.take(words, i);
    if (!taken) return Error(taken.error());
    if (*taken) continue;
    if (word == "--help" || word == "-h") {
      options.help = true;
    } else if (word == "--json") {
      options.json = true;
    } else if (word == "--history") {
      options.history = true;
    } else if (word == "--hosts") {
      options.hosts = true;
    } else if (word.starts_with('-') || !question.endpoint.empty()) {
      return usage("unknown argument '" + word + "'");
    } else {
      MUSTER_RETURN_IF_ERROR(question.take_endpoint(word));
    }
  }
  if (options.help) return options;
  // All of it is in the JSON anyway.
  if (options.hosts && (options.json || options.history))
    return usage("--hosts and other forms exclude each other");
  auto agents = agents_to_ask(question.endpoint, environment);
  if (!agents) return std::move(agents).error();
  const auto own_name = host_name();
  options.question = {std::move(*agents), question.run_id, std::nullopt, own_name ? *own_name : ""};
  return options;
}

Result<std::string> render(const StatusOptions& options, const std::string& json,
                           const std::optional<Contract>& contract) {
  if (options.json) return json + "\n";
  if (options.history) return history_table(json);
  if (!options.hosts) return status_table(json);
  const bool says_slots = contract && contract->says_slots;
  return status_hosts(json, says_slots ? contract->hosts : std::vector<mpi::HostSlots>{});
}

Result<int> show(const StatusOptions& options, const AgentQuery::Answer& answer,
                 const std::optional<Contract>& contract, std::FILE* output, std::FILE* errors) {
  auto text = render(options, answer.json, contract);
  if (!text) return std::move(text).error().with_context("the answer");
  (void)std::fputs(text->c_str(), output);  // nobody is left to tell
  if (answer.note.empty()) return kExitSuccess;
  return complain(errors, "muster status", "the leader does not answer: " + answer.note,
                  kExitUnavailable);
}

}  // namespace

int run_status_verb(const std::vector<std::string>& arguments, const Environment& environment,
                    const Files& files, Loop& loop, Network& network, Resolver& resolver,
                    std::FILE* output, std::FILE* errors) {
  const auto options = parse(arguments, environment);
  if (options && options->help) {
    (void)std::fputs(kHelp, output);  // nobody is left to tell
    return kExitSuccess;
  }
  const auto fail = [errors](const Error& error) {
    return complain(errors, "muster status", error.text,
                    exit_code_of_error(Personality::kMuster, error));
  };
  if (!options) return fail(options.error());
  const auto answer = ask_agents(options->question, environment, files, loop, network, resolver);
  if (!answer) return fail(answer.error());
  std::optional<Contract> contract;
  if (options->hosts) {
    auto read = read_contract({environment, files, options->question.asker});
    if (read) contract = *std::move(read);
  }
  const auto code = show(*options, *answer, contract, output, errors);
  return code ? *code : fail(code.error());
}

}  // namespace muster::launcher
