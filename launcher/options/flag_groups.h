// The groups of flags, each in the source of its name: rows, and the rules between them. For
// flag_table.cc, which puts them in order; everybody else goes through flag_table.h.
#pragma once

#include "launcher/options/flag_table.h"

namespace muster::launcher {

extern const FlagGroup kProgramFlags;      ///< program_flags.cc
extern const FlagGroup kFrameworkFlags;    ///< framework_flags.cc
extern const FlagGroup kMpiFlags;          ///< mpi_flags.cc
extern const FlagGroup kJobFlags;          ///< job_flags.cc
extern const FlagGroup kRendezvousFlags;   ///< rendezvous_flags.cc
extern const FlagGroup kFailureFlags;      ///< failure_flags.cc
extern const FlagGroup kOutputFlags;       ///< output_flags.cc
extern const FlagGroup kReportFlags;       ///< report_flags.cc
extern const FlagGroup kPlacementFlags;    ///< program_flags.cc
extern const FlagGroup kFabricFlags;       ///< fabric_flags.cc
extern const FlagGroup kIgnoredFlags;      ///< program_flags.cc
extern const FlagGroup kInformationFlags;  ///< program_flags.cc

}  // namespace muster::launcher
