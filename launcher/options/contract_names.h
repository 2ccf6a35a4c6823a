// The values of --contract: the controllers whose word about a pod counts. What each says is read
// in launcher/contracts, whose table has these names.
#pragma once

#include <array>
#include <string_view>

namespace muster::launcher {

/// Whichever is recognised.
inline constexpr std::string_view kAutoContract = "auto";
/// Nobody's word counts.
inline constexpr std::string_view kNoContract = "none";

inline constexpr std::array<std::string_view, 13> kContractNames = {
    kAutoContract, kNoContract, "mpi-operator", "trainer",   "training-operator", "jobset", "lws",
    "volcano",     "slurm",     "indexed-job",  "sagemaker", "determined",        "dlrover"};

/// Where the mpi-operator and Trainer mount the hostfile of the launcher.
inline constexpr const char* kOperatorHostfile = "/etc/mpi/hostfile";

}  // namespace muster::launcher
