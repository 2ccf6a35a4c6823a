#include "mpi/rank/rank_verb.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <limits>
#include <utility>

#include "base/exit_code.h"
#include "base/files.h"
#include "base/process/verb_loop.h"
#include "base/text.h"
#include "mpi/rank/rank_runner.h"
#include "mpi/rank/rank_variables.h"
#include "rendezvous/wire/job_secret.h"

namespace muster::mpi {

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
  if (!words.empty() && words[0].starts_with(kRankLauncherFlag)) {
    const auto number = parse_integer(words[at++].substr(kRankLauncherFlag.size()));
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
  const auto wanted = environment.get(kRankInputVariable);
  const bool hydra = !environment.get("OMPI_COMM_WORLD_RANK") && environment.get("PMI_RANK");
  const bool others = hydra && place.rank != 0 && wanted != kInputAsGiven;
  if (wanted != kNoInput && !others) return UniqueFd();
  return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));  // not open: as it was given
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
  auto report = parse_rank_report(environment.get(kRankReportVariable).value_or(""));
  if (!report) return std::move(report).error();
  const RealFiles files;
  const auto tls = rendezvous::tls_from_secret(environment, files);
  if (!tls) return Error(tls.error());
  auto program = find_program(files, words.command[0], search_path(environment));
  auto made = VerbLoop::create();
  if (!made) return std::move(made).error();
  VerbLoop& verb = **made;
  Outcome outcome;
  (void)prctl(PR_SET_NAME, kRankProcessName);  // cannot fail
  RankRunner runner({.loop = verb.loop(),
                     .network = verb.network(),
                     .processes = verb.processes(),
                     .files = files,
                     .tls = tls->get(),
                     .setup = setup,
                     .agent = report->agent,
                     .rank = {.run_id = report->run_id,
                              .node = std::string(environment.get(kRankNodeVariable).value_or("")),
                              .round = report->round,
                              .rank = place->rank,
                              .size = place->size,
                              .launcher = words.launcher},
                     .program = std::move(program),
                     .arguments = words.command,
                     .environment = environment,
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
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
      {"PMI_RANK", "PMI_SIZE"},
      {"HOROVOD_RANK", "HOROVOD_SIZE"}};
  for (const auto& [rank_name, size_name] : kNames) {
    const auto rank = number_in(environment, rank_name);
    const auto size = number_in(environment, size_name);
    if (rank && size && *rank < *size) return RankPlace{*rank, *size};
  }
  return std::nullopt;
}

Result<RankReport> parse_rank_report(std::string_view text) {
  const std::string name(kRankReportVariable);
  if (text.empty())
    return config(name + " is not set: no agent of `muster run --framework mpi` is above it");
  const size_t first = text.find(' ');
  const size_t second = first == std::string_view::npos ? first : text.find(' ', first + 1);
  if (second == std::string_view::npos) return config(name + ": three words are wanted");
  const std::string_view address = text.substr(0, first);
  const size_t colon = address.rfind(':');
  auto host = parse_numeric_host(address.substr(0, colon));
  const auto port = colon == std::string_view::npos ? std::optional<int64_t>()
                                                    : parse_integer(address.substr(colon + 1));
  const auto round = parse_integer(text.substr(first + 1, second - first - 1));
  const bool valid = host && port && *port > 0 && *port <= UINT16_MAX && round && *round > 0 &&
                     *round <= std::numeric_limits<uint32_t>::max();
  if (!valid) return config(name + " '" + std::string(text) + "' means nothing");
  return RankReport{{*host, static_cast<uint16_t>(*port)},
                    static_cast<uint32_t>(*round),
                    std::string(text.substr(second + 1))};
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
  return environment.get(kRankReportVariable) == kReportedAbove;
}

int run_inner_rank_verb(const std::vector<std::string>& words, const Environment& environment,
                        std::FILE* errors) {
  const auto parsed = parse_rank_words(words);
  if (!parsed) return complain(errors, kVerb, kUsage, kExitUsage);
  const std::vector<std::string>& command = parsed->command;
  const auto program = find_program(RealFiles(), command[0], search_path(environment));
  const Error why =
      program ? become_program(*program, command, environment.to_exec_strings()) : program.error();
  return complain(errors, kVerb, why.text, start_failure_code(why.os_errno));
}

}  // namespace muster::mpi
