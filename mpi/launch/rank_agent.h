// How a launcher is told to put a command of ours before each rank: by a variable, wherever it is
// called from and whatever its words are. MPICH's Hydra has nothing of that kind; there it is put
// among the launcher's words (launcher_words.h). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/environment_plan.h"
#include "mpi/launch/implementation.h"

namespace muster::mpi {

/// It takes the command from a variable.
[[nodiscard]] bool has_rank_agent(Implementation implementation);

/// The variables of all launchers that have one. `agent`: words that a program's may follow, split
/// at spaces; none of them holds a colon or a semicolon. What `user` has set there comes behind it.
[[nodiscard]] std::vector<PlannedVariable> rank_agent_settings(const std::string& agent,
                                                               const Environment& user);

/// The same for what the user's own words say: `option` and the word behind it stay together, and
/// the latter gets `agent` in front. `options`: how many of `words` are the launcher's.
void put_rank_agent(const std::string& agent, size_t options, std::vector<std::string>& words);

/// The first of the launcher's words with which ranks begin without the command, or none begin.
/// "" = there is none.
[[nodiscard]] std::string_view word_without_agent(size_t options,
                                                  const std::vector<std::string>& words);

}  // namespace muster::mpi
