#include "launcher/frameworks/ssh_sweep.h"

#include <fcntl.h>

#include <array>
#include <csignal>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "launcher/frameworks/mpi_ssh_verb.h"
#include "launcher/process_marks.h"
#include "mpi/ssh_config.h"

namespace muster::launcher {

namespace {

// Before the file's options, which leave more time. The first value of an option counts.
constexpr std::array<const char*, 5> kHurried = {"-oConnectTimeout=3", "-oConnectionAttempts=1",
                                                 "-oServerAliveInterval=1",
                                                 "-oServerAliveCountMax=3", "-oLogLevel=QUIET"};

// One word for shells of every kind. C shells look for '!' in single quotes, too.
std::string quoted_for_any_shell(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '!') {
      quoted += std::string("'\\") + c + "'";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace

// The shell is the login shell once more, which SSH servers name: the command is written for it.
std::string marked_command(const std::string& token, std::string_view command) {
  return "exec /bin/sh -c '" + std::string(kAgentIdVariable) + "=" + token + "; export " +
         std::string(kAgentIdVariable) + R"(; exec "${SHELL:-/bin/sh}" -c "$0"' )" +
         quoted_for_any_shell(command);
}

// Command lines, too, as a login shell may still read its files. The brackets are for the sweep's
// own processes: none has the text that it looks for. A daemon that has missed its launcher ends by
// itself and tidies up: it has three rounds for that. The last three follow each other, as a
// process may be in the middle of a fork.
std::string sweep_command(const std::string& token) {
  return "/bin/sh -c 'code=0; round=0; while [ $round -lt 10 ]; do left=; for file in $(grep -ls "
         "\"" +
         std::string(kAgentIdVariable) + "[=]" + token +
         "\" /proc/[0-9]*/environ /proc/[0-9]*/cmdline); do pid=${file#/proc/}; pid=${pid%/*}; "
         "kill -0 $pid && left=\"$left $pid\"; done; [ \"$left\" ] || break; "
         "case $round in [012]) ;; 3) code=" +
         std::to_string(kSweptSome) +
         "; kill $left;; [789]) kill -9 $left;; esac; "
         "[ $round -gt 6 ] || sleep 0.1 || sleep 1; round=$((round + 1)); "
         "done 2>/dev/null; exit $code'";
}

SshSweep::SshSweep(SshSweepSetup setup, const std::vector<std::string>& hosts,
                   std::function<void()> done)
    : setup_(std::move(setup)),
      null_(open("/dev/null", O_RDWR | O_CLOEXEC)),
      waiting_(hosts.begin(), hosts.end()),
      done_(std::move(done)) {
  deadline_ = setup_.loop.after(kSshSweepDeadline, [this] { give_up(); });
  fill();
}

void SshSweep::fill() {
  while (!waiting_.empty() && running_.size() < kMaxSshSweeps) {
    std::string host = std::move(waiting_.front());
    waiting_.pop_front();
    if (const auto pid = start(host)) {
      running_[*pid] = std::move(host);
    } else {
      missed_.push_back(std::move(host));
    }
  }
  finish_if_done();
}

Result<pid_t> SshSweep::start(const std::string& host) {
  SpawnRequest ssh;
  ssh.program = setup_.folder + "/" + std::string(kSshClientLink);
  ssh.arguments = {"ssh"};
  ssh.arguments.insert(ssh.arguments.end(), kHurried.begin(), kHurried.end());
  const std::string config = setup_.folder + "/" + std::string(mpi::kSshClientConfigFile);
  ssh.arguments.insert(ssh.arguments.end(), {"-F", config, host, sweep_command(setup_.token)});
  ssh.environment = setup_.environment;
  ssh.stdin_fd = ssh.stdout_fd = ssh.stderr_fd = null_.get();
  ssh.default_signals = true;
  sigemptyset(&ssh.signal_mask);
  return setup_.processes.spawn(ssh);
}

bool SshSweep::process_exited(const Reaped& reaped) {
  auto found = running_.extract(reaped.pid);
  if (found.empty()) return false;
  if (reaped.status.signal != 0 || (!reaped.status.success() && reaped.status.code != kSweptSome)) {
    missed_.push_back(std::move(found.mapped()));
  } else if (reaped.status.code == kSweptSome) {
    swept_.push_back(std::move(found.mapped()));
  }
  fill();
  return true;
}

void SshSweep::give_up() {
  for (const auto& [pid, host] : running_) {
    setup_.processes.signal_group(pid, SIGKILL);
    missed_.push_back(host);
  }
  missed_.insert(missed_.end(), waiting_.begin(), waiting_.end());
  running_.clear();
  waiting_.clear();
  finish_if_done();
}

// In a turn of its own: its owner may destroy it then.
void SshSweep::finish_if_done() {
  if (busy() || end_.is_active()) return;
  deadline_.reset();
  if (!swept_.empty())
    log::warning("mpi.swept", {{"reason", "the launcher had left processes there: ended"},
                               {"hosts", join(swept_, ",")}});
  if (!missed_.empty())
    log::warning("mpi.not_swept",
                 {{"reason",
                   "no SSH command could be run there after the launcher's failure: "
                   "ranks may be left"},
                  {"hosts", join(missed_, ",")}});
  end_ = setup_.loop.soon([done = done_] { done(); });
}

}  // namespace muster::launcher
