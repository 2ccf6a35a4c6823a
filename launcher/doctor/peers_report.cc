#include "launcher/doctor/peers_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json.h"
#include "base/text.h"

namespace muster::launcher {
namespace {

// What is missing, and what is of another kind, is empty.
nlohmann::json list_of(const nlohmann::json& object, const char* key) {
  const bool there = object.is_object() && object.contains(key) && object[key].is_array();
  return there ? object[key] : nlohmann::json::array();
}
std::string text_of(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : "";
}
std::string text_of(const nlohmann::json& object, const char* key) {
  return object.is_object() && object.contains(key) ? text_of(object[key]) : "";
}
double number_in(const nlohmann::json& value) {
  return value.is_number() ? value.get<double>() : 0;
}
double number_of(const nlohmann::json& object, const char* key) {
  return object.is_object() && object.contains(key) ? number_in(object[key]) : 0;
}

nccl::Severity severity_of(const std::string& text) {
  using enum nccl::Severity;
  for (const auto severity : {kInfo, kWarning}) {
    if (nccl::to_string(severity) == text) return severity;
  }
  return kError;
}

// None: it was not measured.
std::optional<nccl::ProviderResult> provider_of(const nlohmann::json& pair) {
  const std::string provider = text_of(pair, "provider");
  if (provider.empty()) return std::nullopt;
  return nccl::ProviderResult{.provider = provider,
                              .failure = text_of(pair, "provider_failure"),
                              .latency_us = number_of(pair, "provider_latency_us"),
                              .bytes_per_second = number_of(pair, "provider_bytes_per_s")};
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

// "1.2 GB/s and 35 us": of those that worked.
template <typename Way>
std::string medians(const std::vector<Way>& ways) {
  std::vector<double> rates;
  std::vector<double> latencies;
  for (const Way& way : ways) {
    if (!way.failure.empty()) continue;
    rates.push_back(way.bytes_per_second);
    latencies.push_back(way.latency_us);
  }
  return fmt::format("{} and {:.0f} us", nccl::format_rate(median(rates)), median(latencies));
}

}  // namespace

Result<PeersReport> parse_peers_report(std::string_view text) {
  const Error wrong{Code::kProtocol, 0, "the report of the peers is not readable"};
  const auto json = parse_json(text);
  if (!json || !json->is_object()) return wrong;
  PeersReport report;
  for (const auto& node : list_of(*json, "nodes")) report.nodes.push_back(text_of(node));
  for (const auto& pair : list_of(*json, "pairs")) {
    const auto nodes = list_of(pair, "nodes");
    if (nodes.size() != 2) return wrong;
    report.pairs.push_back({.low = static_cast<int>(number_in(nodes[0])),
                            .high = static_cast<int>(number_in(nodes[1])),
                            .failure = text_of(pair, "failure"),
                            .latency_us = number_of(pair, "latency_us"),
                            .bytes_per_second = number_of(pair, "bytes_per_s")});
    report.pairs.back().over_provider = provider_of(pair);
  }
  for (const auto& faulty : list_of(*json, "faulty"))
    report.faulty.push_back({static_cast<int>(number_of(faulty, "node")), text_of(faulty, "why")});
  for (const auto& finding : list_of(*json, "findings")) {
    report.findings.push_back({text_of(finding, "id"), severity_of(text_of(finding, "severity")),
                               text_of(finding, "what"), text_of(finding, "remedy")});
  }
  return report;
}

std::string peers_title(const PeersReport& report) {
  std::string title =
      fmt::format("{}, {}: {}, the medians", counted(report.nodes.size(), "node", "nodes"),
                  counted(report.pairs.size(), "pair", "pairs"), medians(report.pairs));
  std::vector<nccl::ProviderResult> ways;
  for (const auto& pair : report.pairs)
    if (pair.over_provider) ways.push_back(*pair.over_provider);
  if (ways.empty()) return title;
  return title + "; over " + one_line(ways.front().provider) + " " + medians(ways);
}

}  // namespace muster::launcher
