// What the states of a leader mean for the timeline of its job. Pure but for the timeline.
#pragma once

#include "launcher/timeline/job_timeline.h"
#include "rendezvous/leader/leader_output.h"

namespace muster::launcher {

/// The phases are defined in docs/observability.md.
void follow_leader(const rendezvous::leader_output::Entered& entered, JobTimeline& timeline);

}  // namespace muster::launcher
