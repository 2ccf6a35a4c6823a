// For what framework the workers are started, from its flags: --framework and those of MPI. A part
// of resolve_options.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/flag_reader.h"
#include "launcher/framework_options.h"

namespace muster::launcher {

/// `program` and `arguments`: what is to be run, for implied_launch(). What is wrong, what
/// contradicts each other and what has no effect goes to `flags`.
[[nodiscard]] FrameworkOptions read_framework(FlagReader& flags, const std::string& program,
                                              const std::vector<std::string>& arguments);

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
