#include "launcher/status_verb.h"

#include <fmt/core.h>

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/interfaces.h"
#include "launcher/contracts/contract.h"
#include "launcher/exit_codes.h"
#include "launcher/job_secret.h"
#include "launcher/option_values.h"
#include "launcher/status_query.h"
#include "launcher/status_table.h"
#include "rendezvous/host_list.h"

namespace muster::launcher {

namespace {

constexpr const char* kLoopback = "127.0.0.1";

constexpr const char* kHelp =
    "usage: muster status [--json|--hosts] [--rdzv-id ID] [ENDPOINT]\n"
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
    "  --hosts        the nodes with workers that are there now, HOST:SLOTS line by line, as a "
    "host\n"
    "                 discovery script of Horovod prints them\n"
    "\n"
    "Exit codes: 0; 69 nobody answers; 78 another job secret (MUSTER_JOB_SECRET_FILE) or run id.\n";

struct StatusOptions {
  std::vector<rendezvous::Candidate> agents;
  std::string run_id;
  bool json = false;
  bool hosts = false;
  bool help = false;
};

Error usage(std::string text) { return {Code::kUsage, 0, std::move(text)}; }

Result<std::vector<rendezvous::Candidate>> parse_agents(const std::string& text) {
  auto agents = rendezvous::parse_host_list(text, {.port = kDefaultRendezvousPort});
  if (!agents) return usage(agents.error().text);
  if (agents->empty()) return usage("no endpoint given");
  for (rendezvous::Candidate& agent : *agents) {
    if (agent.host == "localhost") agent.host = kLoopback;
  }
  return agents;
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

Result<StatusOptions> parse(const std::vector<std::string>& words, const Environment& environment) {
  StatusOptions options;
  std::string endpoint;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const size_t equals = word.find('=');
    const std::string flag = word.substr(0, equals);
    if (word == "--help" || word == "-h") {
      options.help = true;
    } else if (word == "--json") {
      options.json = true;
    } else if (word == "--hosts") {
      options.hosts = true;
    } else if (flag == "--rdzv-endpoint" || flag == "--rdzv-id") {
      const bool inline_value = equals != std::string::npos;
      if (!inline_value && i + 1 == words.size()) return usage(flag + " needs a value");
      std::string& value = flag == "--rdzv-id" ? options.run_id : endpoint;
      value = inline_value ? word.substr(equals + 1) : words[++i];
    } else if (word.starts_with('-') || !endpoint.empty()) {
      return usage("unknown argument '" + word + "'");
    } else {
      endpoint = word;
    }
  }
  if (options.help) return options;
  if (options.json && options.hosts) return usage("--json and --hosts exclude each other");
  if (endpoint.empty()) {
    options.agents = {own_agent(environment)};
    return options;
  }
  auto agents = parse_agents(endpoint);
  if (!agents) return std::move(agents).error();
  options.agents = std::move(*agents);
  return options;
}

Result<std::unique_ptr<TlsContext>> make_tls(const Environment& environment, const Files& files) {
  auto key = read_job_secret(environment, files);
  if (!key) return std::move(key).error();
  if (!*key) return std::unique_ptr<TlsContext>();
  return TlsContext::create(**key);
}

Result<StatusQuery::Answer> ask(const StatusOptions& options, const StatusQuery::Doors& doors) {
  Result<StatusQuery::Answer> answer = Error{Code::kInternal, 0, "the query did not end"};
  const StatusQuery query(doors, options.run_id, options.agents,
                          [&answer, &loop = doors.loop](Result<StatusQuery::Answer> result) {
                            answer = std::move(result);
                            loop.stop();
                          });
  MUSTER_RETURN_IF_ERROR(doors.loop.run());
  return answer;
}

Result<std::string> render(const StatusOptions& options, const std::string& json,
                           const std::optional<Contract>& contract) {
  if (options.json) return json + "\n";
  if (!options.hosts) return status_table(json);
  const bool says_slots = contract && contract->says_slots;
  return status_hosts(json, says_slots ? contract->hosts : std::vector<mpi::HostSlots>{});
}

Result<int> show(const StatusOptions& options, const StatusQuery::Doors& doors,
                 const std::optional<Contract>& contract, std::FILE* output, std::FILE* errors) {
  auto answer = ask(options, doors);
  if (!answer) return std::move(answer).error();
  auto text = render(options, answer->json, contract);
  if (!text) return std::move(text).error().with_context("the answer");
  (void)std::fputs(text->c_str(), output);  // nobody is left to tell
  if (answer->note.empty()) return kExitSuccess;
  (void)std::fprintf(errors, "muster status: the leader does not answer: %s\n",
                     answer->note.c_str());
  return kExitUnavailable;
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
  auto code = Result<int>(kExitUsage);
  if (!options) {
    code = Error(options.error());
  } else {
    // In the pods of a controller its secret is the job's.
    const auto own_name = host_name();
    const auto contract = read_contract({environment, files, own_name ? *own_name : ""});
    const auto tls =
        make_tls(contract ? contract_environment(*contract, environment) : environment, files);
    code = tls ? show(*options, {loop, network, resolver, tls->get()}, contract, output, errors)
               : Result<int>(Error(tls.error()));
  }
  if (code) return *code;
  (void)std::fprintf(errors, "muster status: %s\n", code.error().text.c_str());
  return exit_code_of_error(Personality::kMuster, code.error());
}

}  // namespace muster::launcher
