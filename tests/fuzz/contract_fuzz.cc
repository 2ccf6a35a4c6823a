// Whatever a pod's variables, files and host name hold, the contract is read without harm, and the
// same pod says the same again. Input, separated by '%': lines NAME=VALUE, the host name, and the
// contents of the files below.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "launcher/contracts/apply_contract.h"
#include "launcher/contracts/read_contract.h"
#include "tests/support/fake_files.h"

namespace {

// Those that the readers look for, so that names need not be guessed.
constexpr std::string_view kPaths[] = {"/proc/self/mountinfo",
                                       "/etc/hosts",
                                       "/etc/mpi/hostfile",
                                       "/etc/volcano/w.host",
                                       "/etc/volcano/master.host",
                                       "/etc/podinfo/labels",
                                       "/etc/podinfo/annotations",
                                       "/opt/ml/input/config/resourceconfig.json",
                                       "/run/determined/info/rendezvous.json"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parts = split(text, '%');
  Environment environment;
  for (const std::string_view line : split(parts.front(), '\n')) {
    const size_t equals = line.find('=');
    if (equals != std::string_view::npos)
      environment.set(line.substr(0, equals), line.substr(equals + 1));
  }
  muster::testing::FakeFiles files;
  std::string host_name = parts.size() > 1 ? std::string(parts[1]) : "pi-worker-0";
  for (size_t i = 2; i < parts.size() && i - 2 < std::size(kPaths); ++i)
    files.add_file(std::string(kPaths[i - 2]), parts[i]);
  const launcher::PodFacts pod{environment, files, host_name};
  const auto contract = launcher::read_contract(pod);
  MUSTER_CHECK(contract);
  if (!*contract) return 0;
  const auto again = launcher::read_contract(pod);
  MUSTER_CHECK(again && *again && (*again)->values.size() == (*contract)->values.size());
  for (const auto& host : (*contract)->hosts) MUSTER_CHECK(!host.host.empty());
  const auto applied = launcher::apply_contract({}, **contract);
  MUSTER_CHECK(applied || !(*contract)->gaps.empty());
  return 0;
}
