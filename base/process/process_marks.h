// Marks: the variables by which an agent finds what it started, however deep. For whoever starts
// processes, and for the guardian, who kills by them.
#pragma once

#include <string_view>

namespace muster {

/// Marks every process of an agent; its value is the agent's token.
inline constexpr std::string_view kAgentIdVariable = "MUSTER_AGENT_ID";
/// The same for what a launcher of the user's own starts: such launchers pass their variables on to
/// processes of other agents, which must keep their mark.
inline constexpr std::string_view kLauncherIdVariable = "MUSTER_LAUNCHER_ID";

}  // namespace muster
