#include "launcher/options/resolve_options.h"

#include <utility>

#include "launcher/options/flag_reader.h"
#include "launcher/options/flag_table.h"

namespace muster::launcher {

Result<Options> resolve_options(const RawFlags& raw, Personality personality,
                                const RandomBytes& random) {
  Options options;
  options.personality = personality;
  FlagReader flags(raw, personality, random);
  for (const FlagGroup* group : flag_groups()) {
    for (const FlagRow& row : group->rows) flags.fill(row, options);
    if (group->check != nullptr) group->check(flags, options);
  }
  for (const FlagGroup* group : flag_groups()) {
    if (group->settle != nullptr && !flags.error()) group->settle(flags, options);
  }
  if (flags.error()) return *flags.error();
  options.warnings = flags.warnings();
  options.explained = flags.explained();
  return options;
}

}  // namespace muster::launcher
