#include "launcher/contracts/pod_facts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/interfaces.h"
#include "base/text.h"
#include "launcher/options/option_values.h"

namespace muster::launcher {

namespace {

// A pod's labels are at most some dozens, an annotation at most 256 KiB.
constexpr size_t kMaxPodInfoBytes = 1U << 20;
constexpr size_t kMaxDigits = 9;
// Source: Kubernetes, pkg/kubelet/kubelet_pods.go, managedHostsHeaderWithHostNetwork.
constexpr std::string_view kHostNetworkHeader = "# Kubernetes-managed hosts file (host network).";

// Kubernetes writes the value as Go's %q; keys and values that contracts use need no escapes.
std::string_view unquoted(std::string_view text) {
  const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return quoted ? text.substr(1, text.size() - 2) : text;
}

}  // namespace

std::optional<int> plain_number(std::string_view text) {
  const bool plain = !text.empty() && text.size() <= kMaxDigits &&
                     std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  const auto number = plain ? parse_integer(text) : std::nullopt;
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

std::string own_full_name(const PodFacts& pod) { return full_host_name(pod.files, pod.host_name); }

std::string own_pod_name(const PodFacts& pod) {
  const auto hosts = pod.files.read("/etc/hosts");
  return hosts && hosts->starts_with(kHostNetworkHeader) ? "" : pod.host_name;
}

std::string sibling_of(std::string_view full, std::string_view label) {
  return std::string(label) + std::string(full.substr(first_label(full).size()));
}

std::string text_of(const PodFacts& pod, std::string_view name) {
  return std::string(pod.environment.get(name).value_or(""));
}

std::optional<int> number_of(const PodFacts& pod, std::string_view name) {
  return plain_number(pod.environment.get(name).value_or(""));
}

std::optional<int> node_count_of(const PodFacts& pod, std::string_view name) {
  const auto number = number_of(pod, name);
  const auto count = parse_node_number(std::to_string(number.value_or(0)));
  return count ? std::optional(*count) : std::nullopt;
}

HostPort split_host_port(std::string_view text) {
  const size_t colon = std::min(text.find(':'), text.size());
  const auto port = plain_number(text.substr(std::min(colon + 1, text.size())));
  return {std::string(text.substr(0, colon)), port && *port <= kMaxPort ? *port : 0};
}

std::optional<NumberedName> numbered_name(std::string_view name) {
  const size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  const auto number = plain_number(name.substr(dash + 1));
  if (!number) return std::nullopt;
  return NumberedName{std::string(name.substr(0, dash)), *number};
}

std::optional<NumberedName> replica_name(std::string_view name, std::string_view type) {
  auto numbered = numbered_name(name);
  const std::string suffix = "-" + std::string(type);
  if (!numbered || !numbered->stem.ends_with(suffix) || numbered->stem == suffix)
    return std::nullopt;
  numbered->stem.resize(numbered->stem.size() - suffix.size());
  return numbered;
}

std::vector<std::string> texts_in(const nlohmann::json& list) {
  std::vector<std::string> texts;
  if (!list.is_array()) return texts;
  for (const auto& item : list)
    if (item.is_string()) texts.push_back(item.get<std::string>());
  return texts;
}

bool in_kubernetes(const PodFacts& pod) { return pod.environment.has("KUBERNETES_SERVICE_HOST"); }

std::map<std::string, std::string, std::less<>> pod_labels(const PodFacts& pod) {
  std::map<std::string, std::string, std::less<>> labels;
  for (const char* name : {"labels", "annotations"}) {
    const auto text = pod.files.read(std::string(kPodInfoFolder) + "/" + name, kMaxPodInfoBytes);
    if (!text) continue;
    for (const std::string_view line : split(*text, '\n')) {
      const size_t equals = line.find('=');
      if (equals == std::string_view::npos) continue;
      labels.try_emplace(std::string(line.substr(0, equals)),
                         unquoted(trim(line.substr(equals + 1))));
    }
  }
  return labels;
}

}  // namespace muster::launcher
