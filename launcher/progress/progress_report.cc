#include "launcher/progress/progress_report.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

Error wrong(std::string_view key, std::string_view why) {
  return {Code::kProtocol, 0, std::string(key) + std::string(why)};
}

// A whole number in an allowed range; some libraries write 120.0.
Result<std::optional<int64_t>> whole_number(const nlohmann::json& object, const char* key,
                                            int64_t least) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::optional<int64_t>();
  if (!found->is_number()) return wrong(key, " is no number");
  const auto value = found->get<double>();
  if (!(value >= static_cast<double>(least)) || value > static_cast<double>(kMaxStep))
    return wrong(key, " is out of range");
  return std::optional(static_cast<int64_t>(value));
}

}  // namespace

void ProgressReport::add_metric(std::string_view name, double value) {
  if (name.empty() || name.size() > kMaxMetricNameBytes || !std::isfinite(value)) return;
  if (metrics.size() < kMaxMetrics) metrics.insert_or_assign(one_line(name), value);
}

Result<ProgressReport> parse_progress_message(std::string_view text) {
  const auto object = parse_json(text, kMaxProgressMessageBytes);
  if (!object) return Error(object.error());
  if (!object->is_object()) return wrong("", "no object");
  ProgressReport report;
  auto step = whole_number(*object, "step", 0);
  if (!step) return std::move(step).error();
  report.step = *step;
  auto total = whole_number(*object, "total", 1);
  if (!total) return std::move(total).error();
  report.total = *total;
  if (const auto epoch = object->find("epoch"); epoch != object->end() && !epoch->is_null()) {
    if (!epoch->is_number()) return wrong("epoch", " is no number");
    report.epoch = epoch->get<double>();
  }
  if (const auto metrics = object->find("metrics"); metrics != object->end()) {
    if (!metrics->is_object()) return wrong("metrics", " is no object");
    for (const auto& [name, value] : metrics->items())
      if (value.is_number()) report.add_metric(name, value.get<double>());
  }
  if (!report.says_anything()) return wrong("", "neither step, total, epoch nor metrics");
  return report;
}

}  // namespace muster::launcher
