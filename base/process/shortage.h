// Shortage: what a container ran short of, as the cause of a worker's end. Pure: container_watch.h
// reads the facts. A table holds for each resource how its shortage shows, and what then is said.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/process.h"
#include "base/process/container_watch.h"

namespace muster {

/// How a process ended without success.
struct Symptoms {
  ExitStatus status = {};
  int start_errno = 0;               ///< not 0: it could not be started, and `status` means nothing
  bool aborted = false;              ///< MPI_Abort, as libraries do that cannot begin
  std::string_view last_words = {};  ///< what it printed last; "" = not known
};

struct Shortage {
  bool of_memory = false;  ///< the OOM killer was at work
  std::string text;  ///< "/dev/shm is full (64 MiB)": a phrase with what is to be changed in it
};

/// None: nothing here explains such an end.
[[nodiscard]] std::optional<Shortage> find_shortage(const Symptoms& symptoms,
                                                    const ContainerFacts& facts);

}  // namespace muster
