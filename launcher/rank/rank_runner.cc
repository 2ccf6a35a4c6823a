#include "launcher/rank/rank_runner.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/exit_code.h"
#include "base/process/shortage.h"
#include "mpi/launch/launch_settings.h"
#include "mpi/launch/launched_rank.h"
#include "mpi/rank/rank_variables.h"
#include "mpi/rsh/rsh_door.h"

namespace muster::launcher {

namespace {

// A hostfile that is not there, for launchers below `muster rank`: they print its path and fail.
constexpr const char* kNoHostsBelowRank =
    "/mpirun-below-a-rank/needs/muster-run--mpi-launch-command";

// The last lines that fit into a report, whole.
std::string end_of(const std::vector<std::string>& lines) {
  std::string end;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (end.size() + line->size() + 1 > mpi::kMaxRshLinesBytes) break;
    end.insert(0, end.empty() ? *line : *line + '\n');
  }
  return end;
}

}  // namespace

RankRunner::RankRunner(RankRunnerSetup setup, Done done)
    : setup_(std::move(setup)),
      done_(std::move(done)),
      container_(setup_.files, setup_.setup.original_fd_limit),
      told_{.processes{setup_.loop, setup_.processes}} {}

void RankRunner::start() {
  if (const Status spawned = spawn(); !spawned) {
    start_problem_ = spawned.error().text;
    status_ = ExitStatus{.code = exit_code_of(spawned.error())};
    ended_ = true;
    timer_ = setup_.loop.after(kRankReportDeadline, [this] { finish(); });
  }
  mpi::RshChannelHandlers handlers{
      .on_open = [this] { report_begin(); },
      .on_message = [this](const mpi::RshMessage& message) { on_message(message); },
      .on_closed = [this](const Error& error) { on_closed(error); }};
  // Without a secret its agent takes reports at its door alone.
  channel_ = setup_.tls == nullptr
                 ? mpi::RshChannel::over(setup_.loop, mpi::connect_to_commands(setup_.rank.agent),
                                         setup_.agent.to_string(), std::move(handlers))
                 : mpi::RshChannel::dial(setup_.loop, setup_.network, setup_.agent, setup_.tls,
                                         std::move(handlers));
}

Status RankRunner::spawn() {
  if (!setup_.program) return std::move(setup_.program).error();
  MUSTER_RETURN_IF_ERROR(open_output());
  SpawnRequest request;
  UniqueFd rank_end;
  if (setup_.pmi_fd.is_open()) {
    auto relay = mpi::PmiRelay::create(setup_.loop, std::move(setup_.pmi_fd));
    if (!relay) return std::move(relay).error();
    pmi_ = std::move(*relay);
    rank_end = pmi_->take_rank_end();
    request.kept_fd = rank_end.get();
    setup_.environment.set("PMI_FD", std::to_string(rank_end.get()));
    MUSTER_RETURN_IF_ERROR(
        pmi_->start([this] { report_init(); }, [this](int code) { report_abort(code); }));
  } else {
    MUSTER_RETURN_IF_ERROR(watch_pmix());
  }
  request.program = *setup_.program;
  request.arguments = setup_.arguments;
  const ChildStreams streams = output_->child_streams(setup_.label.local_rank);
  request.stdin_fd = setup_.input.is_open() ? setup_.input.get() : -1;
  request.stdout_fd = streams.stdout_fd;
  request.stderr_fd = streams.stderr_fd;
  setup_.environment.set(mpi::kRankReportVariable, mpi::kReportedAbove);
  EnvironmentPlan ranks_own;
  ranks_own.add(EnvironmentLayer::kMpi, mpi::launched_rank_variables(setup_.environment));
  setup_.environment = ranks_own.merge(setup_.environment).environment;
  // A launcher that the rank itself calls would run the whole job once for each rank. It asks for
  // its hosts, cannot open the file, and says which.
  for (const std::string_view name : mpi::hostfile_variables())
    setup_.environment.set(name, kNoHostsBelowRank);
  request.environment = setup_.environment.to_exec_strings();
  request.signal_mask = setup_.setup.original_mask;
  request.ignore_sigpipe = setup_.setup.was_ignored(SIGPIPE);
  request.fd_limit = setup_.setup.original_fd_limit;
  // In a session of its own: a signal for our process group comes to it once, from us.
  auto pid = setup_.processes.spawn(request);
  output_->child_started(setup_.label.local_rank);
  if (!pid) return std::move(pid).error();
  pid_ = *pid;
  container_.begin();
  return {};
}

Status RankRunner::open_output() {
  auto output = Output::create(setup_.loop, setup_.files, setup_.console, setup_.streams);
  if (!output) return std::move(output).error();
  output_ = std::move(*output);
  return output_->open_attempt(0, {setup_.label});
}

Status RankRunner::watch_pmix() {
  auto server = mpi::pmix_server(setup_.environment);
  if (!server) return {};
  auto relay = mpi::PmixRelay::create(setup_.loop, setup_.network, std::move(*server),
                                      [this] { report_init(); });
  if (!relay) return std::move(relay).error();
  pmix_ = std::move(*relay);
  mpi::set_pmix_server(setup_.environment, pmix_->address());
  return {};
}

bool RankRunner::has_begun() const {
  return (pmi_ && pmi_->has_begun()) || (pmix_ && pmix_->has_begun());
}

void RankRunner::report_begin() {
  report_ = Report::kConnected;
  setup_.rank.pid = static_cast<uint32_t>(pid_);
  channel_->send(setup_.rank);
  report_init();
  if (ended_) report_end();
}

