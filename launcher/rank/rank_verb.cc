#include "launcher/rank/rank_verb.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <functional>
#include <limits>
#include <utility>

#include "base/exit_code.h"
#include "base/files.h"
#include "base/process/verb_loop.h"
#include "base/text.h"
#include "launcher/rank/rank_network.h"
#include "launcher/rank/rank_runner.h"
#include "launcher/rank/rank_streams.h"
#include "mpi/launch/program_libraries.h"
#include "mpi/rank/rank_variables.h"
#include "rendezvous/wire/job_secret.h"

namespace muster::launcher {

namespace {

constexpr const char* kUsage = "a command must follow: muster rank -- PROGRAM [arguments]";

// What follows the verb.
struct RankWords {
  uint32_t launcher = 0;
  std::vector<std::string> command;
};

std::optional<RankWords> parse_rank_words(const std::vector<std::string>& words) {
  RankWords found;
  size_t at = 0;
  if (!words.empty() && words[0].starts_with(mpi::kRankLauncherFlag)) {
    const auto number = parse_integer(words[at++].substr(mpi::kRankLauncherFlag.size()));
    if (!number || *number <= 0 || *number > std::numeric_limits<pid_t>::max()) return std::nullopt;
    found.launcher = static_cast<uint32_t>(*number);
  }
  if (at + 1 >= words.size() || words[at] != "--") return std::nullopt;
  found.command.assign(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end());
  return found;
}

constexpr std::string_view kVerb = "muster rank";

Error config(std::string text) { return {Code::kConfig, 0, std::move(text)}; }

std::optional<uint32_t> number_in(const Environment& environment, std::string_view name) {
  const auto value = environment.get(name);
  const auto number = value ? parse_integer(*value) : std::nullopt;
  if (!number || *number < 0 || *number > std::numeric_limits<int>::max()) return std::nullopt;
  return static_cast<uint32_t>(*number);
}

// PMI_FD, when it is what it says.
UniqueFd inherited_pmi(const Environment& environment) {
  const auto number = number_in(environment, "PMI_FD");
  struct stat info {};
  if (!number || *number <= 2 || fstat(static_cast<int>(*number), &info) != 0) return UniqueFd();
  return S_ISSOCK(info.st_mode) ? UniqueFd(static_cast<int>(*number)) : UniqueFd();
}

// Whom Hydra and Intel MPI pass no input to has a pipe that they do not close as long as the job
// runs; rank 0 of Open MPI 5.0.11 sees no end of /dev/null either.
UniqueFd input_of(const RankPlace& place, const Environment& environment) {
  const auto wanted = environment.get(mpi::kRankInputVariable);
  const bool hydra = !environment.get("OMPI_COMM_WORLD_RANK") && environment.get("PMI_RANK");
  const bool others = hydra && place.rank != 0 && wanted != mpi::kInputAsGiven;
  if (wanted != mpi::kNoInput && !others) return UniqueFd();
  return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));  // not open: as it was given
}

// Open MPI takes a program that is not on PATH from the working directory, as nothing else does.
Result<std::string> find_rank_program(const Files& files, const std::string& name,
                                      const Environment& environment) {
  auto found = find_program(files, name, search_path(environment));
  if (found || !environment.has("OMPI_COMM_WORLD_RANK")) return found;
  auto here = find_program(files, "./" + name, search_path(environment));
  return here ? here : found;
}

// A program of one MPI under the launcher of another is a job of one rank, N times.
Status check_implementation(const Files& files, const std::string& program, const RankPlace& place,
                            const Environment& environment) {
  const bool open_mpi = environment.has("OMPI_COMM_WORLD_RANK");
  if (place.size == 1 || (!open_mpi && !environment.has("PMI_RANK"))) return {};
  const auto image = files.read(program, mpi::kMaxProgramBytes);
  const auto built =
      image ? mpi::implementation_needed(mpi::needed_libraries(*image)) : std::nullopt;
  const mpi::Implementation launcher =
      open_mpi ? mpi::Implementation::kOpenMpi : mpi::Implementation::kMpich;
  if (!built || mpi::runs_under(*built, launcher)) return {};
  const std::string theirs = open_mpi ? "Open MPI" : "MPICH or Intel MPI";
  return config("'" + program + "' was built for " + std::string(to_string(*built)) +
                ", and the mpirun of " + theirs +
                " started it: each rank would be a job of its own; call the mpirun of " +
                std::string(to_string(*built)));
}

