// The libraries of others that are in this program: whoever hears of a hole in one asks which
// version it is. A page for people, and no part of any decision.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct LinkedLibrary {
  std::string_view name;
  std::string version;  ///< as the library itself writes it
};

/// Those that were linked say it themselves, now. Of those that are headers alone it is the version
/// that was compiled. Sorted by how much of the network they see. It starts none of them.
[[nodiscard]] std::vector<LinkedLibrary> linked_libraries();

}  // namespace muster
