// Looking for a leader beyond those who may lead by the list, where that list may change: whom to
// ask, which answer counts, and what becomes of the list. Pure. The questions are asked by
// launcher/leader_guide, and by the simulator.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "rendezvous/candidate.h"
#include "rendezvous/round_report.h"

namespace muster::rendezvous {

/// Of a list that names all nodes these may lead, the first ones: enough to survive two deaths, few
/// enough to ask.
inline constexpr size_t kLeadersOfHosts = 3;

/// Where they are.
[[nodiscard]] std::vector<Candidate> places_of(std::span<const RosterEntry> nodes);

/// Those of `everyone` that are none of `joined`, by address or by name ("worker-3.workers.jobs" is
/// worker-3) and port. O(n * m).
[[nodiscard]] std::vector<Candidate> not_joined(std::vector<Candidate> everyone,
                                                std::span<const RosterEntry> joined);

/// `leader`, which an agent leads as or follows, is none of `own`: it leads others. None = that
/// agent knows of no leader.
[[nodiscard]] bool leads_others(const std::optional<Candidate>& leader,
                                std::span<const Candidate> own);

/// Behind those who may lead by the list, unless it is one of them. None adds nobody.
[[nodiscard]] std::vector<Candidate> with_leader(std::vector<Candidate> list,
                                                 const std::optional<Candidate>& leader);

}  // namespace muster::rendezvous
