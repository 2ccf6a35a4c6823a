// The environment of a command that an agent runs for `muster rsh`: that of the pod at its start.
// This is the gain over sshd, which wipes it. Pure.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/environment_plan.h"

namespace muster::mpi {

/// Tells a worker the name of its agent's door (rsh_door.h): there `muster rsh` asks.
inline constexpr std::string_view kRshAgentVariable = "MUSTER_RSH_AGENT";
/// Marks all processes of one request; its value is unique among all requests of all agents.
inline constexpr std::string_view kRshRequestVariable = "MUSTER_RSH_REQUEST";

/// A user as /etc/passwd has it. A uid without an entry (random uids in containers) has its number
/// as name, "/" as home and /bin/sh as shell.
struct Account {
  std::string name;
  std::string home = "/";
  std::string shell = "/bin/sh";
  bool is_listed = false;  ///< it has an entry
};
[[nodiscard]] Account find_account(std::string_view passwd, uid_t uid);
/// Whether `user` (what stands before '@'; "" = nothing) is this account: by its name, by its
/// number, or by what the pod calls it (USER, LOGNAME).
[[nodiscard]] bool is_same_user(std::string_view user, const Account& account, uid_t uid,
                                const Environment& pod);

struct RshEnvironmentFacts {
  std::string agent;        ///< value of kRshAgentVariable
  std::string agent_token;  ///< the agent's mark (process_marks.h)
  std::string request;      ///< value of kRshRequestVariable
  std::string secret_file;  ///< absolute path, for ranks that report (rank_verb.h); "" = none
};

/// HOME, USER, LOGNAME, SHELL and PATH where they are missing, no ranks of an outer launch
/// (mpi/launch/launch_env.h), and the four facts. The secret itself is in no variable.
[[nodiscard]] EnvironmentPlan rsh_environment(const Environment& pod, const Account& account,
                                              const RshEnvironmentFacts& facts);

}  // namespace muster::mpi
