#include "launcher/program/run_verb.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <string>

#include "base/interfaces.h"
#include "base/log.h"
#include "base/process/signal_policy.h"
#include "base/process/temporary_folder.h"
#include "base/process/verb_loop.h"
#include "base/text.h"
#include "base/unguessable.h"
#include "launcher/agent/agent.h"
#include "launcher/agent/node_agent.h"
#include "launcher/command_line/refusal.h"
#include "launcher/journal/journal.h"
#include "launcher/options/job_setup.h"
#include "launcher/output/console.h"
#include "launcher/program/drivers.h"
#include "launcher/program/front_end.h"
#include "launcher/program/own_sidecar.h"
#include "launcher/program/run_folder.h"
#include "launcher/program/status_service.h"
#include "launcher/progress/progress_watch.h"
#include "launcher/progress/trainer_door.h"
#include "launcher/report/error_file.h"
#include "launcher/report/exit_codes.h"
#include "launcher/report/termination_log.h"
#include "launcher/timeline/job_timeline.h"

namespace muster::launcher {

namespace {

// Programs that make sockets below have room for their names.
constexpr size_t kFolderNameBytes = 16;
// Of an agent, in the ids of its events.
constexpr size_t kMarkBytes = 12;

Result<RandomBytes> random_bytes() {
  RandomBytes bytes;
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return os_error("getrandom");
  return bytes;
}

// Up to the first dot: that is the pod's name in Kubernetes, and short enough for a prefix.
std::string short_host_name() {
  char name[HOST_NAME_MAX + 1] = "";
  if (gethostname(name, sizeof name - 1) != 0) return "localhost";
  return std::string(std::string_view(name).substr(0, std::string_view(name).find('.')));
}

std::string node_name(const Options& options) {
  return one_line(options.nodes.name.empty() ? short_host_name() : options.nodes.name);
}

int print(std::string_view text) {
  // Nothing is left to do about a stdout that takes no more bytes.
  (void)std::fwrite(text.data(), 1, text.size(), stdout);
  return kExitSuccess;
}

// The controller's name of the job, if it has one; else what the user calls it.
std::string job_name(const Options& options, const Contract* contract) {
  return contract != nullptr && !contract->job.empty() ? contract->job : options.run_id;
}

JournalPlace place_of(const Options& options, const Contract* contract) {
  return {.job = job_name(options, contract), .run_id = options.run_id, .node = node_name(options)};
}

void set_sink(const Options& options, const JournalPlace& place, Console& console) {
  // The lines of many nodes come together somewhere; their workers' lines are marked like this,
  // too.
  const bool json = options.log_format == "json";
  const std::string mark = has_many_nodes(options) && !json ? "[" + place.node + "] " : "";
  log::set_place({place.job, place.run_id, place.node});
  log::set_sink([&console, mark](std::string_view line) {
    console.write_agent_line(mark.empty() ? std::string(line) : mark + std::string(line));
  });
}

void set_up_log(const Options& options, const JournalPlace& place, Console& console) {
  log::set_level(log::parse_level(options.log_level).value_or(log::Level::kInfo));
  log::set_format(options.log_format == "json" ? log::Format::kJson : log::Format::kText);
  set_sink(options, place, console);
}

// An error before the first worker: one line for people or for who reads JSON, one for the pod's
// status, one for an outer scheduler.
int report_error(const Error& error, const Invocation& invocation,
                 const std::string& termination_log, const Environment& environment) {
  const int code = exit_code_of_error(invocation.personality, error);
  refuse_to_start({invocation.words, environment}, "muster", error, code, stderr);
  RealFiles files;
  write_termination_log(files, termination_log, one_line("muster: " + error.text));
  if (const auto reply = environment.get("TORCHELASTIC_ERROR_FILE"); reply && !reply->empty()) {
    // The line above has said it already; a reply file that cannot be written changes nothing.
    (void)write_reply_file(files, std::string(*reply), error, code, SystemClock().wall_now());
  }
  return code;
}

// Opens the status port of a conductor; empty = there is none.
using Serve = std::function<std::unique_ptr<StatusPort>(const AgentContext&,
                                                        const std::function<NodeFacts()>&)>;

// Lets a conductor of the job (Agent, NodeAgent) work until it is done.
template <typename Conductor>
Result<int> conduct(const AgentDoors& doors, const AgentContext& context, const Serve& serve,
                    OwnSidecar& sidecar) {
  Conductor conductor(doors, context, make_driver(context.options, context.contract));
  int exit_code = kExitInternal;
  conductor.on_finished([&exit_code, &doors](int code) {
    exit_code = code;
    doors.loop.stop();
  });
  MUSTER_RETURN_IF_ERROR(conductor.start());
  const std::unique_ptr<StatusPort> port =
      serve ? serve(context, [&conductor] { return conductor.facts(); }) : nullptr;
  MUSTER_RETURN_IF_ERROR(
      run_with_signals(doors.loop, context.setup.signal_fd.get(),
                       [&conductor, &context, &sidecar](const ReceivedSignal& signal) {
                         sidecar.note(signal, context.setup);
                         conductor.handle_signal(signal);
                       }));
  return exit_code;
}

Result<std::string> event_mark() {
  auto mark = unguessable_digits();
  if (mark) mark->resize(kMarkBytes);
  return mark;
}

// None: nobody asked for one.
Result<std::unique_ptr<Journal>> open_journal(const JournalPlace& place, const std::string& folder,
                                              const Clock& clock) {
  if (folder.empty()) return std::unique_ptr<Journal>();
  auto mark = event_mark();
  if (!mark) return std::move(mark).error();
  JournalOptions wanted{.folder = folder, .place = place, .mark = *std::move(mark)};
  return Journal::create(std::move(wanted), clock);
}

void log_contract(const Contract& contract) {
  std::vector<std::string> flags;
  for (const auto& [flag, text, source] : contract.values)
    flags.push_back(long_name(row_of(flag)) + " " + text);
  log::info("job.contract", {{"controller", contract.controller},
                             {"says", join(flags, " ")},
                             {"secret", contract.secret_file}});
}

// Workers whose script reports to the Trainer by itself reach the agent instead. None: nobody is
// told for the job, or there is no Trainer.
std::unique_ptr<TrainerDoor> open_trainer_door(const Options& options,
                                               const Environment& environment,
                                               const AgentDoors& doors, const std::string& folder,
                                               ProgressWatch& progress) {
  const auto words = words_of(options.report.targets);
  const bool wanted = std::ranges::find(words, "trainjob") != words.end();
  if (!wanted || !environment.has(kTrainerUrlVariable)) return nullptr;
  auto door =
      TrainerDoor::create(doors.loop, doors.network, doors.files, folder,
                          [&progress](const ProgressReport& report) { progress.take(0, report); });
  if (door) return *std::move(door);
  log::warning("report.failed",
               {{"error", door.error().text},
                {"action", "going on; scripts may report to the Trainer as well"}});
  return nullptr;
}

Result<int> run_agent(const CommandLine& command_line, const Environment& environment,
                      const ProcessSetup& setup) {
  const auto token = unguessable_digits();
  if (!token) return Error(token.error());
  const auto folder = unguessable_digits();
  if (!folder) return Error(folder.error());
  Options options = command_line.options;
  const Contract* const contract = command_line.contract ? &*command_line.contract : nullptr;
  auto made = VerbLoop::create();
  if (!made) return std::move(made).error();
  VerbLoop& verb = **made;
  Console console(verb.loop());
  const JournalPlace place = place_of(options, contract);
  set_up_log(options, place, console);
  RealFiles files;
  options.report.targets = usable_targets(options.report.targets, environment, files);
  const TemporaryPlace temporary = find_temporary_place(files, environment);
  auto run_folder = RunFolder::choose(options, files, temporary.folder);
  if (!run_folder) return std::move(run_folder).error();
  auto journal = open_journal(place, (*run_folder)->path(), verb.clock());
  if (!journal) return std::move(journal).error();
  for (const std::string& warning : options.warnings)
    log::warning("options.warning", {{"text", warning}});
  if (contract != nullptr) log_contract(*contract);
  DnsResolver resolver(verb.loop());
  const AgentDoors doors{verb.loop(),    verb.clock(), verb.processes(), files,
                         verb.network(), resolver,     console};
  std::unique_ptr<StatusService> status;
  const auto status_place = status_address(options, environment, contract != nullptr);
  if (status_place) {
    auto mark = event_mark();
    if (!mark) return std::move(mark).error();
    status = std::make_unique<StatusService>(doors, place, journal->get(), *std::move(mark));
  }
  if (!temporary.problem.empty()) {
    log::warning("temp.elsewhere",
                 {{"error", temporary.problem}, {"action", "going on in " + temporary.folder}});
  }
  const std::string own_folder =
      // Not of the token, which is in the name of a socket that everybody sees: whoever knows this
      // name before the folder is made can be there first.
      temporary.folder + "/muster-" + folder->substr(0, kFolderNameBytes);
  OwnSidecar sidecar(verb.loop(), verb.processes());
  sidecar.start(options, (*run_folder)->path(), (*run_folder)->is_own(), environment, setup);
  if (sidecar.pid() != 0) (*run_folder)->hand_over();
  ProgressWatch progress(verb.loop(), own_folder, options.progress_pattern);
  JobTimeline timeline(verb.loop(), verb.clock());
  const auto door = open_trainer_door(options, environment, doors, (*run_folder)->path(), progress);
  const AgentContext context{
      .options = options,
      .environment = environment,
      .setup = setup,
      .job = place.job,
      .node = place.node,
      .token = *token,
      .temp_dir = temporary.folder,
      .folder = own_folder,
      .is_pid_one = getpid() == 1,
      .progress = &progress,
      .timeline = &timeline,
      .contract = contract,
      .worker_variables = door ? door->variables() : std::vector<PlannedVariable>(),
      .sidecar = sidecar.pid(),
      .renamed = [&options, &console, keeper = journal->get(), &status](const std::string& job,
                                                                        const std::string& node) {
        const JournalPlace other{.job = job, .run_id = options.run_id, .node = node};
        set_sink(options, other, console);
        if (keeper != nullptr) keeper->set_place(other);
        if (status) status->set_place(other);
      }};
  Serve serve;
  if (status) {
    serve = [&status, &status_place](const AgentContext& served,
                                     const std::function<NodeFacts()>& facts) {
      return status->serve(*status_place, served, facts);
    };
  }
  auto code = needs_node_agent(options) ? conduct<NodeAgent>(doors, context, serve, sidecar)
                                        : conduct<Agent>(doors, context, serve, sidecar);
  console.log_problems();
  journal->reset();  // so that the sidecar sees the agent's end
  sidecar.finish(setup);
  log::set_sink({});
  return code;
}

// A pod in which others start what shall run. It ends well: it is the others who know how the job
// went.
Result<int> hold(const Contract& contract, const ProcessSetup& setup) {
  auto made = VerbLoop::create();
  if (!made) return std::move(made).error();
  VerbLoop& verb = **made;
  log::info("job.holds", {{"controller", contract.controller}, {"job", contract.job}});
  MUSTER_RETURN_IF_ERROR(verb.run(setup.signal_fd.get(), [&](const ReceivedSignal& signal) {
    const auto response = respond_to(signal.number, {}, setup.ignored_at_start);
    if (response == SignalResponse::kStop) verb.stop();
    while (response == SignalResponse::kReap && verb.processes().reap()) continue;
  }));
  return kExitSuccess;
}

}  // namespace

int run_job(const Invocation& invocation, const Environment& environment,
            const ProcessSetup& setup) {
  const auto random = random_bytes();
  if (!random) return report_error(random.error(), invocation, "", environment);
  const RealFiles files;
  if (const Status became = become_front_end(invocation, environment, setup); !became)
    return report_error(became.error(), invocation, "", environment);
  const auto own_name = host_name();
  const PodFacts pod{environment, files, own_name ? *own_name : ""};
  auto command_line = read_command_line(invocation, environment, *random, &pod);
  if (!command_line) return report_error(command_line.error(), invocation, "", environment);
  if (command_line->print) return print(*command_line->print);
  const Options& options = command_line->options;
  const bool holds = command_line->contract && command_line->contract->holds;
  auto code = holds ? hold(*command_line->contract, setup)
                    : run_agent(*command_line, job_environment(*command_line, environment), setup);
  if (!code) return report_error(code.error(), invocation, options.termination_log, environment);
  return *code;
}

}  // namespace muster::launcher
