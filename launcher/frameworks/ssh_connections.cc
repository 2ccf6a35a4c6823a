#include "launcher/frameworks/ssh_connections.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <utility>

#include "base/log.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

constexpr const char* kPipe = "/connections";

void report(const UniqueFd& pipe, const std::string& line) {
  // It fails when the agent is gone, which ends the job anyway.
  [[maybe_unused]] const ssize_t told = write(pipe.get(), line.data(), line.size());
}

}  // namespace

bool is_ssh_loss(const ExitStatus& status) { return status.signal != 0 || status.code == kSshLost; }

Result<std::unique_ptr<SshConnections>> SshConnections::create(Loop& loop,
                                                               const std::string& folder,
                                                               Failed failed) {
  const std::string path = folder + kPipe;
  if (mkfifo(path.c_str(), 0600) != 0) return os_error("mkfifo '" + path + "'");
  // A writer of our own: otherwise the end of the last other one would be an end of the file.
  UniqueFd pipe(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!pipe.is_open()) return os_error("open '" + path + "'");
  std::unique_ptr<SshConnections> made(
      new SshConnections(loop, std::move(pipe), std::move(failed)));
  auto watch =
      loop.watch(made->pipe_.get(), Interest::kRead, [it = made.get()](Ready) { it->read(); });
  if (!watch) return std::move(watch).error();
  made->watch_ = std::move(*watch);
  return made;
}

// A line is written at once and is shorter than PIPE_BUF, so there are only whole ones.
std::string SshConnections::take() {
  std::string text;
  std::array<char, PIPE_BUF> chunk{};
  ssize_t got = 0;
  while ((got = ::read(pipe_.get(), chunk.data(), chunk.size())) > 0)
    text.append(chunk.data(), static_cast<size_t>(got));
  return text;
}

void SshConnections::read() {
  const std::string text = take();
  for (const std::string_view line : split(text, '\n')) take_line(line);
}

// "HOST PID" or "HOST PID CODE SIGNAL"; what is neither is not of ours.
void SshConnections::take_line(std::string_view line) {
  const auto words = split(line, ' ');
  const auto pid = words.size() > 1 ? parse_integer(words[1]) : std::nullopt;
  if (!pid || words[0].empty()) return;
  const SshConnection connection{std::string(words[0]), static_cast<pid_t>(*pid)};
  if (words.size() == 2) hosts_[connection.pid] = connection.host;
  if (words.size() != 4) return;
  const auto code = parse_integer(words[2]), signal = parse_integer(words[3]);
  if (!code || !signal) return;
  hosts_.erase(connection.pid);
  const ExitStatus status{.code = static_cast<int>(*code), .signal = static_cast<int>(*signal)};
  status.success() ? ended_well(connection.host) : failed_(connection, status);
}

// MPICH and Intel MPI wait for ever for a rank that left without MPI_Finalize; but others may have
// work left after theirs.
void SshConnections::ended_well(const std::string& host) {
  if (early_) return;
  early_ = loop_.after(kSshEarlyEnd, [this, host] {
    if (hosts_.empty()) return;
    log::warning("mpi.daemon_ended",
                 {{"host", host},
                  {"others", static_cast<int64_t>(hosts_.size())},
                  {"action",
                   "waiting for the others, which may wait for it: MPICH and Intel MPI "
                   "miss a rank that left without MPI_Finalize for ever"}});
  });
}

std::vector<SshConnection> SshConnections::open() const {
  std::vector<SshConnection> open;
  for (const auto& [pid, host] : hosts_) open.push_back({host, pid});
  return open;
}

void SshConnections::drop() {
  (void)take();
  hosts_.clear();
  early_.reset();
}

UniqueFd open_ssh_reports(const std::string& folder) {
  UniqueFd pipe(::open((folder + kPipe).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  // Not to wait for a reader. But thousands of reports may be more than it holds, and none is lost.
  if (pipe.is_open()) (void)fcntl(pipe.get(), F_SETFL, O_WRONLY);
  return pipe;
}

void report_ssh_begin(const UniqueFd& pipe, const SshConnection& connection) {
  report(pipe, fmt::format("{} {}\n", connection.host, connection.pid));
}

void report_ssh_end(const UniqueFd& pipe, const SshConnection& connection,
                    const ExitStatus& status) {
  report(pipe,
         fmt::format("{} {} {} {}\n", connection.host, connection.pid, status.code, status.signal));
}

}  // namespace muster::launcher
