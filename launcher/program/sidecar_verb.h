// `muster sidecar`: reads the command line and lets a sidecar work until it is done.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "base/process/init.h"

namespace muster::launcher {

/// A word for the agent's own child: another sidecar may still be about to end.
inline constexpr std::string_view kAfterAnother = "--after-another";
/// Another one: the folder is there for the sidecar alone, which removes it when all is told.
inline constexpr std::string_view kOwnFolder = "--own-folder";

/// Runs `muster sidecar ARGUMENTS` (without the verb). Exit codes: judge_end(); 64 the command
/// line; 71; 75 also if another sidecar is there; 78 no target can be told anything here, or the
/// folder cannot be written.
[[nodiscard]] int run_sidecar_verb(const std::vector<std::string>& arguments,
                                   const Environment& environment, Files& files,
                                   const ProcessSetup& setup, std::FILE* output, std::FILE* errors);

}  // namespace muster::launcher
