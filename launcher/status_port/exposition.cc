#include "launcher/status_port/exposition.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kOpenMetricsType = "application/openmetrics-text";

// The quality of one entry of an Accept header, "TYPE;parameter=...;q=0.5": 1 unless it says less.
double quality_of(const std::vector<std::string_view>& parts) {
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::string_view part = trim(parts[i]);
    if (!part.starts_with("q=")) continue;
    double quality = 0;
    const std::string_view digits = part.substr(2);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), quality);
    return error == std::errc() ? quality : 0;
  }
  return 1;
}

std::string_view word_of(MetricType type, ExpositionFormat format) {
  switch (type) {
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kCounter:
      return "counter";
    case MetricType::kInfo:
      return format == ExpositionFormat::kOpenMetrics ? "info" : "gauge";
    case MetricType::kSummary:
      return "summary";
  }
  MUSTER_CHECK(false);
}

std::string_view suffix_of(MetricType type) {
  if (type == MetricType::kCounter) return "_total";
  return type == MetricType::kInfo ? "_info" : "";
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char each : text) {
    if (each == '\\' || each == '"') out += '\\';
    if (each == '\n') {
      out += "\\n";
    } else {
      out += each;
    }
  }
  return out;
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

}  // namespace

ExpositionFormat format_for(std::string_view accept) {
  double open_metrics = 0;
  double other = 0;
  for (const std::string_view entry : split(accept, ',')) {
    const auto parts = split(trim(entry), ';');
    const std::string type = to_lower(trim(parts.front()));
    if (type == kOpenMetricsType) open_metrics = std::max(open_metrics, quality_of(parts));
    if (type == "text/plain") other = std::max(other, quality_of(parts));
  }
  const bool wanted = open_metrics > 0 && open_metrics >= other;
  return wanted ? ExpositionFormat::kOpenMetrics : ExpositionFormat::kPrometheusText;
}

std::string_view content_type(ExpositionFormat format) {
  return format == ExpositionFormat::kOpenMetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

void Exposition::begin(const MetricFamily& family) {
  family_ = family;
  head_due_ = true;
}

// In the older form a family is called as its samples are.
void Exposition::head() {
  if (!std::exchange(head_due_, false)) return;
  const bool open = format_ == ExpositionFormat::kOpenMetrics;
  std::string name(family_.name);
  if (!open) name += suffix_of(family_.type);
  text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, escaped(family_.help), name,
                       word_of(family_.type, format_));
  if (open && !family_.unit.empty()) text_ += fmt::format("# UNIT {} {}\n", name, family_.unit);
}

void Exposition::add(double value, const Labels& labels) {
  sample(suffix_of(family_.type), labels, value);
}

void Exposition::add_summary(double sum, double count) {
  sample("_sum", {}, sum);
  sample("_count", {}, count);
}

void Exposition::sample(std::string_view suffix, const Labels& labels, double value) {
  head();
  text_.append(family_.name).append(suffix);
  std::string inside;
  for (const auto& [name, label] : labels) {
    inside +=
        fmt::format("{}{}=\"{}\"", inside.empty() ? "" : ",", name, escaped(printable_utf8(label)));
  }
  if (!inside.empty()) text_.append("{").append(inside).append("}");
  text_.append(" ").append(number(value)).append("\n");
}

std::string Exposition::end() && {
  if (format_ == ExpositionFormat::kOpenMetrics) text_ += "# EOF\n";
  return std::move(text_);
}

}  // namespace muster::launcher
