#include "launcher/status_verb.h"

#include <fmt/core.h>

#include <memory>
#include <string_view>
#include <utility>

#include "launcher/exit_codes.h"
#include "launcher/job_secret.h"
#include "launcher/option_values.h"
#include "launcher/status_query.h"
#include "launcher/status_table.h"

namespace muster::launcher {

namespace {

constexpr const char* kHelp =
    "usage: muster status [--json] [--rdzv-id ID] [ENDPOINT]\n"
    "\n"
    "Asks a running agent for nodes, ranks, round, restarts and reasons. Any agent of the job "
    "will\n"
    "do: one that does not lead says who does, and that one is asked.\n"
    "\n"
    "  ENDPOINT       HOST[:PORT] of an agent, or several with commas between, asked in turn;\n"
    "                 numeric or localhost. Default: this machine's agent, 127.0.0.1 with the "
    "port\n"
    "                 of MUSTER_RDZV_ENDPOINT or PET_RDZV_ENDPOINT, else 29400\n"
    "  --rdzv-endpoint ENDPOINT\n"
    "                 the same\n"
    "  --rdzv-id ID   refuse to answer for another job\n"
    "  --json         the answer as one JSON object\n"
    "\n"
    "Exit codes: 0; 69 nobody answers; 78 another job secret (MUSTER_JOB_SECRET_FILE) or run id.\n";

struct StatusOptions {
  std::vector<Address> addresses;
  std::string run_id;
  bool json = false;
  bool help = false;
};

Error usage(std::string text) { return {Code::kUsage, 0, std::move(text)}; }

Result<std::vector<Address>> parse_addresses(const std::string& text) {
  auto endpoints = parse_endpoints(text);
  if (!endpoints) return usage(fmt::format("'{}': {}", text, endpoints.error().text));
  std::vector<Address> addresses;
  for (const Endpoint& endpoint : *endpoints) {
    const auto host = endpoint.host == "localhost" ? std::optional<std::string>("127.0.0.1")
                                                   : parse_numeric_host(endpoint.host);
    if (!host) return usage(fmt::format("'{}': not a numeric address", endpoint.host));
    addresses.push_back(
        {*host, static_cast<uint16_t>(endpoint.port.value_or(kDefaultRendezvousPort))});
  }
  if (addresses.empty()) return usage("no endpoint given");
  return addresses;
}

// The agent of this machine: it listens on every interface, or the job is on loopback anyway.
Address own_agent(const Environment& environment) {
  for (const std::string_view name : {"MUSTER_RDZV_ENDPOINT", "PET_RDZV_ENDPOINT"}) {
    const auto endpoints = parse_endpoints(environment.get(name).value_or(""));
    if (endpoints && !endpoints->empty() && endpoints->front().port)
      return {"127.0.0.1", static_cast<uint16_t>(*endpoints->front().port)};
  }
  return {"127.0.0.1", kDefaultRendezvousPort};
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
  if (endpoint.empty()) {
    options.addresses = {own_agent(environment)};
    return options;
  }
  auto addresses = parse_addresses(endpoint);
  if (!addresses) return std::move(addresses).error();
  options.addresses = std::move(*addresses);
  return options;
}

Result<std::unique_ptr<TlsContext>> make_tls(const Environment& environment, const Files& files) {
  auto key = read_job_secret(environment, files);
  if (!key) return std::move(key).error();
  if (!*key) return std::unique_ptr<TlsContext>();
  return TlsContext::create(**key);
}

Result<StatusQuery::Answer> ask(const StatusOptions& options, const TlsContext* tls, Loop& loop,
                                Network& network) {
  Result<StatusQuery::Answer> answer = Error{Code::kInternal, 0, "the query did not end"};
  const StatusQuery query(loop, network, tls, options.run_id, options.addresses,
                          [&answer, &loop](Result<StatusQuery::Answer> result) {
                            answer = std::move(result);
                            loop.stop();
                          });
  MUSTER_RETURN_IF_ERROR(loop.run());
  return answer;
}

Result<int> show(const StatusOptions& options, const TlsContext* tls, Loop& loop, Network& network,
                 std::FILE* output, std::FILE* errors) {
  auto answer = ask(options, tls, loop, network);
  if (!answer) return std::move(answer).error();
  auto text = options.json ? Result<std::string>(answer->json + "\n") : status_table(answer->json);
  if (!text) return std::move(text).error().with_context("the answer");
  (void)std::fputs(text->c_str(), output);  // nobody is left to tell
  if (answer->note.empty()) return kExitSuccess;
  (void)std::fprintf(errors, "muster status: the leader does not answer: %s\n",
                     answer->note.c_str());
  return kExitUnavailable;
}

}  // namespace

int run_status_verb(const std::vector<std::string>& arguments, const Environment& environment,
                    const Files& files, Loop& loop, Network& network, std::FILE* output,
                    std::FILE* errors) {
  const auto options = parse(arguments, environment);
  if (options && options->help) {
    (void)std::fputs(kHelp, output);  // nobody is left to tell
    return kExitSuccess;
  }
  auto code = Result<int>(kExitUsage);
  if (!options) {
    code = Error(options.error());
  } else {
    const auto tls = make_tls(environment, files);
    code = tls ? show(*options, tls->get(), loop, network, output, errors)
               : Result<int>(Error(tls.error()));
  }
  if (code) return *code;
  (void)std::fprintf(errors, "muster status: %s\n", code.error().text.c_str());
  return exit_code_of_error(Personality::kMuster, code.error());
}

}  // namespace muster::launcher
