// muster-probe: asks libraries that `muster` must not load (libfabric, NCCL, NVML, CUDA's driver)
// and prints what they say as one JSON object. A program of its own, because they come from the
// image, take their time, handle signals, and may hang or crash. Nothing depends on it.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/exit_code.h"
#include "base/json.h"
#include "nccl/probe/all_reduce.h"
#include "nccl/probe/command_line.h"
#include "nccl/probe/deadline.h"
#include "nccl/probe/fabric_library.h"
#include "nccl/probe/gpu_facts.h"
#include "nccl/probe/nccl_facts.h"
#include "nccl/probe/ping_pong.h"

namespace muster::probe {
namespace {

// The alarm ends a wait before its own deadline does, so that there is one text for both.
constexpr Duration kAfterAlarm = std::chrono::minutes(1);

// Libraries print on stdout as well, NCCL's log for one: theirs becomes stderr, and ours is this.
Result<UniqueFd> keep_stdout() {
  UniqueFd out(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!out.is_open() || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return os_error("dup of stdout");
  return out;
}

Status print(int out, const std::string& text) {
  for (size_t written = 0; written < text.size();) {
    const ssize_t count = write(out, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return os_error("write to stdout");
    written += static_cast<size_t>(count);
  }
  return {};
}

Result<nlohmann::json> ask(const ProbeCall& call, const Environment& environment) {
  switch (call.verb) {
    case Verb::kFabric:
      return fabric_facts(environment);
    case Verb::kPingPong:
      return ping_pong(call, environment, SystemClock().now() + call.timeout + kAfterAlarm);
    case Verb::kNccl:
      return nccl_facts(environment);
    case Verb::kAllReduce:
      return all_reduce_facts(environment);
    case Verb::kGpus:
      return gpu_facts();
  }
  return Error{Code::kInternal, 0, "a verb that nobody knows"};
}

Status run(const ProbeCall& call, const Environment& environment) {
  const auto out = keep_stdout();
  if (!out) return Error(out.error());
  MUSTER_RETURN_IF_ERROR(set_deadline(std::string(to_string(call.verb)), call.timeout));
  const auto facts = ask(call, environment);
  if (!facts) return Error(facts.error());
  return print(out->get(), dump_json(*facts) + "\n");
}

int main_of(const std::vector<std::string_view>& arguments, const Environment& environment) {
  const auto call = parse_command_line(arguments);
  if (!call) return complain(stderr, "muster-probe", call.error().text, kExitUsage);
  const Status done = run(*call, environment);
  if (done) return kExitSuccess;
  const std::string who = "muster-probe " + std::string(to_string(call->verb));
  return complain(stderr, who, done.error().text, exit_code_of(done.error()));
}

}  // namespace
}  // namespace muster::probe

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  const int code = muster::probe::main_of(arguments, muster::Environment::from_environ(environ));
  // Not through the libraries' destructors: their threads may be at work, and some hang. What they
  // have printed on stdout is flushed, which is stderr by now.
  (void)std::fflush(stdout);
  _exit(code);
}
