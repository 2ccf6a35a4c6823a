#include "launcher/program/verbs.h"

#include <optional>
#include <string_view>

#include "base/interfaces.h"
#include "base/linked_libraries.h"
#include "base/process/guardian.h"
#include "base/process/init.h"
#include "base/process/verb_loop.h"
#include "base/resolver.h"
#include "base/text.h"
#include "launcher/doctor/doctor_verb.h"
#include "launcher/frameworks/mpi/called_launcher.h"
#include "launcher/frameworks/mpi/launcher_files.h"
#include "launcher/local/local_verb.h"
#include "launcher/options/completion.h"
#include "launcher/options/verb_table.h"
#include "launcher/program/command_verb.h"
#include "launcher/program/dashboard_verb.h"
#include "launcher/program/env_verb.h"
#include "launcher/program/peers_check.h"
#include "launcher/program/render_verb.h"
#include "launcher/program/run_verb.h"
#include "launcher/program/scale_verb.h"
#include "launcher/program/sidecar_verb.h"
#include "launcher/program/status_verb.h"
#include "launcher/program/store_verb.h"
#include "launcher/rank/rank_verb.h"
#include "launcher/report/exit_codes.h"
#include "mpi/pmi/await_environment.h"
#include "mpi/rsh/rsh_verb.h"
#include "mpi/ssh/mpi_ssh_verb.h"
#include "mpi/ssh/tend_verb.h"

