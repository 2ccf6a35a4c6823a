// The command line of `muster run` and torchrun as a whole: arguments and environment in, Options
// or a text to print out. Pure, but for the files of a contract and of a manifest. Used by
// run_verb.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/result.h"
#include "launcher/contracts/contract.h"
#include "launcher/options/options.h"
#include "launcher/options/resolve_options.h"

namespace muster::launcher {

/// Messages are one line of at most this many bytes, whatever was in the arguments.
inline constexpr size_t kMaxMessageBytes = 1024;

/// How the process was called.
struct Invocation {
  Personality personality = Personality::kMuster;
  std::string called_as;           ///< argv[0]; with '/' it tells torchrun's interpreter
  std::vector<std::string> words;  ///< after argv[0] and the verb
};

struct CommandLine {
  std::optional<std::string> print;  ///< for stdout, then exit 0; `options` then mean nothing
  Options options;
  std::optional<Contract> contract;  ///< part of which is in `options`
};

/// Scans, takes the place of an inner launcher (Muster's own command line only), adds what the
/// contract of `pod` says (unless --contract none; null = there is no pod) and then what the
/// manifest of --file does, resolves. Errors: kUsage, kConfig (apply_contract), one line; see
/// exit_code_of_error().
Result<CommandLine> read_command_line(const Invocation& invocation, const Environment& environment,
                                      const RandomBytes& random, const PodFacts* pod = nullptr);

/// The environment of the pod as the agent and all it starts shall see it: with what the contract
/// and an inner launcher change.
[[nodiscard]] Environment job_environment(const CommandLine& command_line, const Environment& pod);

}  // namespace muster::launcher
