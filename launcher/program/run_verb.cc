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
#include "launcher/program/event_records.h"
#include "launcher/program/front_end.h"
#include "launcher/program/own_sidecar.h"
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

// Lets a conductor of the job (Agent, NodeAgent) work until it is done.
template <typename Conductor>
Result<int> conduct(const AgentDoors& doors, const AgentContext& context, EventRecords& records) {
  Conductor conductor(doors, context, make_driver(context.options, context.contract));
  int exit_code = kExitInternal;
  conductor.on_finished([&exit_code, &doors](int code) {
    exit_code = code;
    doors.loop.stop();
  });
  MUSTER_RETURN_IF_ERROR(conductor.start());
  const std::unique_ptr<StatusPort> port =
      records.serve(context, [&conductor] { return conductor.facts(); });
  MUSTER_RETURN_IF_ERROR(run_with_signals(doors.loop, context.setup.signal_fd.get(),
                                          [&conductor, &records](const ReceivedSignal& signal) {
                                            records.note(signal);
                                            conductor.handle_signal(signal);
                                          }));
  return exit_code;
}

// What is to be told of how this agent starts, once there is somebody to hear it.
void log_start(const Options& options, const Contract* contract, const TemporaryPlace& temporary) {
  for (const std::string& warning : options.warnings)
    log::warning("options.warning", {{"text", warning}});
  if (contract != nullptr) {
    std::vector<std::string> flags;
    for (const auto& [flag, text, source] : contract->values)
      flags.push_back(long_name(row_of(flag)) + " " + text);
    log::info("job.contract", {{"controller", contract->controller},
                               {"says", join(flags, " ")},
                               {"secret", contract->secret_file}});
  }
  if (!temporary.problem.empty()) {
    log::warning("temp.elsewhere",
                 {{"error", temporary.problem}, {"action", "going on in " + temporary.folder}});
  }
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
  // Not of the token, which is in the name of a socket that everybody sees: whoever knows the
  // folder's name before it is made can be there first.
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
  DnsResolver resolver(verb.loop());
  const AgentDoors doors{verb.loop(),    verb.clock(), verb.processes(), files,
                         verb.network(), resolver,     console};
  options.report.targets = usable_targets(options.report.targets, environment, files);
  const TemporaryPlace temporary = find_temporary_place(files, environment);
  auto kept = EventRecords::create(doors, {.options = options,
                                           .environment = environment,
                                           .setup = setup,
                                           .place = place,
                                           .has_contract = contract != nullptr,
                                           .temp_dir = temporary.folder});
  if (!kept) return std::move(kept).error();
  EventRecords& records = **kept;
  log_start(options, contract, temporary);
  const std::string own_folder =
      temporary.folder + "/muster-" + folder->substr(0, kFolderNameBytes);
  ProgressWatch progress(verb.loop(), own_folder, options.progress_pattern);
  JobTimeline timeline(verb.loop(), verb.clock());
  const auto door = open_trainer_door(options, environment, doors, records.folder(), progress);
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
      .sidecar = records.sidecar(),
      .renamed = [&options, &console, &records](const std::string& job, const std::string& node) {
        const JournalPlace other{.job = job, .run_id = options.run_id, .node = node};
        set_sink(options, other, console);
        records.set_place(other);
      }};
  auto code = needs_node_agent(options) ? conduct<NodeAgent>(doors, context, records)
                                        : conduct<Agent>(doors, context, records);
  console.log_problems();
  records.finish();
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