namespace muster::launcher {

namespace {

// What this process was asked to do.
struct Call {
  const std::vector<std::string>& words;  // argv
  const Environment& environment;
  std::FILE* output;
  std::FILE* errors;
  std::vector<std::string> rest = {};   // behind the verb, or behind a link's name
  const ProcessSetup* setup = nullptr;  // null in the rows that come before init
};

int print(std::FILE* stream, std::string_view text, int exit_code) {
  (void)std::fwrite(text.data(), 1, text.size(), stream);  // nobody is left to tell
  return exit_code;
}

std::optional<int> call_ssh(const Call& call) {
  return mpi::run_ssh_verb(call.rest, call.environment, call.errors);
}

std::optional<int> call_launcher(const Call& call) {
  return run_called_launcher(call.words, call.environment, call.errors);
}

std::optional<int> discover(const Call& call) {
  return run_discovery(call.environment, RealFiles(), call.output, call.errors);
}

bool is_torchrun(std::string_view called_as) { return base_name(called_as) == "torchrun"; }

std::optional<int> torchrun(const Call& call) {
  return run_job({Personality::kTorchrun, call.words[0], call.rest}, call.environment, *call.setup);
}

std::optional<int> rsh(const Call& call) {
  return mpi::run_rsh_verb(call.rest, call.environment, *call.setup, call.output, call.errors);
}

std::optional<int> guard(const Call& call) {
  if (call.rest != std::vector<std::string>{"-"}) return std::nullopt;
  return run_guardian();
}

std::optional<int> await(const Call& call) {
  return mpi::run_await_verb(call.rest, call.environment, call.errors);
}

std::optional<int> tend(const Call& call) {
  return mpi::run_tend_verb(call.rest, call.environment, *call.setup, call.errors);
}

std::optional<int> inner_rank(const Call& call) {
  if (!is_reported_above(call.environment)) return std::nullopt;
  return run_inner_rank_verb(call.rest, call.environment, call.errors);
}

std::optional<int> run(const Call& call) {
  return run_job({Personality::kMuster, call.words[0], call.rest}, call.environment, *call.setup);
}

std::optional<int> local(const Call& call) {
  return run_local_verb(call.rest, call.environment, *call.setup);
}

bool asks_for_help(const Call& call) {
  return !call.rest.empty() && (call.rest[0] == "--help" || call.rest[0] == "-h");
}

std::optional<int> rank(const Call& call) {
  if (asks_for_help(call)) return print(call.output, short_help("rank"), kExitSuccess);
  return run_rank_verb(call.rest, call.environment, *call.setup, call.errors);
}

int no_loop(const Call& call, const Error& error) {
  return complain(call.errors, "muster", error.text, kExitOs);
}

// With the verbs that ask a running agent.
int ask_agent(decltype(run_status_verb)& ask, const Call& call) {
  auto verb = VerbLoop::create();
  if (!verb) return no_loop(call, verb.error());
  const RealFiles files;
  DnsResolver resolver((*verb)->loop());
  return ask(call.rest, call.environment, files, (*verb)->loop(), (*verb)->network(), resolver,
             call.output, call.errors);
}

std::optional<int> status(const Call& call) { return ask_agent(run_status_verb, call); }

std::optional<int> scale(const Call& call) { return ask_agent(run_scale_verb, call); }

std::optional<int> stop(const Call& call) { return ask_agent(run_stop_verb, call); }

std::optional<int> restart(const Call& call) { return ask_agent(run_restart_verb, call); }
std::optional<int> sidecar(const Call& call) {
  RealFiles files;
  return run_sidecar_verb(call.rest, call.environment, files, *call.setup, call.output,
                          call.errors);
}

std::optional<int> store(const Call& call) {
  auto verb = VerbLoop::create();
  if (!verb) return no_loop(call, verb.error());
  return run_store_verb(call.rest, (*verb)->loop(), (*verb)->network(), call.setup->signal_fd.get(),
                        call.output, call.errors);
}

std::optional<int> dashboard(const Call& call) {
  auto verb = VerbLoop::create();
  if (!verb) return no_loop(call, verb.error());
  return run_dashboard_verb(call.rest, RealFiles(), **verb, call.setup->signal_fd.get(),
                            call.output, call.errors);
}

std::optional<int> env(const Call& call) {
  const RealFiles files;
  const auto own_name = host_name();
  const PodFacts pod{call.environment, files, own_name ? *own_name : ""};
  return run_env_verb(call.rest, pod, *call.setup, call.output, call.errors);
}

std::optional<int> doctor(const Call& call) {
  RealFiles files;
  const auto peers = [&call, &files](const PeersCall& peers_call) {
    return check_peers(peers_call, call.environment, files, *call.setup);
  };
  return run_doctor_verb({call.rest, call.environment, files, *call.setup, peers}, call.output,
                         call.errors);
}

std::optional<int> render(const Call& call) {
  RealFiles files;
  return run_render_verb(call.rest, files, call.output, call.errors);
}

// The first line is for programs.
std::string version_text() {
  std::string text = "muster " MUSTER_VERSION "\n";
  for (const LinkedLibrary& library : linked_libraries())
    text.append("  ").append(library.name).append(" ").append(library.version).append("\n");
  return text;
}

std::optional<int> version(const Call& call) {
  if (asks_for_help(call)) return print(call.output, short_help("version"), kExitSuccess);
  if (call.rest.empty()) return print(call.output, version_text(), kExitSuccess);
  return complain(call.errors, "muster version", "takes no arguments: " + call.rest[0], kExitUsage);
}

std::optional<int> completion(const Call& call) {
  constexpr const char* kName = "muster completion";
  if (call.rest.size() != 1)
    return complain(call.errors, kName, "one shell must follow, bash or zsh", kExitUsage);
  if (asks_for_help(call)) {
    return print(call.output,
                 "usage: muster completion bash|zsh\n\n"
                 "Prints a script that completes command lines: source <(muster completion bash)\n",
                 kExitSuccess);
  }
  const auto script = completion_script(call.rest[0], Dialect::kMuster);
  if (!script) return complain(call.errors, kName, script.error().text, kExitUsage);
  return print(call.output, *script, kExitSuccess);
}

std::optional<int> help(const Call& call) { return print(call.output, verbs_help(), kExitSuccess); }

// Before: becomes another program, which must find the signals as they are, or is too short-lived
// to need init.h.
enum class Init { kBefore, kAfter };

struct Row {
  std::string_view verb;              // "" = a link's row
  bool (*is_link)(std::string_view);  // by argv[0]
  Init init;
  std::optional<int> (*run)(const Call&);  // none = not meant, the search goes on
};

constexpr Row kRows[] = {
    {"", mpi::is_ssh_name, Init::kBefore, call_ssh},
    {"", is_called_launcher, Init::kBefore, call_launcher},
    {"", is_discovery_name, Init::kBefore, discover},
    {"", is_torchrun, Init::kAfter, torchrun},
    {"", mpi::is_rsh_name, Init::kAfter, rsh},
    {"guard", nullptr, Init::kBefore, guard},
    {mpi::kAwaitVerb, nullptr, Init::kBefore, await},
    {mpi::kTendVerb, nullptr, Init::kAfter, tend},
    {"rank", nullptr, Init::kBefore, inner_rank},
    {"rank", nullptr, Init::kAfter, rank},
    {"run", nullptr, Init::kAfter, run},
    {"env", nullptr, Init::kAfter, env},
    {"doctor", nullptr, Init::kAfter, doctor},
    {"local", nullptr, Init::kAfter, local},
    {"rsh", nullptr, Init::kAfter, rsh},
    {"status", nullptr, Init::kAfter, status},
    {"scale", nullptr, Init::kAfter, scale},
    {"stop", nullptr, Init::kAfter, stop},
    {"restart", nullptr, Init::kAfter, restart},
    {"sidecar", nullptr, Init::kAfter, sidecar},
    {"store", nullptr, Init::kAfter, store},
    {"dashboard", nullptr, Init::kAfter, dashboard},
    {"render", nullptr, Init::kAfter, render},
    {"completion", nullptr, Init::kBefore, completion},
    {"version", nullptr, Init::kAfter, version},
    {"--version", nullptr, Init::kAfter, version},
    {"help", nullptr, Init::kAfter, help},
    {"--help", nullptr, Init::kAfter, help},
    {"-h", nullptr, Init::kAfter, help},
};

// Whoever is used to torchrun leaves the verb out.
std::string complaint_about(const std::string& verb) {
  if (verb.empty()) return "no verb given";
  const bool begins_a_command = verb.starts_with('-') || verb.find_first_of("./") != verb.npos;
  if (begins_a_command) return "'" + verb + "' is no verb: `muster run " + verb + " ...`?";
  return "unknown verb '" + verb + "'";
}

std::vector<std::string> behind(const std::vector<std::string>& words, size_t count) {
  if (words.size() <= count) return {};
  return {words.begin() + static_cast<std::ptrdiff_t>(count), words.end()};
}

}  // namespace

int run_verb(const std::vector<std::string>& words, const Environment& environment,
             std::FILE* output, std::FILE* errors) {
  const std::string verb = words.size() > 1 ? words[1] : "";
  Call call{words, environment, output, errors};
  std::optional<Result<ProcessSetup>> setup;
  for (const Row& row : kRows) {
    const bool meant = row.is_link != nullptr ? !words.empty() && row.is_link(words[0])
                                              : !verb.empty() && row.verb == verb;
    if (!meant) continue;
    if (row.init == Init::kAfter) {
      setup.emplace(init_process());
      if (!*setup) return complain(errors, "muster", setup->error().text, kExitOs);
      call.setup = &**setup;
    }
    call.rest = behind(words, row.is_link != nullptr ? 1 : 2);
    if (const auto exit_code = row.run(call)) return *exit_code;
  }
  return complain(errors, "muster", complaint_about(verb) + "; `muster help` lists the verbs",
                  kExitUsage);
}

}  // namespace muster::launcher
