#include "launcher/options/options.h"

namespace muster::launcher {

std::string console_prefix_template(const Options& options, int workers, bool teed) {
  if (options.personality == Personality::kTorchrun) {
    return teed ? options.prefix_template.value_or("[${role_name}${local_rank}]:") : "";
  }
  return options.prefix_template.value_or(workers > 1 ? "[${node}:${rank}] " : "");
}

}  // namespace muster::launcher
