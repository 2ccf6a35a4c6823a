#include "launcher/frameworks/mpi/remote_shells.h"

#include "base/log.h"

namespace muster::launcher {

void tell_shells(const std::vector<mpi::ShellSetting>& shells, const std::string& rsh_program) {
  for (const auto& shell : shells) {
    if (shell.replaced) {
      log::info("mpi.remote_shell",
                {{"setting", shell.name}, {"given", shell.given}, {"used", rsh_program}});
    } else {
      log::warning("mpi.remote_shell",
                   {{"setting", shell.name},
                    {"given", shell.given},
                    {"action",
                     "it stays, and must reach the nodes by itself: the agents start no daemons"}});
    }
  }
}

}  // namespace muster::launcher
