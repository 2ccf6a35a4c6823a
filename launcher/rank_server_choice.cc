#include "launcher/rank_server_choice.h"

#include <utility>

#include "launcher/pmi_ranks.h"
#include "launcher/pmix_ranks.h"

namespace muster::launcher {

std::unique_ptr<RankServer> make_rank_server(const AgentDoors& doors, const AgentContext& context,
                                             RankServerHooks hooks) {
  const FrameworkOptions& framework = context.options.framework;
  if (framework.uses_pmi()) return std::make_unique<PmiRanks>(doors.loop, std::move(hooks));
  if (!framework.uses_pmix()) return nullptr;
  return std::make_unique<PmixRanks>(PmixDoors{.loop = doors.loop,
                                               .processes = doors.processes,
                                               .files = doors.files,
                                               .environment = context.environment,
                                               .setup = context.setup,
                                               .token = context.token,
                                               .folder = context.folder,
                                               .start_deadline = framework.mpi_start_timeout},
                                     std::move(hooks));
}

Status check_rank_server(const Files& files, const FrameworkOptions& framework) {
  if (!framework.uses_pmix()) return {};
  if (auto server = find_pmix_server(files); !server) return std::move(server).error();
  return {};
}

}  // namespace muster::launcher
