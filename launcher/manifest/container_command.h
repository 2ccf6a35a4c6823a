// The command of a container as its launcher reads it in the pod: Muster, torchrun, or that of
// another framework. Such a launcher is taken over, so that what is left is its program and what it
// was told.
#pragma once

#include <string>

#include "launcher/manifest/workload.h"
#include "launcher/options/flags.h"

namespace muster::launcher {

/// Without a launcher `raw.given` is empty; `raw.program` is none if the container has no command.
/// Arguments without a command follow `muster run --`, which is what Muster's images start.
/// MUSTER_ and PET_ variables of the container are flags that its launcher was told. A '$' of a
/// program that has no launcher is its own, but for the names of rank 0's address. `nodes`: how
/// many there are, for a launcher that counts the workers of all. kUsage, with the path: the
/// launcher would refuse its arguments, too.
Result<RawFlags> read_container_command(const Workload& workload, const Replica& replica,
                                        const std::string& nodes);

}  // namespace muster::launcher
