// Exposition: metrics as text, in the two forms that scrapers read. Pure. It knows how names, types
// and labels are written, and no metric of ours (job_metrics.h).
//
// Sources: prometheus.io/docs/instrumenting/exposition_formats (text 0.0.4);
// OpenMetrics 1.0 (github.com/prometheus/OpenMetrics, specification/OpenMetrics.md).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::launcher {

enum class ExpositionFormat { kPrometheusText, kOpenMetrics };
/// What a client takes, by its Accept header: OpenMetrics if that says so and prefers nothing else.
[[nodiscard]] ExpositionFormat format_for(std::string_view accept);
[[nodiscard]] std::string_view content_type(ExpositionFormat format);

enum class MetricType { kGauge, kCounter, kInfo, kSummary };

struct MetricFamily {
  std::string_view name;  ///< without _total or _info; it ends with `unit`, if there is one
  MetricType type = MetricType::kGauge;
  std::string_view unit = {};  ///< "seconds", "bytes"; "" = none
  std::string_view help;       ///< a sentence without its full stop
};

using Labels = std::vector<std::pair<std::string_view, std::string>>;

class Exposition {
 public:
  explicit Exposition(ExpositionFormat format) : format_(format) {}

  /// What add() and add_summary() are of from now on, each family once. One without samples is not
  /// written.
  void begin(const MetricFamily& family);
  void add(double value, const Labels& labels = {});
  void add_summary(double sum, double count);
  /// Label values are written as printable UTF-8.
  [[nodiscard]] std::string end() &&;

 private:
  void head();
  void sample(std::string_view suffix, const Labels& labels, double value);

  ExpositionFormat format_;
  MetricFamily family_;
  bool head_due_ = false;
  std::string text_;
};

}  // namespace muster::launcher
