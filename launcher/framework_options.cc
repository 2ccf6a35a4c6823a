#include "launcher/framework_options.h"

namespace muster::launcher {

std::string role_problem(MpiRole role, const RoleSurroundings& given) {
  const bool needs_others = role == MpiRole::kLauncher || role == MpiRole::kWorker;
  if (role == MpiRole::kAny) return "";
  if (!given.c10d) return "the launcher leads, so --rdzv-backend must be c10d";
  if (needs_others && !given.alone.empty()) return "there is no other node with " + given.alone;
  if (role == MpiRole::kWorker && !given.others_named)
    return "where the launcher is is not known: give --rdzv-endpoint LAUNCHER";
  return "";
}

}  // namespace muster::launcher
