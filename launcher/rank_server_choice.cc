#include "launcher/rank_server_choice.h"

#include <utility>

#include "launcher/pmi_ranks.h"
#ifdef MUSTER_PMIX
#include "launcher/pmix_ranks.h"
#endif

namespace muster::launcher {

namespace {

#ifdef MUSTER_PMIX

std::unique_ptr<RankServer> make_pmix(const AgentDoors& doors, const AgentContext& context,
                                      RankServerHooks hooks) {
  return std::make_unique<PmixRanks>(
      PmixDoors{.loop = doors.loop,
                .processes = doors.processes,
                .files = doors.files,
                .environment = context.environment,
                .setup = context.setup,
                .token = context.token,
                .folder = context.folder,
                .start_deadline = context.options.framework.mpi_start_timeout},
      std::move(hooks));
}

Status check_pmix(const Files& files) {
  if (auto server = find_pmix_server(files); !server) return std::move(server).error();
  return {};
}

#else

// check_pmix() has ended the job before.
std::unique_ptr<RankServer> make_pmix(const AgentDoors& /*doors*/, const AgentContext& /*context*/,
                                      RankServerHooks /*hooks*/) {
  return nullptr;
}

Status check_pmix(const Files& /*files*/) {
  return Error{Code::kConfig, 0,
               "--mpi-launch pmix: this muster was built without PMIx (CMake option MUSTER_PMIX)"};
}

#endif

}  // namespace

std::unique_ptr<RankServer> make_rank_server(const AgentDoors& doors, const AgentContext& context,
                                             RankServerHooks hooks) {
  const FrameworkOptions& framework = context.options.framework;
  if (framework.uses_pmi()) return std::make_unique<PmiRanks>(doors.loop, std::move(hooks));
  if (framework.uses_pmix()) return make_pmix(doors, context, std::move(hooks));
  return nullptr;
}

Status check_rank_server(const Files& files, const FrameworkOptions& framework) {
  return framework.uses_pmix() ? check_pmix(files) : Status();
}

}  // namespace muster::launcher
