#include "launcher/frameworks/mpi/mpi_launcher.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/process/process_marks.h"
#include "base/socket.h"
#include "base/text.h"
#include "mpi/launch/launch_env.h"
#include "mpi/launch/rank_agent.h"
#include "mpi/rank/rank_variables.h"
#include "mpi/ssh/tend_verb.h"
#include "rendezvous/wire/job_secret.h"

namespace muster::launcher {

namespace {

using mpi::Implementation;

constexpr int kNewOpenMpi = 5;  // the first with prted in place of orted
constexpr int kOldOpenMpi = 4;

// What lies beside a launcher is what it starts on other nodes.
std::optional<Implementation> identify_by_daemon(const Files& files, const std::string& folder) {
  const auto has = [&files, &folder](std::string_view name) {
    return files.exists(folder + "/" + std::string(name));
  };
  if (has("hydra_bstrap_proxy")) return Implementation::kIntelMpi;
  const bool open_mpi = has("prted") || has("orted");
  const bool hydra = has("hydra_pmi_proxy");
  if (open_mpi == hydra) return std::nullopt;  // neither, or both, as in Debian's /usr/bin
  return open_mpi ? Implementation::kOpenMpi : Implementation::kMpich;
}

// Hydra would hand the launcher's whole environment to ranks whose pods have their own.
std::vector<std::string> environment_words(Implementation implementation,
                                           const std::vector<PlannedVariable>& settings) {
  if (implementation == Implementation::kOpenMpi) return {};
  std::vector<std::string> names = {std::string(mpi::kRankReportVariable)};
  for (const auto& setting : settings) {
    if (setting.value) names.push_back(setting.name);
  }
  return {"-genvlist", join(names, ",")};
}

bool has_ipv4(const std::vector<InterfaceAddress>& addresses, const std::string& interface) {
  return std::any_of(addresses.begin(), addresses.end(), [&interface](const auto& address) {
    return address.interface == interface && address.host.find(':') == std::string::npos;
  });
}

std::optional<FoundLauncher> find_launcher_in(const Files& files, std::string_view folder,
                                              const std::vector<Implementation>& candidates) {
  for (const Implementation implementation : candidates) {
    for (const std::string_view name : mpi::launcher_names(implementation)) {
      auto path = find_program(files, std::string(name), folder);
      if (!path) continue;
      const auto kind = identify_launcher(files, *path);
      if (kind && kind->implementation == implementation) return FoundLauncher{*path, *kind};
    }
  }
  return std::nullopt;
}

}  // namespace

EnvironmentPlan launcher_environment(const Environment& agent) {
  EnvironmentPlan plan;
  plan.add(EnvironmentLayer::kDefault, mpi::outer_ranks(agent));  // a driver may set the same names
  plan.add(EnvironmentLayer::kAgent, rendezvous::secret_variables(agent));
  return plan;
}

PlannedVariable launcher_variable(std::string_view name, std::string value, std::string reason) {
  return {.name = std::string(name),
          .value = std::move(value),
          .reason = std::move(reason),
          .source = "muster",
          .claim = Claim::kOverrides};
}

std::optional<mpi::Launcher> identify_launcher(const Files& files, const std::string& path) {
  const std::string real = follow_links(files, path);
  auto implementation = mpi::identify_path(real);
  if (!implementation) implementation = identify_by_daemon(files, folder_of(real));
  if (!implementation) return std::nullopt;
  mpi::Launcher launcher{.implementation = *implementation};
  if (*implementation == Implementation::kOpenMpi)
    launcher.major = files.exists(folder_of(real) + "/prted") ? kNewOpenMpi : kOldOpenMpi;
  return launcher;
}

// Folder by folder: who puts an MPI in front of the system's on PATH means that one.
Result<FoundLauncher> find_launcher(const Files& files, std::string_view search_path,
                                    const std::vector<Implementation>& wanted) {
  std::vector<Implementation> candidates = wanted;
  if (wanted.empty())
    candidates.assign(mpi::kAllImplementations.begin(), mpi::kAllImplementations.end());
  std::vector<std::string> tried;
  std::string whose = wanted.empty() ? "an MPI" : "";
  for (const Implementation each : wanted)
    whose += (whose.empty() ? "" : " or ") + std::string(mpi::to_string(each));
  for (const std::string_view folder : split(search_path, ':')) {
    auto found = find_launcher_in(files, folder, candidates);
    if (found) return *std::move(found);
  }
  for (const Implementation implementation : candidates) {
    for (const std::string_view name : mpi::launcher_names(implementation)) {
      if (std::find(tried.begin(), tried.end(), name) == tried.end()) tried.emplace_back(name);
    }
  }
  return Error{Code::kExec, ENOENT,
               "no launcher of " + whose + " on PATH '" + std::string(search_path) +
                   "': looked for " + join(tried, ", ")};
}

PlannedVariable temp_folder_variable(const std::string& folder) {
  return launcher_variable("TMPDIR", folder,
                           "nodes on one machine would share the launcher's session");
}

bool is_launcher_name(std::string_view program) {
  return mpi::is_launcher_name(base_name(program));
}

FoundLauncher without_script(const Files& files, FoundLauncher launcher) {
  const bool intel = launcher.kind.implementation == Implementation::kIntelMpi;
  if (!intel || !is_script(files, launcher.path)) return launcher;
  const std::string path = folder_of(follow_links(files, launcher.path)) + "/mpiexec.hydra";
  if (files.check_executable(path)) launcher.path = path;
  return launcher;
}

Route route_of(const std::vector<InterfaceAddress>& addresses, const std::string& host) {
  in_addr wanted{};
  const bool v4 = inet_pton(AF_INET, host.c_str(), &wanted) == 1;
  for (const InterfaceAddress& address : addresses) {
    if (!v4) {
      if (address.host == host)
        return {address.interface, "", has_ipv4(addresses, address.interface)};
      continue;
    }
    in_addr own{};
    if (inet_pton(AF_INET, address.host.c_str(), &own) != 1) continue;
    const uint32_t mask = address.prefix_bits == 0 ? 0 : ~uint32_t{0} << (32 - address.prefix_bits);
    // Every address of 127.0.0.0/8 is the loopback interface's, listed or not.
    const bool same =
        address.host == host ||
        (address.is_loopback && (ntohl(own.s_addr) & mask) == (ntohl(wanted.s_addr) & mask));
    if (!same) continue;
    in_addr network{htonl(ntohl(own.s_addr) & mask)};
    char text[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &network, text, sizeof text);
    return {address.interface, std::string(text) + "/" + std::to_string(address.prefix_bits)};
  }
  return {};
}

Route own_route(const std::string& host) {
  const auto addresses = interface_addresses();
  return addresses ? route_of(*addresses, host) : Route{};
}

std::optional<uint64_t> bytes_written(const Files& files, pid_t pid) {
  // proc(5), /proc/PID/io: "wchar: N", lines like it before and after.
  constexpr std::string_view kName = "wchar: ";
  const auto text = files.read("/proc/" + std::to_string(pid) + "/io");
  if (!text) return std::nullopt;
  for (const std::string_view line : split(*text, '\n')) {
    const auto bytes =
        line.starts_with(kName) ? parse_integer(line.substr(kName.size())) : std::nullopt;
    if (bytes && *bytes >= 0) return static_cast<uint64_t>(*bytes);
  }
  return std::nullopt;
}

namespace {

// Intel MPI's option for it.
bool says_input(const MpiLaunchPlan& plan) {
  const auto& words = plan.command.words;
  const size_t options = std::min(plan.watch.options, words.size());
  return std::any_of(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(options),
                     [](std::string_view word) { return word == "-s" || word == "--s"; });
}

// "" = as it is.
std::string rank_input(const MpiLaunchPlan& plan) {
  if (!plan.facts.wants_stdin) return std::string(mpi::kNoInput);
  return says_input(plan) ? std::string(mpi::kInputAsGiven) : "";
}

// Below a process of ours: what the launcher says at its end may be untrue.
void put_tender(const std::string& muster, JobLauncher& launcher) {
  const std::string words[] = {"muster", std::string(mpi::kTendVerb), launcher.program};
  launcher.arguments.insert(launcher.arguments.begin(), std::begin(words), std::end(words));
  launcher.program = muster;
}

}  // namespace

std::string rank_agent(const std::string& muster) {
  return muster + " " + std::string(kRankVerb) + " --";
}

Result<PlannedLaunch> plan_mpi_launch(const MpiLaunchPlan& plan, const Environment& user) {
  auto settings = mpi::launch_settings(plan.facts);
  if (!settings) return std::move(settings).error();
  PlannedLaunch launch;
  // Without agents the user's ssh is what reaches the nodes.
  const std::string& rsh = plan.facts.rsh_program;
  if (plan.watched) launch.shells = mpi::replace_shell_settings(*settings, user);
  EnvironmentPlan variables = launcher_environment(user);
  variables.add(EnvironmentLayer::kMpi, *settings);
  variables.add(EnvironmentLayer::kMpi,
                launcher_variable(mpi::kRankReportVariable, plan.report, "whom a rank reports to"));
  variables.add(EnvironmentLayer::kAgent, launcher_variable(kAgentIdVariable, plan.agent_token,
                                                            "marks everything this agent started"));
  if (const auto input = rank_input(plan); !input.empty()) {
    variables.add(EnvironmentLayer::kMpi,
                  launcher_variable(mpi::kRankInputVariable, input, "which ranks have a stdin"));
  }
  const std::string agent = rank_agent(plan.muster);
  const bool by_variable = plan.watched && plan.watch.by_variable;
  if (by_variable) variables.add(EnvironmentLayer::kMpi, mpi::rank_agent_settings(agent, user));
  if (!plan.temp_folder.empty())
    variables.add(EnvironmentLayer::kMpi, temp_folder_variable(plan.temp_folder));
  variables.add(EnvironmentLayer::kAgent, plan.needed_variables);
  variables.add(EnvironmentLayer::kFabric, plan.network);
  PlannedEnvironment planned = variables.merge(user);
  launch.decisions = std::move(planned.decisions);
  JobLauncher& launcher = launch.launcher;
  launcher.environment = planned.environment.to_exec_strings();
  launcher.name = base_name(plan.path);
  launcher.program = plan.path;
  if (plan.users_own) {
    launcher.arguments = plan.command.words;
    if (plan.watched) {
      for (auto& shell : mpi::replace_shell_words(launcher.arguments, rsh, plan.facts.rsh_words))
        launch.shells.push_back(std::move(shell));
    }
    if (by_variable) mpi::put_rank_agent(agent, plan.watch.options, launcher.arguments);
    put_rank_words(plan.muster, plan.watch.programs, launcher.arguments);
    if (!plan.watched) put_tender(plan.muster, launcher);
    return launch;
  }
  launcher.arguments = {plan.path};
  const auto add = [&launcher](const std::vector<std::string>& words) {
    launcher.arguments.insert(launcher.arguments.end(), words.begin(), words.end());
  };
  add(mpi::launch_arguments(plan.facts));
  // Nothing but the launcher's environment reaches ranks on nodes without an agent.
  if (plan.watched) add(environment_words(plan.facts.launcher.implementation, *settings));
  add({"-n", std::to_string(plan.world_size)});
  if (plan.watched && !by_variable) add({plan.muster, std::string(kRankVerb), "--"});
  add(plan.command.words);
  if (!plan.watched) put_tender(plan.muster, launcher);
  return launch;
}

}  // namespace muster::launcher
