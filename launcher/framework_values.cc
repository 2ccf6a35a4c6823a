#include "launcher/framework_values.h"

#include "base/text.h"
#include "launcher/choice.h"
#include "launcher/option_values.h"

namespace muster::launcher {

Result<Framework> parse_framework(std::string_view text) {
  constexpr Choice<Framework> kFrameworks[] = {{"pytorch", Framework::kPytorch},
                                               {"mpi", Framework::kMpi}};
  return choose(text, kFrameworks);
}

Result<std::optional<mpi::Implementation>> parse_mpi(std::string_view text) {
  using mpi::Implementation;
  constexpr Choice<std::optional<Implementation>> kImplementations[] = {
      {"auto", std::nullopt},
      {"openmpi", Implementation::kOpenMpi},
      {"mpich", Implementation::kMpich},
      {"intel", Implementation::kIntelMpi}};
  return choose(text, kImplementations);
}

Result<MpiLaunch> parse_mpi_launch(std::string_view text) {
  constexpr Choice<MpiLaunch> kLaunches[] = {{"mpirun", MpiLaunch::kMpirun},
                                             {"pmi", MpiLaunch::kPmi},
                                             {"pmix", MpiLaunch::kPmix},
                                             {"command", MpiLaunch::kCommand},
                                             {"elastic", MpiLaunch::kElastic}};
  return choose(text, kLaunches);
}

Result<MpiRole> parse_mpi_role(std::string_view text) {
  constexpr Choice<MpiRole> kRoles[] = {{"any", MpiRole::kAny},
                                        {"launcher", MpiRole::kLauncher},
                                        {"launcher-worker", MpiRole::kLauncherWorker},
                                        {"worker", MpiRole::kWorker}};
  return choose(text, kRoles);
}

Status check_contract(std::string_view text) {
  if (text == kNoContract || text == "auto") return {};
  return wrong("neither auto nor none");
}

Result<MpiTransport> parse_mpi_transport(std::string_view text) {
  constexpr Choice<MpiTransport> kTransports[] = {
      {"rsh", MpiTransport::kRsh},
      {"ssh", MpiTransport::kSsh},
      {"sshd", MpiTransport::kSshd},
      {"sshd-unverified", MpiTransport::kSshdUnverified}};
  return choose(text, kTransports);
}

Result<Duration> parse_mpi_start_timeout(std::string_view text) {
  auto timeout = parse_pause(text);
  if (timeout && *timeout < kMinMpiStartTimeout)
    return wrong("must be at least " + format_duration(kMinMpiStartTimeout));
  return timeout;
}

}  // namespace muster::launcher
