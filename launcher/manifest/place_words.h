// Words of a container's command that speak of the job as a whole: where its nodes meet, and how
// many they are. Nobody sets these names in the pods of a TrainingRuntime. Pure. For whoever runs
// the words here (command_line/manifest_words.h) or writes them anew (render).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::launcher {

/// The text from which `word` goes on after a name of rank 0's address, as "${MASTER_PORT}", which
/// it begins with; 0 = it begins with none.
[[nodiscard]] size_t leading_address_name(std::string_view word);
/// There is one in it.
[[nodiscard]] bool names_address(std::string_view word);

struct NamedValue {
  std::string_view name;
  std::string_view value;
};
/// `text` with $NAME and ${NAME} replaced; "$$" stands, and what it begins is no name.
[[nodiscard]] std::string with_values(std::string_view text, std::span<const NamedValue> values);

/// They start an inner launcher: torchrun, or an MPI's.
[[nodiscard]] bool start_launcher(const std::vector<std::string>& words);
/// An inner launcher's words without those that say where the nodes are: an endpoint of names that
/// nobody has set, and the hostfile that an operator would have mounted. Other words stand.
[[nodiscard]] std::vector<std::string> without_places(const std::vector<std::string>& words);

}  // namespace muster::launcher
