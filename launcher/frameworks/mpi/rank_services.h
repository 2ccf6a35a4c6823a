// The services (attempt_services.h) of a job whose workers may be ranks of MPI: the server of PMI
// or PMIx if the agents start the ranks (--mpi-launch), and the removal of shared memory that
// killed ranks have left, whoever started them.
#pragma once

#include <memory>

#include "launcher/workers/agent_context.h"
#include "launcher/workers/attempt_services.h"

namespace muster::launcher {

/// Those of this job; if its workers cannot be ranks they do nothing. Both are borrowed for the
/// life of the result. Its check() ends with kConfig if the program is none that agents can
/// start as a rank (launcher_choice.h), if the PMIx server is missing, or if PMIx was left out of
/// the build.
std::unique_ptr<AttemptServices> make_attempt_services(const AgentDoors& doors,
                                                       const AgentContext& context);

}  // namespace muster::launcher
