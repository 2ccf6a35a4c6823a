// `muster env`: what the processes of a job would get as their environment, and why. Nothing is
// started and nobody is asked.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "base/process/init.h"
#include "base/result.h"
#include "launcher/contracts/contract.h"
#include "launcher/program/env_text.h"

namespace muster::launcher {

/// `words`: after the verb. `pod`: the pod around it. Exit code 0; errors are one line on `errors`
/// and the exit codes of `muster run`.
int run_env_verb(const std::vector<std::string>& words, const PodFacts& pod,
                 const ProcessSetup& setup, std::FILE* output, std::FILE* errors);

}  // namespace muster::launcher
