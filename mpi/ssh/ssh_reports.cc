#include "mpi/ssh/ssh_reports.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "base/text.h"

namespace muster::mpi {

namespace {

constexpr const char* kPipe = "/reports";

}  // namespace

std::string write_ssh_report(const SshReport& report) {
  std::string line = fmt::format("{} {}", report.host, report.pid);
  if (report.end) line += fmt::format(" {} {}", report.end->code, report.end->signal);
  return line + "\n";
}

std::optional<SshReport> parse_ssh_report(std::string_view line) {
  const auto words = split(line, ' ');
  if (words[0].empty() || (words.size() != 2 && words.size() != 4)) return std::nullopt;
  const auto pid = parse_integer(words[1]);
  if (!pid) return std::nullopt;
  SshReport report{.host = one_line(words[0]), .pid = static_cast<pid_t>(*pid)};
  if (words.size() == 2) return report;
  const auto code = parse_integer(words[2]);
  const auto signal = parse_integer(words[3]);
  if (!code || !signal) return std::nullopt;
  report.end = {.code = static_cast<int>(*code), .signal = static_cast<int>(*signal)};
  return report;
}

Result<UniqueFd> listen_for_ssh_reports(const std::string& folder) {
  const std::string path = folder + kPipe;
  if (mkfifo(path.c_str(), 0600) != 0 && errno != EEXIST) return os_error("mkfifo '" + path + "'");
  // Opened for writing as well: without a writer of our own, the end of the last other writer would
  // be an end of the file.
  UniqueFd pipe(open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!pipe.is_open()) return os_error("open '" + path + "'");
  return pipe;
}

// Every line is shorter than PIPE_BUF and written by one call, so no line is ever cut in two.
std::vector<SshReport> read_ssh_reports(const UniqueFd& pipe) {
  std::string text;
  std::array<char, PIPE_BUF> chunk{};
  ssize_t got = 0;
  while ((got = read(pipe.get(), chunk.data(), chunk.size())) > 0)
    text.append(chunk.data(), static_cast<size_t>(got));
  std::vector<SshReport> reports;
  for (const std::string_view line : split(text, '\n')) {
    if (auto report = parse_ssh_report(line)) reports.push_back(*std::move(report));
  }
  return reports;
}

UniqueFd open_ssh_reports(const std::string& folder) {
  UniqueFd pipe(open((folder + kPipe).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  // O_NONBLOCK was for open() alone. A write waits while the pipe is full, so that no report of
  // thousands is lost.
  if (pipe.is_open()) (void)fcntl(pipe.get(), F_SETFL, O_WRONLY);
  return pipe;
}

void send_ssh_report(const UniqueFd& pipe, const SshReport& report) {
  const std::string line = write_ssh_report(report);
  // It fails if the reader is gone, and then so is the launcher.
  [[maybe_unused]] const ssize_t sent = write(pipe.get(), line.data(), line.size());
}

}  // namespace muster::mpi
