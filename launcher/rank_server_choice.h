// Which server the ranks of MPI on this node have, when the agents start them (--mpi-launch).
#pragma once

#include <memory>

#include "base/files.h"
#include "base/result.h"
#include "launcher/agent_context.h"
#include "launcher/framework_options.h"
#include "launcher/rank_server.h"

namespace muster::launcher {

/// That of PMI or of PMIx; null = neither is asked for. Both are borrowed for its life.
std::unique_ptr<RankServer> make_rank_server(const AgentDoors& doors, const AgentContext& context,
                                             RankServerHooks hooks);

/// Whether it can serve here, before anything is started. kConfig: its program is missing, or PMIx
/// was left out of the build.
Status check_rank_server(const Files& files, const FrameworkOptions& framework);

}  // namespace muster::launcher
