// The flags about the network between GPUs: what Muster tells the libraries that use it.
#include "launcher/options/flag_binding.h"
#include "launcher/options/flag_groups.h"
#include "launcher/options/flag_reader.h"
#include "launcher/options/option_values.h"

namespace muster::launcher {

namespace {

constexpr FlagRow kRows[] = {
    {.name = "no-fabric-env",
     .kind = FlagKind::kSwitch,
     .origin = Origin::kMuster,
     .into = to<&FabricOptions::off, as_switch>,
     .help =
         "do not set variables of NCCL, Gloo, UCX, Open MPI and libfabric by the devices found"},
    {.name = "fabric-profile",
     .origin = Origin::kMuster,
     .placeholder = "FILE",
     .into = to<&FabricOptions::profile, as_text>,
     .help = "variables that belong to this site's switches, NAME=VALUE a line; "
             "/etc/muster/fabric.conf when left out"},
};

}  // namespace

constexpr FlagGroup kFabricFlags{"The network", kRows};

}  // namespace muster::launcher
