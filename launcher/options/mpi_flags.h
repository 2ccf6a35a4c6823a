// What the flags of MPI mean for other flags. Their rows are in mpi_flags.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/options/flag_reader.h"
#include "launcher/options/framework_options.h"

namespace muster::launcher {

/// Where workers run sshd and no agent nobody of ours chooses among them or looks at what they
/// have: flags that would say so fail.
void check_sshd(FlagReader& flags, const WorkerCount& workers);

/// For a command that is known to be a launcher of the sort kCommand or kElastic; none = any other.
/// Horovod's is elastic with a discovery script.
[[nodiscard]] std::optional<MpiLaunch> implied_launch(std::string_view program,
                                                      const std::vector<std::string>& arguments);

/// What the other flags say that matters to a role.
struct RoleSurroundings {
  bool c10d = true;           ///< --rdzv-backend
  bool others_named = false;  ///< --rdzv-endpoint or --hosts
  std::string alone;          ///< who says that there is one node; "" = nobody
};
/// Why the role cannot be; "" = it can.
[[nodiscard]] std::string role_problem(MpiRole role, const RoleSurroundings& given);

}  // namespace muster::launcher
