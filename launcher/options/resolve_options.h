// From raw flags to Options: types, defaults, implied standalone mode, and every check that needs
// no look at the machine. Pure. Each group of flags (flag_table.h) brings its rows and its rules.
#pragma once

#include "base/result.h"
#include "launcher/options/flags.h"
#include "launcher/options/options.h"
#include "launcher/options/random_run_id.h"

namespace muster::launcher {

/// Gives the flags meaning. `raw.dialect` decides the defaults of torchrun's flags, `personality`
/// those of Muster's own (the two differ when an inner launcher was taken over). torchrun's rules
/// that are kept: one node without endpoint and master port is standalone (2.12+); standalone mode
/// ignores the other rendezvous flags and, on torchrun's command line, even --rdzv-id; --log-dir
/// /dev/null turns --redirects and --tee off. The program may be missing only with --explain.
/// Errors: kUsage, one line that names the flag or variable, its value and what is wrong with it;
/// the first wrong value in the order of the flag table wins over contradictions between flags.
Result<Options> resolve_options(const RawFlags& raw, Personality personality,
                                const RandomBytes& random);

}  // namespace muster::launcher
