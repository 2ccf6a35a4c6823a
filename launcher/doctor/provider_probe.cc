#include "launcher/doctor/provider_probe.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/json.h"
#include "base/process.h"
#include "base/text.h"

namespace muster::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// muster-probe ends by itself and says what it waited for; later it hangs.
constexpr Duration kHanging = seconds(1);
constexpr Duration kReaping = seconds(2);  // of a child that has closed its streams or was killed
constexpr size_t kMaxTalkBytes = 64 << 10;

TimePoint now() { return SystemClock().now(); }

std::vector<std::string> words_for(const std::string& provider, Duration limit) {
  const auto left = std::chrono::duration_cast<milliseconds>(limit).count();
  return {"pingpong", "--provider", provider, "--timeout", fmt::format("{}ms", std::max(left, 1L))};
}

// The last line says why it ended.
std::string why_of(const std::string& complaint) {
  std::string last = "muster-probe does not say why";
  for (const std::string_view line : split(complaint, '\n'))
    if (!line.empty()) last = one_line(line);
  return last;
}

std::optional<double> number_in(const nlohmann::json& object, const char* name) {
  if (!object.is_object() || !object.contains(name) || !object[name].is_number()) return {};
  return object[name].get<double>();
}

// What the side that calls prints.
Result<nccl::PairMeasure> measure_of(const std::string& printed) {
  const auto facts = parse_json(printed);
  if (!facts || !facts->is_object())
    return Error{Code::kProtocol, 0, "what muster-probe prints is not readable"};
  if (facts->contains("libfabric"))
    return Error{Code::kConfig, 0, "libfabric is absent: " + one_line(dump_json(*facts))};
  const auto latency = number_in(facts->value("latency_us", nlohmann::json()), "p50");
  const auto rate = number_in(*facts, "bytes_per_s");
  if (!latency || !rate) return Error{Code::kProtocol, 0, "muster-probe tells no figures"};
  return nccl::PairMeasure{*latency, *rate};
}

// What a child says on a pipe.
class Talk {
 public:
  explicit Talk(UniqueFd pipe) : pipe_(std::move(pipe)) {}

  // More of it; false = that was all, for it has ended. kTimeout, kLimit, kOs.
  Result<bool> read_more(TimePoint deadline) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - now()).count();
    pollfd ready{pipe_.get(), POLLIN, 0};
    const int count = poll(&ready, 1, static_cast<int>(std::max(left, 0L)));
    if (count < 0 && errno == EINTR) return true;
    if (count < 0) return os_error("poll");
    if (count == 0) return Error{Code::kTimeout, 0, "muster-probe says nothing"};
    std::array<char, 4096> bytes{};
    const ssize_t size = ::read(pipe_.get(), bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) return true;
    if (size < 0) return os_error("reading what muster-probe says");
    text_.append(bytes.data(), static_cast<size_t>(size));
    if (text_.size() > kMaxTalkBytes) return Error{Code::kLimit, 0, "muster-probe talks too much"};
    return size > 0;
  }

  // Of the line in which it says where it listens.
  Result<uint16_t> read_port(TimePoint deadline) {
    for (;;) {
      const auto more = read_more(deadline);
      if (!more) return Error(more.error());
      if (const auto port = port_in(text_)) return *port;
      if (!*more) return Error{Code::kPeer, 0, why_of(text_)};
    }
  }

  Status read_to_end(TimePoint deadline) {
    for (;;) {
      const auto more = read_more(deadline);
      if (!more) return Error(more.error());
      if (!*more) return {};
    }
  }

 private:
  static std::optional<uint16_t> port_in(std::string_view text) {
    constexpr std::string_view kListening = "listening on port ";
    const size_t place = text.find(kListening);
    if (place == std::string_view::npos) return {};
    text.remove_prefix(place + kListening.size());
    const size_t end = text.find('\n');
    const auto port =
        end == std::string_view::npos ? std::nullopt : parse_integer(text.substr(0, end));
    if (!port || *port < 1 || *port > std::numeric_limits<uint16_t>::max()) return {};
    return static_cast<uint16_t>(*port);
  }

  UniqueFd pipe_;
  std::string text_;
};

// One that hangs in a driver is left to whoever adopts it.
void await_end(ProcessHost& host, pid_t child) {
  sigset_t ended;
  sigemptyset(&ended);
  sigaddset(&ended, SIGCHLD);
  constexpr timespec kPause{0, 100'000'000};
  for (const TimePoint deadline = now() + kReaping; now() < deadline;) {
    while (const auto reaped = host.reap())
      if (reaped->pid == child) return;
    (void)sigtimedwait(&ended, nullptr, &kPause);  // the clock decides
  }
}

}  // namespace

Result<nccl::PairMeasure> call_over_provider(const ProbeProgram& program,
                                             const std::string& provider, const Address& peer,
                                             Duration limit) {
  std::vector<std::string> words = words_for(provider, limit);
  words.insert(words.begin() + 1, peer.to_string());
  const auto answer = run_library_probe(program, std::move(words), limit + kHanging);
  if (!answer) return Error(answer.error());
  if (!answer->is_well) return Error{Code::kPeer, 0, why_of(answer->complaint)};
  return measure_of(answer->printed);
}

Status serve_over_provider(const ProbeProgram& program, const std::string& provider, Duration limit,
                           const TellPort& tell) {
  auto pipe = make_pipe();
  if (!pipe) return tell(Error(pipe.error()));
  auto nothing = open_null_device(O_RDWR);
  if (!nothing) return tell(Error(nothing.error()));
  std::vector<std::string> words = words_for(provider, limit);
  words.insert(words.begin() + 1, "--listen");
  SpawnRequest request = probe_request(program, std::move(words));
  request.stdin_fd = nothing->get();
  request.stdout_fd = nothing->get();
  request.stderr_fd = pipe->write_end.get();
  RealProcessHost host;
  const auto child = host.spawn(request);
  if (!child) return tell(Error(child.error()));
  pipe->write_end.reset();  // else there is no end of it
  Talk talk(std::move(pipe->read_end));
  const TimePoint deadline = now() + limit + kHanging;
  const auto port = talk.read_port(deadline);
  Status told = tell(port);
  if (!port || !told || !talk.read_to_end(deadline)) (void)host.signal_child(*child, SIGKILL);
  await_end(host, *child);
  return told;
}

}  // namespace muster::launcher