// Of a rank on the launcher's node the launcher's own, else those of its daemon.
std::string of_its_node(const Environment& environment, std::string_view name,
                        std::string_view on_launchers_node) {
  const auto value = environment.get(name);
  return std::string(value ? *value : environment.get(on_launchers_node).value_or(""));
}

std::string node_of(const Environment& environment) {
  return of_its_node(environment, mpi::kRankNodeVariable, mpi::kLauncherNodeVariable);
}

std::string logs_of(const Environment& environment) {
  return of_its_node(environment, mpi::kRankLogsVariable, mpi::kLauncherLogsVariable);
}

Result<RankStreams> streams_of(const Environment& environment) {
  const auto text = environment.get(mpi::kRankStreamsVariable);
  return text ? parse_rank_streams(*text) : RankStreams{};
}

struct Outcome {
  int exit_code = kExitInternal;
  std::string why;
};

Result<Outcome> run(const RankWords& words, const Environment& environment,
                    const ProcessSetup& setup) {
  const auto place = rank_place(environment);
  if (!place)
    return config(
        "no launcher of MPI has started it: neither PMI_RANK nor Open MPI's nor "
        "HOROVOD_RANK");
  auto report = parse_rank_report(environment.get(mpi::kRankReportVariable).value_or(""));
  if (!report) return std::move(report).error();
  RealFiles files;
  const auto tls = rendezvous::tls_from_secret(environment, files);
  if (!tls) return Error(tls.error());
  auto program = find_rank_program(files, words.command[0], environment);
  if (program) {
    if (const Status fits = check_implementation(files, *program, *place, environment); !fits)
      program = Error(fits.error());
  }
  const RankOrigin origin =
      rank_origin(environment).value_or(RankOrigin{.launcher = words.launcher});
  auto made = VerbLoop::create();
  if (!made) return std::move(made).error();
  VerbLoop& verb = **made;
  auto streams = streams_of(environment);
  if (!streams) return std::move(streams).error();
  auto ranks_own = with_network(environment);
  if (!ranks_own) return std::move(ranks_own).error();
  Console console(verb.loop());
  Outcome outcome;
  (void)prctl(PR_SET_NAME, mpi::kRankProcessName);  // cannot fail
  RankRunner runner(
      {.loop = verb.loop(),
       .network = verb.network(),
       .processes = verb.processes(),
       .files = files,
       .console = console,
       .tls = tls->get(),
       .setup = setup,
       .agent = report->address,
       .rank = {.run_id = report->run_id,
                .agent = report->agent,
                .node = std::string(environment.get(mpi::kRankNodeVariable).value_or("")),
                .round = report->round,
                .rank = place->rank,
                .size = place->size,
                .launcher = origin.launcher,
                .world = origin.world},
       .program = std::move(program),
       .arguments = words.command,
       .environment = *std::move(ranks_own),
       .label = {.rank = static_cast<int>(place->rank),
                 .local_rank = place->local_rank,
                 .role_name = streams->role,
                 .node = node_of(environment)},
       .streams = output_options(*streams, static_cast<int>(place->size), logs_of(environment)),
       .pmi_fd = inherited_pmi(environment),
       .input = input_of(*place, environment)},
      [&outcome, &verb](int exit_code, const std::string& why) {
        outcome.exit_code = exit_code;
        outcome.why = why;
        verb.stop();
      });
  runner.start();
  MUSTER_RETURN_IF_ERROR(verb.run(setup.signal_fd.get(), [&runner](const ReceivedSignal& signal) {
    runner.handle_signal(signal);
  }));
  return outcome;
}

}  // namespace

