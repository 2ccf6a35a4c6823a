#include "nccl/plan/name_list.h"

#include <algorithm>

#include "base/text.h"

namespace muster::nccl {

NameList NameList::parse(std::string_view text, size_t limit) {
  NameList list;
  if (text.starts_with('^')) {
    list.excludes_ = true;
    text.remove_prefix(1);
  }
  if (text.starts_with('=')) {
    list.is_exact_ = true;
    text.remove_prefix(1);
  }
  for (const std::string_view element : split(text, ',')) {
    const std::string_view name = element.substr(0, element.find(':'));
    if (name.empty()) continue;
    if (list.names_.size() == limit) {
      ++list.dropped_;
    } else {
      list.names_.emplace_back(name);
    }
  }
  return list;
}

bool NameList::chooses(std::string_view name) const {
  const auto matches = [this, name](const std::string& wanted) {
    return is_exact_ ? name == wanted : name.starts_with(wanted);
  };
  const bool matched = names_.empty() || std::ranges::any_of(names_, matches);
  return matched != excludes_;
}

}  // namespace muster::nccl
