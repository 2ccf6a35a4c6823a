#include "mpi/rsh/rsh_request.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/text.h"
#include "mpi/launch/rsh_command_line.h"
#include "mpi/rsh/rsh_environment.h"

namespace muster::mpi {

namespace {

constexpr size_t kShownNameBytes = 60;
constexpr std::array<std::string_view, 5> kDaemons = {"orted", "prted", "hydra_pmi_proxy",
                                                      "hydra_bstrap_proxy", "pmi_proxy"};

// "\"/usr/bin/hydra_pmi_proxy\"" -> "hydra_pmi_proxy".
std::string_view program_in(std::string_view word) {
  while (!word.empty() && (word.front() == '"' || word.front() == '(')) word.remove_prefix(1);
  while (!word.empty() && (word.back() == '"' || word.back() == ';')) word.remove_suffix(1);
  return base_name(word);
}

// Open MPI 4.1 without tree spawn: orted forks, its first process ends at once, the daemon stays.
bool asks_for_daemon(std::string_view command) {
  const auto words = split(command, ' ');
  return std::find(words.begin(), words.end(), "--daemonize") != words.end();
}

}  // namespace

std::string rsh_program_name(const std::string& command) {
  std::string_view first;
  for (const std::string_view word : split(command, ' ')) {
    const std::string_view name = program_in(word.substr(word.rfind(';') + 1));
    if (std::find(kDaemons.begin(), kDaemons.end(), name) != kDaemons.end())
      return std::string(name);
    if (first.empty() && word.find('=') == std::string_view::npos) first = program_in(word);
  }
  return first.empty() ? "command" : std::string(clip_utf8(first, kShownNameBytes));
}

RshRequest::RshRequest(const RshRequestContext& context, Arrival arrival, uint64_t number,
                       std::string mark, const Status& admitted, std::function<void()> ended)
    : RshRequest(context, RshChannel::adopt(context.loop, std::move(arrival), context.tls, {}),
                 number, std::move(mark), std::move(ended)) {
  grace_timer_.reset();  // the channel has its own deadline until it is open
  if (!admitted) refusal_.reason = admitted.error().text;
}

RshRequest::RshRequest(const RshRequestContext& context, std::unique_ptr<RshChannel> channel,
                       uint64_t number, std::string mark, std::function<void()> ended)
    : context_(context),
      mark_(std::move(mark)),
      ended_(std::move(ended)),
      channel_(std::move(channel)),
      reporter_(context.ranks, number, context.incarnation),
      stdin_(context.loop, RshStream::kStdin,
             [this](const RshMessage& message) { channel_->send(message); }),
      stdout_(context.loop, RshStream::kStdout,
              [this](const RshMessage& message) { channel_->send(message); }),
      stderr_(context.loop, RshStream::kStderr,
              [this](const RshMessage& message) { channel_->send(message); }) {
  channel_->set_handlers(handlers());
  await_command(kRshNextDeadline);
}

RshChannelHandlers RshRequest::handlers() {
  return {.on_open = [this] { on_open(); },
          .on_message = [this](RshMessage message) { on_message(std::move(message)); },
          .on_closed = [this](const Error& error) { on_closed(error); }};
}

std::string RshRequest::mark_entry() const {
  return std::string(kRshRequestVariable) + "=" + mark_;
}

// ---- what comes over the connection

void RshRequest::on_open() {
  if (!refusal_.reason.empty()) return handle(RshEvent::kKill);
  await_command(kRshQuestionDeadline);
}

// The place of whoever has nothing to ask goes to the next.
void RshRequest::await_command(Duration at_most) {
  grace_timer_ = context_.loop.after(at_most, [this, at_most] {
    if (state_ != RshState::kIdle) return;
    refusal_.reason = "no command within " + format_duration(at_most);
    handle(RshEvent::kKill);
  });
}

void RshRequest::on_message(RshMessage message) {
  if (const auto report = reporter_.take(message, state_ == RshState::kIdle)) {
    answer(*report);
  } else if (const auto* run = std::get_if<rsh::Run>(&message)) {
    take(*run);
  } else if (const auto* signal = std::get_if<rsh::Signal>(&message)) {
    told_ = signal->number;
    if (pid_ != 0) (void)context_.processes.signal_group(pid_, signal->number);  // or it just ended
  } else if (const auto* data = std::get_if<rsh::Data>(&message);
             data != nullptr && data->stream == RshStream::kStdin) {
    // Before there is a process nobody gave credit for it; afterwards nobody takes it.
    if (state_ != RshState::kRunning) return;
    if (auto taken = stdin_.data(data->bytes); !taken) violated(taken.error());
  } else if (const auto* end = std::get_if<rsh::End>(&message);
             end != nullptr && end->stream == RshStream::kStdin) {
    if (state_ == RshState::kRunning) stdin_.end();
  } else if (const auto* credit = std::get_if<rsh::Credit>(&message);
             credit != nullptr && credit->stream != RshStream::kStdin) {
    if (state_ == RshState::kIdle) return;  // it was for the command before
    (credit->stream == RshStream::kStdout ? stdout_ : stderr_).credit(credit->bytes);
  } else if (const auto* gone = std::get_if<rsh::Gone>(&message);
             gone != nullptr && gone->stream != RshStream::kStdin) {
    if (state_ == RshState::kIdle) return;
    (gone->stream == RshStream::kStdout ? stdout_ : stderr_).stop();
  } else {
    violated({Code::kProtocol, 0, "a message that has no place here"});
  }
}

void RshRequest::take(const rsh::Run& run) {
  if (state_ != RshState::kIdle)
    return violated({Code::kProtocol, 0, "a second command on one connection"});
  run_ = run;
  if (run.run_id != context_.run_id) {
    refusal_.reason = "run id '" + context_.run_id + "' here, '" + run.run_id + "' there";
    return handle(RshEvent::kKill);
  }
  if (run.incarnation != context_.incarnation) {
    refusal_.reason = "this is " + context_.node + ", and the call is for " + run.node +
                      (run.node == context_.node ? ", another agent of it" : "");
    return handle(RshEvent::kKill);
  }
  if (run.command.size() > kMaxRshCommandBytes) {
    refusal_.reason = "a command of " + std::to_string(run.command.size()) + " bytes, at most " +
                      std::to_string(kMaxRshCommandBytes);
    return handle(RshEvent::kKill);
  }
  handle(RshEvent::kRun);
}

void RshRequest::answer(const Result<bool>& report) {
  if (!report && report.error().code == Code::kProtocol) return violated(report.error());
  grace_timer_.reset();
  if (!report) {
    refusal_.reason = report.error().text;
    handle(RshEvent::kKill);
  } else if (*report) {
    channel_->send(rsh::Noted{});
  }
}

// A caller that does not speak our language is no caller.
void RshRequest::violated(const Error& error) {
  channel_->finish();
  caller_gone(error.text);
}

void RshRequest::on_closed(const Error& error) {
  if (state_ == RshState::kReporting && channel_->is_finishing())
    return handle(RshEvent::kReported);
  // No common secret, or another version: it never got as far as a question.
  if (!channel_->has_opened()) context_.tell_refused(channel_->peer(), error.text);
  if (state_ == RshState::kStoppingAlone || state_ == RshState::kSweepingAlone) return;
  caller_gone(error.text);
}

void RshRequest::caller_gone(const std::string& why) {
  if (state_ == RshState::kRunning) {
    // Launchers that succeed leave their daemons so, too: what it means is told by who watches
    // them.
    log::info("rsh.caller_gone", {{"caller", run_.caller},
                                  {"program", rsh_program_name(run_.command)},
                                  {"reason", why},
                                  {"action", "its processes are stopped"}});
  }
  // A command that is told to end may have something to say first; SIGPIPE would cut it short.
  stdout_.discard();
  stderr_.discard();
  reporter_.gone();
  handle(RshEvent::kCallerGone);
}

// ---- the life of the command

void RshRequest::handle(RshEvent event) {
  const RshTransition& row = transition(state_, event);
  state_ = row.next;
  perform(row.action);
}

void RshRequest::perform(RshAction action) {
  switch (action) {
    case RshAction::kNothing:
      return;
    case RshAction::kSpawn:
      return spawn();
    case RshAction::kRefuse:
      return refuse();
    case RshAction::kTerminate:
      return terminate();
    case RshAction::kSweep:
      sweep_started_ = context_.loop.now();
      return sweep();
    case RshAction::kReport:
      return report();
    case RshAction::kEnd:
      return ended_();
    case RshAction::kBug:
      MUSTER_CHECK(action != RshAction::kBug);
  }
}

void RshRequest::spawn() {
  grace_timer_.reset();
  auto pid = start_process();
  if (!pid) {
    refusal_.reason = pid.error().text;
    // As a shell would tell it: 127, 126.
    if (pid.error().code == Code::kExec)
      refusal_.code = static_cast<uint8_t>(start_failure_code(pid.error().os_errno));
    return handle(RshEvent::kNotStarted);
  }
  pid_ = last_pid_ = *pid;
  told_ = 0;
  started_ = context_.loop.now();
  log::info("rsh.start", {{"caller", run_.caller},
                          {"peer", channel_->peer()},
                          {"program", rsh_program_name(run_.command)},
                          {"pid", pid_}});
}

Result<pid_t> RshRequest::start_process() {
  std::array<Pipe, 3> pipes;
  for (Pipe& pipe : pipes) {
    auto made = make_pipe();
    if (!made) return std::move(made).error();
    pipe = std::move(*made);
  }
  auto& [in, out, err] = pipes;
  for (const int ours : {in.write_end.get(), out.read_end.get(), err.read_end.get()})
    MUSTER_RETURN_IF_ERROR(set_nonblocking(ours));
  auto request = context_.plan(run_, mark_entry());
  if (!request) return std::move(request).error();
  request->stdin_fd = in.read_end.get();
  request->stdout_fd = out.write_end.get();
  request->stderr_fd = err.write_end.get();
  auto pid = context_.processes.spawn(*request);
  if (!pid) return pid;
  stdin_.begin(pipe_target(std::move(in.write_end)));
  stdout_.begin(std::move(out.read_end), [this] { report_exit(); });
  stderr_.begin(std::move(err.read_end), [this] { report_exit(); });
  return pid;
}

void RshRequest::refuse() {
  // Connections that wait for a command are many, and none of them is a caller yet.
  if (!refusal_.reason.empty()) context_.tell_refused(channel_->peer(), refusal_.reason);
  if (refusal_.reason.empty()) refusal_.reason = "the agent ends";
  channel_->send(refusal_);
  channel_->finish();
}

void RshRequest::process_exited(const ExitStatus& status) {
  pid_ = 0;
  status_ = status;
  if (state_ == RshState::kSweeping || state_ == RshState::kSweepingAlone) return sweep();
  if (status.success() && asks_for_daemon(run_.command)) return await_daemon();
  command_ended();
}

// Told now: a launcher that notices it as well may take the caller away before all is swept.
void RshRequest::command_ended() {
  const bool alone = state_ == RshState::kStoppingAlone;
  if ((state_ == RshState::kRunning || alone) && context_.command_ended) {
    context_.command_ended({.caller = run_.caller,
                            .caller_gone = alone,
                            .told = told_ != 0 && status_.signal == told_,
                            .program = rsh_program_name(run_.command),
                            .pid = last_pid_,
                            .status = status_,
                            .last_words = stderr_.last_words(),
                            .alive = context_.loop.now() - started_});
  }
  handle(RshEvent::kProcessEnded);
}

void RshRequest::await_daemon() {
  const bool seen = context_.processes.signal_marked(0, mark_entry()) > 0;
  daemon_misses_ = seen ? 0 : daemon_misses_ + 1;
  if (daemon_misses_ == kRshDaemonMisses) return command_ended();
  sweep_timer_ = context_.loop.after(seen ? kRshDaemonInterval : kRshSweepInterval,
                                     [this] { await_daemon(); });
}

void RshRequest::tell_to_end() {
  if (pid_ == 0 || signal_marked_children(pid_, mark_entry(), SIGTERM) > 0) return;
  (void)context_.processes.signal_group(pid_, SIGTERM);  // or it just ended
}

void RshRequest::terminate() {
  if (pid_ != 0) {
    (void)context_.processes.signal_group(pid_, SIGTERM);  // or it just ended
  } else {
    (void)context_.processes.signal_marked(SIGTERM, mark_entry());  // the daemon it left
  }
  grace_timer_ = context_.loop.after(kRshGrace, [this] { handle(RshEvent::kGraceOver); });
}

void RshRequest::sweep() {
  grace_timer_.reset();
  sweep_timer_.reset();
  const size_t left = context_.processes.signal_marked(SIGKILL, mark_entry());
  if (left == 0 && pid_ == 0) return handle(RshEvent::kTreeGone);
  if (context_.loop.now() - sweep_started_ < kRshSweepDeadline) {
    sweep_timer_ = context_.loop.after(kRshSweepInterval, [this] { sweep(); });
    return;
  }
  log::warning("rsh.stuck", {{"caller", run_.caller},
                             {"processes", left},
                             {"after_s", to_seconds(kRshSweepDeadline)},
                             {"action", "going on without them; they are stuck in the kernel"}});
  if (std::exchange(pid_, 0) != 0) status_.signal = SIGKILL;
  handle(RshEvent::kTreeGone);
}

bool RshRequest::has_command() const {
  return state_ != RshState::kIdle && state_ != RshState::kReporting && state_ != RshState::kEnded;
}

void RshRequest::report() {
  log::info("rsh.end", {{"caller", run_.caller},
                        {"program", rsh_program_name(run_.command)},
                        {"status", status_.describe()},
                        {"alive_s", context_.loop.now() - started_}});
  stdout_.finish();
  stderr_.finish();
  report_exit();
}

// The exit code is the last word: all output goes before it. The connection is free for another.
void RshRequest::report_exit() {
  if (state_ != RshState::kReporting || channel_->is_finishing()) return;
  if (!stdout_.has_ended() || !stderr_.has_ended()) return;
  channel_->send(rsh::Exit{static_cast<uint8_t>(status_.shell_code())});
  handle(RshEvent::kReported);
}

std::unique_ptr<RshChannel> RshRequest::take_channel() {
  MUSTER_CHECK(ended());
  if (!channel_->is_open()) return nullptr;
  return std::move(channel_);
}

}  // namespace muster::mpi