std::optional<RankPlace> rank_place(const Environment& environment) {
  struct Names {
    const char* rank;
    const char* size;
    const char* local_rank;
  };
  constexpr Names kNames[] = {
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
      {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
      {"HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK"}};
  for (const Names& names : kNames) {
    const auto rank = number_in(environment, names.rank);
    const auto size = number_in(environment, names.size);
    if (!rank || !size || *rank >= *size) continue;
    return RankPlace{*rank, *size,
                     static_cast<int>(number_in(environment, names.local_rank).value_or(0))};
  }
  return std::nullopt;
}

// "prterun-HOST-PID@2" of Open MPI 5; in 4 a number whose upper half stays the same.
std::optional<RankOrigin> rank_origin(const Environment& environment) {
  constexpr unsigned kJobBits = 16;
  std::string family;
  std::optional<int64_t> world;
  if (const auto space = environment.get("PMIX_NAMESPACE")) {
    const size_t at = space->rfind('@');
    if (at != std::string_view::npos) {
      family = space->substr(0, at);
      world = parse_integer(space->substr(at + 1));
    } else if (const auto number = parse_integer(*space); number && *number >= 0) {
      family = std::to_string(*number >> kJobBits);
      world = *number & ((1 << kJobBits) - 1);
    }
    if (world) --*world;  // its first is 1
  } else if (const auto launch = environment.get("I_MPI_HYDRA_UUID")) {
    family = *launch;
    world = parse_integer(environment.get("HYDRA_BSTRAP_PGID").value_or(""));
  }
  if (!world || *world < 0 || *world > std::numeric_limits<int>::max()) return std::nullopt;
  const size_t hash = std::hash<std::string>{}(family);
  return RankOrigin{static_cast<uint32_t>(hash) | 1, static_cast<uint32_t>(*world)};
}

Result<RankReport> parse_rank_report(std::string_view text) {
  const std::string name(mpi::kRankReportVariable);
  if (text.empty())
    return config(name + " is not set: no agent of `muster run --framework mpi` is above it");
  const auto words = split(text, ' ');
  constexpr size_t kWords = 4;  // and a run id may have spaces
  if (words.size() < kWords) return config(name + ": four words are wanted");
  const std::string_view address = words[0];
  const size_t colon = address.rfind(':');
  auto host = parse_numeric_host(address.substr(0, colon));
  const auto port = colon == std::string_view::npos ? std::optional<int64_t>()
                                                    : parse_integer(address.substr(colon + 1));
  uint64_t agent = 0;
  const bool has_agent =
      std::from_chars(words[1].data(), words[1].data() + words[1].size(), agent).ec == std::errc();
  const auto round = parse_integer(words[2]);
  const bool valid = host && port && *port > 0 && *port <= UINT16_MAX && has_agent && round &&
                     *round > 0 && *round <= std::numeric_limits<uint32_t>::max();
  if (!valid) return config(name + " '" + std::string(text) + "' means nothing");
  return RankReport{{*host, static_cast<uint16_t>(*port)},
                    agent,
                    static_cast<uint32_t>(*round),
                    std::string(text.substr(static_cast<size_t>(words[3].data() - text.data())))};
}

int run_rank_verb(const std::vector<std::string>& words, const Environment& environment,
                  const ProcessSetup& setup, std::FILE* errors) {
  const auto parsed = parse_rank_words(words);
  if (!parsed) return complain(errors, kVerb, kUsage, kExitUsage);
  auto outcome = run(*parsed, environment, setup);
  if (!outcome) {
    return complain(errors, kVerb, outcome.error().text, exit_code_of(outcome.error()));
  }
  return outcome->why.empty() ? outcome->exit_code
                              : complain(errors, kVerb, outcome->why, outcome->exit_code);
}

bool is_reported_above(const Environment& environment) {
  return environment.get(mpi::kRankReportVariable) == mpi::kReportedAbove;
}

int run_inner_rank_verb(const std::vector<std::string>& words, const Environment& environment,
                        std::FILE* errors) {
  const auto parsed = parse_rank_words(words);
  if (!parsed) return complain(errors, kVerb, kUsage, kExitUsage);
  const std::vector<std::string>& command = parsed->command;
  const auto program = find_rank_program(RealFiles(), command[0], environment);
  const Error why =
      program ? become_program(*program, command, environment.to_exec_strings()) : program.error();
  return complain(errors, kVerb, why.text, start_failure_code(why.os_errno));
}

}  // namespace muster::launcher
