// What is laid over a controller's pods: Run:ai's and KAI's variables, Kueue's labels. They never
// say who is in the job, only what it is called and what share of a GPU it has. Facts: Run:ai 2.20
// documentation; KAI-Scheduler main of 2026-03, pkg/binder.
#pragma once

#include "launcher/contracts/contract.h"

namespace muster::launcher {

/// Adds what the contract does not say itself.
void add_overlays(Contract& contract, const PodFacts& pod);

}  // namespace muster::launcher
