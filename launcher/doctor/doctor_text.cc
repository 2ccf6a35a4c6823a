#include "launcher/doctor/doctor_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"

namespace muster::launcher {
namespace {

size_t count_of(const std::vector<nccl::Finding>& findings, nccl::Severity severity) {
  return static_cast<size_t>(std::ranges::count(findings, severity, &nccl::Finding::severity));
}

nlohmann::json json_of(const nccl::PairResult& pair) {
  nlohmann::json json = {{"nodes", {pair.low, pair.high}}};
  if (!pair.failure.empty()) {
    json["failure"] = pair.failure;
  } else {
    json["latency_us"] = pair.latency_us;
    json["bytes_per_s"] = pair.bytes_per_second;
  }
  if (!pair.over_provider) return json;
  json["provider"] = pair.over_provider->provider;
  if (!pair.over_provider->failure.empty()) {
    json["provider_failure"] = pair.over_provider->failure;
  } else {
    json["provider_latency_us"] = pair.over_provider->latency_us;
    json["provider_bytes_per_s"] = pair.over_provider->bytes_per_second;
  }
  return json;
}

}  // namespace

std::string doctor_text(const std::vector<nccl::Finding>& findings, const std::string& machine) {
  std::string text;
  for (const nccl::Finding& finding : findings) {
    text.append(nccl::to_string(finding.severity)).append(" ").append(finding.id);
    text += ": " + one_line(finding.what) + "\n";
    if (!finding.remedy.empty()) text += "    " + one_line(finding.remedy) + "\n";
  }
  const size_t errors = count_of(findings, nccl::Severity::kError);
  const size_t warnings = count_of(findings, nccl::Severity::kWarning);
  if (errors + warnings == 0) return text + "no problem found: " + one_line(machine) + "\n";
  return text + counted(errors, "error", "errors") + ", " +
         counted(warnings, "warning", "warnings") + ": " + one_line(machine) + "\n";
}

std::string doctor_json(const std::vector<nccl::Finding>& findings,
                        const std::optional<PeersReport>& peers) {
  nlohmann::json json = {{"findings", nlohmann::json::array()}};
  if (peers) {
    json["nodes"] = peers->nodes;
    json["pairs"] = nlohmann::json::array();
    for (const nccl::PairResult& pair : peers->pairs) json["pairs"].push_back(json_of(pair));
    for (const nccl::FaultyNode& faulty : peers->faulty)
      json["faulty"].push_back({{"node", faulty.node}, {"why", one_line(faulty.why)}});
  }
  for (const nccl::Finding& finding : findings) {
    json["findings"].push_back({{"id", finding.id},
                                {"severity", nccl::to_string(finding.severity)},
                                {"what", one_line(finding.what)},
                                {"remedy", one_line(finding.remedy)}});
  }
  return dump_json(json) + "\n";
}

bool has_errors(const std::vector<nccl::Finding>& findings) {
  return count_of(findings, nccl::Severity::kError) > 0;
}

}  // namespace muster::launcher
