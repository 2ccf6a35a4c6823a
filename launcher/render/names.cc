#include "launcher/render/names.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"
#include "launcher/options/choice.h"
#include "launcher/render/workload_parts.h"

namespace muster::launcher {

namespace {

constexpr size_t kMaxLabel = 63;

bool is_label(std::string_view name) {
  const auto is_small = [](char letter) { return letter >= 'a' && letter <= 'z'; };
  const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  return !name.empty() && is_small(name.front()) && name.back() != '-' &&
         std::ranges::all_of(name, [&](char letter) {
           return is_small(letter) || is_digit(letter) || letter == '-';
         });
}

// Of an elastic job there may be more pods than there are at first.
std::string last_index(const JobForm& form, const PodForm& pods) {
  const size_t colon = form.nodes.find(':');
  const auto most = parse_integer(colon == std::string::npos ? "" : form.nodes.substr(colon + 1));
  const int count =
      std::max({pods.pods, static_cast<int>(most.value_or(1)), form.runs ? form.runs->count : 1});
  return "-" + std::to_string(count - 1);
}

// Behind the job's name, of the last of these pods.
std::string suffix_of(const JobForm& form, const PodForm& pods, JobKind kind) {
  std::string last = last_index(form, pods);
  const bool is_launcher = has_launcher(form) && &pods == &form.pods.front();
  switch (kind) {
    case JobKind::kJobSet:
      return "-" + pods.role + "-0" + last;
    case JobKind::kJob:
      return last;
    case JobKind::kMpiJob:
    case JobKind::kPytorchJob:
      return "-worker" + last;  // as long as -launcher and -master-0
    case JobKind::kTrainJob:
      return is_launcher ? "-launcher-0-0" : "-node-0" + last;
  }
  return "";
}

}  // namespace

Status check_name(const JobForm& form, JobKind kind) {
  if (!is_label(form.name))
    return wrong("--name: '" + one_line(form.name) +
                 "' must be small letters, digits and dashes, a letter first and no dash last");
  for (const PodForm& pods : form.pods) {
    const std::string suffix = suffix_of(form, pods, kind);
    if (form.name.size() + suffix.size() > kMaxLabel)
      return wrong("--name: '" + form.name + "' must have at most " +
                   std::to_string(kMaxLabel - suffix.size()) + " letters: a pod is called NAME" +
                   suffix + ", and " + std::to_string(kMaxLabel) + " is the limit");
  }
  return {};
}

}  // namespace muster::launcher