void RankRunner::on_message(const mpi::RshMessage& message) {
  if (const auto* refused = std::get_if<mpi::rsh::Refused>(&message))
    return stop_rank("refused by the launcher's agent: " + refused->reason);
  if (std::holds_alternative<mpi::rsh::Noted>(message)) {
    report_ = Report::kNoted;
    if (!status_) return;  // it aborts, and ends soon
    channel_->finish();
    finish();
  }
}

void RankRunner::report_init() {
  if (report_ != Report::kNothing && has_begun()) channel_->send(mpi::rsh::RankInit{});
}

// Who takes the reports is gone, and with it the job.
void RankRunner::on_closed(const Error& error) {
  if (status_) return finish();
  if (report_ >= Report::kEnd) return;
  stop_rank("the launcher's agent " + setup_.agent.to_string() + ": " + error.text);
}

void RankRunner::stop_rank(const std::string& why) {
  if (!why_.empty()) return;
  why_ = why;
  if (pid_ == 0) return finish();
  (void)setup_.processes.signal_group(pid_, SIGTERM);  // or it just ended
  timer_ = setup_.loop.after(kRankGrace, [this] {
    if (pid_ != 0) (void)setup_.processes.signal_group(pid_, SIGKILL);  // or it just ended
  });
}

// First who ended: of signals that wait together the lowest comes first, SIGTERM before SIGCHLD. A
// rank that was gone before its launcher said something did not end because of that.
void RankRunner::handle_signal(const ReceivedSignal& signal) {
  reap();
  if (signal.number == SIGCHLD) return;
  // Whoever waits here for the others is not needed any more once its launcher ends.
  const bool waits = ended_ && report_ >= Report::kEnd && !timer_.is_active();
  if (waits && asks_for_end(signal.number))
    timer_ = setup_.loop.after(kRankLinger, [this] { finish(); });
  if (pid_ == 0) return;
  // A second SIGTERM would end a rank that is saving after the first.
  if (asks_for_end(signal.number) && told_.signal == signal.number) return;
  const bool counts = signal.number != SIGCONT && signal.number != SIGWINCH;
  if (counts && told_.signal == 0) told_.asked = signal.sender != getppid();
  if (counts) told_.signal = signal.number;
  // Nobody is reached: it just ended.
  if (asks_for_end(signal.number)) {
    (void)told_.processes.tell_tree(pid_, signal.number);
  } else {
    (void)setup_.processes.signal_tree(pid_, signal.number);
  }
}

void RankRunner::reap() {
  while (const auto reaped = setup_.processes.reap()) {
    if (pid_ == 0 || reaped->pid != pid_) continue;  // an orphan that the rank left
    pid_ = 0;
    status_ = reaped->status;
  }
  if (!status_ || done_ == nullptr || ended_) return;
  // A shell that was told to end leaves a program behind that may have something to save.
  if (asks_for_end(told_.signal) && why_.empty()) {
    const auto left = setup_.processes.descendants({});
    if (!left.empty()) {
      (void)told_.processes.tell_untold(left, told_.signal);
      return;
    }
  }
  rank_ended();
}

void RankRunner::rank_ended() {
  ended_ = true;
  (void)prctl(PR_SET_NAME, mpi::kEndedRankProcessName);  // cannot fail
  if (pmi_) pmi_->drain();
  if (pmix_) pmix_->drain();
  if (!why_.empty() || report_ == Report::kNoted) return finish();
  if (report_ == Report::kConnected) return report_end();
  timer_ = setup_.loop.after(kRankReportDeadline, [this] { finish(); });
}

// Its daemon kills it for that, and us: what it gave would be lost.
void RankRunner::report_abort(int code) {
  if (report_ != Report::kConnected) return;
  report_ = Report::kEnd;
  constexpr int kLastExitCode = 0xff;
  mpi::rsh::RankEnd end;
  end.code = static_cast<uint8_t>(code & kLastExitCode);
  end.told = static_cast<uint8_t>(told_.signal);
  end.aborted = true;
  explain(end);
  channel_->send_now(end);
}

void RankRunner::explain(mpi::rsh::RankEnd& end) const {
  Symptoms symptoms{.status = {.code = end.code, .signal = end.signal}, .aborted = end.aborted};
  if (symptoms.status.success()) return;
  if (output_) {
    output_->drain(setup_.label.local_rank);
    end.logs = output_->paths(setup_.label.local_rank).logs;
    end.last_lines = end_of(output_->last_lines(setup_.label.local_rank));
  }
  if (end.told != 0) return;
  symptoms.last_words = end.last_lines;
  const auto shortage = find_shortage(symptoms, container_.facts({}));
  if (!shortage) return;
  end.out_of_memory = shortage->of_memory;
  end.shortage = shortage->text;
}

void RankRunner::report_end() {
  timer_.reset();
  if (report_ >= Report::kEnd) return;
  report_ = Report::kEnd;
  mpi::rsh::RankEnd end;
  end.code = static_cast<uint8_t>(status_->code);
  end.signal = static_cast<uint8_t>(status_->signal);
  end.told = static_cast<uint8_t>(told_.signal);
  end.asked = told_.asked;
  end.without_finalize = pmi_ && pmi_->is_inside();
  end.has_spawned = pmi_ && pmi_->has_spawned();
  explain(end);
  channel_->send(end);
}

// From a turn of its own, and once: the owner may destroy this.
void RankRunner::finish() {
  if (!done_) return;
  timer_.reset();
  const auto end = [this, done = std::exchange(done_, {})] {
    constexpr int kLost = 255;  // as of a remote shell whose connection broke
    done(status_ && why_.empty() ? status_->shell_code() : kLost,
         why_.empty() ? start_problem_ : why_);
  };
  if (!output_) {
    timer_ = setup_.loop.soon(end);
    return;
  }
  output_->close_attempt();
  output_->flush(kRankFlushDeadline, end);
}

}  // namespace muster::launcher
