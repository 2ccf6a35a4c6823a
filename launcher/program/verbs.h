// The verbs of muster and the names of links by which it is called, as one table. Who comes first
// in it wins: a link's words are its program's, whatever they are.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "base/environment.h"

namespace muster::launcher {

/// Does what `words` (argv) ask for and returns the process's exit code. 64 with one line on
/// `errors`: no such verb; 71: the process could not be prepared (init.h).
int run_verb(const std::vector<std::string>& words, const Environment& environment,
             std::FILE* output, std::FILE* errors);

}  // namespace muster::launcher
