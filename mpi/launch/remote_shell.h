// The remote shell that a user's settings and words name for a launcher. Many are of the days of
// sshd, with options for it: `muster rsh` takes ssh's place there, and its options mean nothing to
// it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/environment_plan.h"

namespace muster::mpi {

/// "ssh -q -p 2222", "/usr/bin/ssh", "ssh : rsh".
[[nodiscard]] bool names_ssh(std::string_view shell);

/// What became of one of the user's settings.
struct ShellSetting {
  std::string name;  ///< "OMPI_MCA_plm_rsh_agent", "--mca plm_rsh_agent"
  std::string given;
  bool replaced = false;  ///< it was ssh; anything else stays
};

/// Those of `settings` that name the remote shell override the user's where that is ssh. Other
/// names for the same, which would count beside them, are taken away.
std::vector<ShellSetting> replace_shell_settings(std::vector<PlannedVariable>& settings,
                                                 const Environment& user);

/// The same in the user's own words for a launcher of any MPI: `--mca plm_rsh_agent WORDS` and its
/// relatives, Hydra's `-launcher-exec PATH` and `-bootstrap-exec PATH`, also with '='. O(words).
/// `rsh_words`: what Open MPI is told instead of `rsh_program` (LaunchFacts); "" = the same.
std::vector<ShellSetting> replace_shell_words(std::vector<std::string>& words,
                                              const std::string& rsh_program,
                                              const std::string& rsh_words = {});

}  // namespace muster::mpi
