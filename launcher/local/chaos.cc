#include "launcher/local/chaos.h"

#include <csignal>
#include <string>

#include "base/text.h"

namespace muster::launcher {

namespace {

struct Action {
  std::string_view name;
  int signal;
};
constexpr Action kActions[] = {
    {"kill-node", SIGKILL}, {"term-node", SIGTERM}, {"stop-node", SIGSTOP}, {"cont-node", SIGCONT}};

Error wrong(std::string_view part, const std::string& complaint) {
  return {Code::kUsage, 0, "--chaos '" + std::string(part) + "': " + complaint};
}

Result<int> signal_of(std::string_view part, std::string_view name) {
  for (const Action& action : kActions) {
    if (action.name == name) return action.signal;
  }
  return wrong(part, "not WHAT-node:N@TIME with kill, term, stop or cont");
}

Result<Fault> parse_fault(std::string_view part, int nodes) {
  const size_t colon = part.find(':');
  const size_t at = part.find('@');
  if (colon == std::string_view::npos || at == std::string_view::npos || at < colon)
    return wrong(part, "not WHAT-node:N@TIME, such as kill-node:2@5s");
  auto signal = signal_of(part, part.substr(0, colon));
  if (!signal) return std::move(signal).error();
  const auto node = parse_integer(part.substr(colon + 1, at - colon - 1));
  if (!node || *node < 1 || *node > nodes)
    return wrong(part, "the nodes are 1 to " + std::to_string(nodes));
  const auto time = parse_duration(part.substr(at + 1));
  if (!time) return wrong(part, "the time must be like 5s or 500ms");
  return Fault{*signal, static_cast<int>(*node), *time};
}

}  // namespace

Result<std::vector<Fault>> parse_chaos(std::string_view text, int nodes) {
  std::vector<Fault> faults;
  if (text.empty()) return faults;
  for (const std::string_view part : split(text, ',')) {
    auto fault = parse_fault(trim(part), nodes);
    if (!fault) return std::move(fault).error();
    if (faults.size() == kMaxFaults)
      return wrong(part, "more than " + std::to_string(kMaxFaults) + " faults");
    faults.push_back(*fault);
  }
  return faults;
}

}  // namespace muster::launcher
