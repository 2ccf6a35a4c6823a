// `muster doctor`: what of this node would break or slow a job, by the checks of nccl/checks; and
// the capture of a machine as a folder, to be looked at elsewhere. Nothing is started but probes.
#pragma once

#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "base/process/init.h"
#include "launcher/doctor/peers_report.h"
#include "nccl/pairs/node_traits.h"

namespace muster::launcher {

inline constexpr int kExitFindings = 1;  ///< at least one finding is an error

/// What became of a check of the ways to other nodes.
struct PeersAnswer {
  int exit_code = 0;  ///< not 0: there is no report, and why has been said
  std::optional<PeersReport> report;
};

/// How the other nodes are met, what they are told, and over which provider is measured as well.
struct PeersCall {
  std::vector<std::string> flags;  ///< of `muster run`, by which nodes find each other
  nccl::NodeTraits own;            ///< what the others are told of this node
  std::string provider;            ///< "" = the one of a fabric that all nodes have, if any
};

/// What the verb is called with; all borrowed. `files`: this machine's.
struct DoctorCall {
  const std::vector<std::string>& words;  ///< after the verb
  const Environment& environment;
  Files& files;
  const ProcessSetup& setup;
  /// Meets the other nodes, tells them of this one, and measures.
  std::function<PeersAnswer(const PeersCall& call)> check_peers = {};
};

/// Prints the findings on `output`. Exit codes: 0; 1 there are errors among them; 64 the command
/// line; 78 no such tree, a profile that is wrong, or a folder that is not empty; 71 it cannot be
/// written. An error is one line on `errors`.
int run_doctor_verb(const DoctorCall& call, std::FILE* output, std::FILE* errors);

}  // namespace muster::launcher
