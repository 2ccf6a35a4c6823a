// The program: init duties, then the verb. Called as `torchrun` it is torchrun.
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/resolver.h"
#include "base/text.h"
#include "launcher/exit_codes.h"
#include "launcher/frameworks/called_launcher.h"
#include "launcher/frameworks/launcher_files.h"
#include "launcher/frameworks/mpi_ssh_verb.h"
#include "launcher/frameworks/tend_verb.h"
#include "launcher/guardian.h"
#include "launcher/init.h"
#include "launcher/local/local_verb.h"
#include "launcher/rank/await_environment.h"
#include "launcher/rank/rank_verb.h"
#include "launcher/rsh/rsh_verb.h"
#include "launcher/run_verb.h"
#include "launcher/scale_verb.h"
#include "launcher/status_verb.h"
#include "launcher/store_verb.h"

namespace {

using muster::launcher::Personality;

constexpr std::string_view kUsage =
    "usage: muster VERB [flags] ...\n"
    "\n"
    "  run [flags] [--] SCRIPT|PROGRAM [arguments]   start, watch and restart the workers of this "
    "node\n"
    "  local --nodes N [flags of run] SCRIPT|PROGRAM  a job of N nodes on this machine\n"
    "  rsh HOST COMMAND...                           run a command on another node of the job\n"
    "  rank -- PROGRAM [arguments]                   a rank of an MPI job, between mpirun and the "
    "program\n"
    "  status [--json] [ENDPOINT]                    ask a running agent about its job\n"
    "  scale NODES|max [ENDPOINT]                    ask a running job to go on with so many "
    "nodes\n"
    "  store [--port N] [--host ADDRESS]             only the TCPStore-compatible store\n"
    "  version                                       print the version\n"
    "\n"
    "`muster VERB --help` tells the flags. Called through a link named torchrun, it takes "
    "torchrun's command line.\n";

bool is_torchrun(std::string_view called_as) { return muster::base_name(called_as) == "torchrun"; }

int print(std::FILE* stream, std::string_view text, int exit_code) {
  (void)std::fwrite(text.data(), 1, text.size(), stream);  // nobody is left to tell
  return exit_code;
}

int serve_store(const std::vector<std::string>& words,
                const muster::launcher::ProcessSetup& setup) {
  const muster::SystemClock clock;
  auto loop = muster::Loop::create(clock);
  if (!loop) return print(stderr, "muster: " + loop.error().text + "\n", muster::kExitOs);
  muster::RealNetwork network;
  return muster::launcher::run_store_verb(words, **loop, network, setup.signal_fd.get(), stdout,
                                          stderr);
}

// With the verbs that ask a running agent.
int ask_agent(decltype(muster::launcher::run_status_verb)& run_verb,
              const std::vector<std::string>& words, const muster::Environment& environment) {
  const muster::SystemClock clock;
  auto loop = muster::Loop::create(clock);
  if (!loop) return print(stderr, "muster: " + loop.error().text + "\n", muster::kExitOs);
  const muster::RealFiles files;
  muster::RealNetwork network;
  muster::DnsResolver resolver(**loop);
  return run_verb(words, environment, files, **loop, network, resolver, stdout, stderr);
}

// Whoever is used to torchrun leaves the verb out.
std::string complaint_about(const std::string& verb) {
  if (verb.empty()) return "muster: no verb given";
  const bool begins_a_command = verb.starts_with('-') || verb.find_first_of("./") != verb.npos;
  if (begins_a_command) return "muster: '" + verb + "' is no verb: `muster run " + verb + " ...`?";
  return "muster: unknown verb '" + verb + "'";
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  // Of a process that was started through /proc/self/exe the kernel says "exe".
  if (!words.empty()) prctl(PR_SET_NAME, std::string(muster::base_name(words[0])).c_str());
  const auto environment = muster::Environment::from_environ(environ);
  const bool torchrun = !words.empty() && is_torchrun(words[0]);
  if (!torchrun && words.size() == 4 && words[1] == "guard")
    return muster::launcher::run_guardian(words[2], words[3]);
  if (!torchrun && words.size() > 1 && words[1] == muster::launcher::kAwaitVerb)
    return muster::launcher::run_await_verb({words.begin() + 2, words.end()}, environment, stderr);

  if (!torchrun && words.size() > 1 && words[1] == muster::launcher::kTendVerb)
    return muster::launcher::run_tend_verb({words.begin() + 2, words.end()}, environment, stderr);

  // Becomes another program, which must find the signals as they are.
  if (!words.empty() && muster::launcher::is_ssh_name(words[0]))
    return muster::launcher::run_ssh_verb({words.begin() + 1, words.end()}, environment, stderr);
  const bool is_rank = !torchrun && words.size() > 1 && words[1] == "rank";
  if (is_rank && muster::launcher::is_reported_above(environment))
    return muster::launcher::run_inner_rank_verb({words.begin() + 2, words.end()}, environment,
                                                 stderr);

  if (!words.empty() && muster::launcher::is_called_launcher(words[0]))
    return muster::launcher::run_called_launcher(words, environment, stderr);
  if (!words.empty() && muster::launcher::is_discovery_name(words[0]))
    return muster::launcher::run_discovery(environment, muster::RealFiles(), stdout, stderr);

  const auto setup = muster::launcher::init_process();
  if (!setup) return print(stderr, "muster: " + setup.error().text + "\n", muster::kExitOs);
  if (torchrun) {
    return run_job({Personality::kTorchrun, words[0], {words.begin() + 1, words.end()}},
                   environment, *setup);
  }
  if (!words.empty() && muster::launcher::is_rsh_name(words[0])) {
    return muster::launcher::run_rsh_verb({words.begin() + 1, words.end()}, environment, *setup,
                                          stdout, stderr);
  }
  const std::string verb = words.size() > 1 ? words[1] : "";
  const std::vector<std::string> rest(words.begin() + (words.size() > 1 ? 2 : 1), words.end());
  if (verb == "run") return run_job({Personality::kMuster, words[0], rest}, environment, *setup);
  if (verb == "local") return run_local_verb(rest, environment, *setup);
  if (verb == "rsh")
    return muster::launcher::run_rsh_verb(rest, environment, *setup, stdout, stderr);
  if (verb == "rank") return muster::launcher::run_rank_verb(rest, environment, *setup, stderr);
  if (verb == "status") return ask_agent(muster::launcher::run_status_verb, rest, environment);
  if (verb == "scale") return ask_agent(muster::launcher::run_scale_verb, rest, environment);
  if (verb == "store") return serve_store(rest, *setup);
  const bool is_version = verb == "version" || verb == "--version";
  if (is_version && !rest.empty()) {
    return print(stderr, "muster version: takes no arguments: " + rest[0] + "\n",
                 muster::kExitUsage);
  }
  if (is_version) return print(stdout, "muster " MUSTER_VERSION "\n", 0);
  if (verb == "help" || verb == "--help" || verb == "-h") return print(stdout, kUsage, 0);
  return print(stderr, complaint_about(verb) + "; `muster help` lists the verbs\n",
               muster::kExitUsage);
}
