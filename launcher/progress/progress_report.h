// ProgressReport: what one word of a worker says of how far it is, wherever the word came from; and
// the words that workers send themselves. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::launcher {

/// Of a message to MUSTER_PROGRESS_SOCKET: room for kMaxMetrics of them.
inline constexpr size_t kMaxProgressMessageBytes = 8 * 1024;
/// More than a page or a line of people can show. Those that come first by name are kept.
inline constexpr size_t kMaxMetrics = 64;
inline constexpr size_t kMaxMetricNameBytes = 64;
/// 2^53: beyond, doubles are no exact steps.
inline constexpr int64_t kMaxStep = int64_t{1} << 53;

/// Where a word came from, the least certain first. Once a worker has used one, weaker ones of it
/// tell metrics only.
enum class ProgressSource {
  kBar,      ///< a progress bar: there may be several, and they begin anew
  kLine,     ///< a line of a log that names a step
  kPattern,  ///< a line in the user's own form
  kWorker,   ///< the worker's own message
};

struct ProgressReport {
  ProgressSource source = ProgressSource::kWorker;
  std::string bar = {};  ///< of kBar: which of several
  /// Of kBar: the step counts from the beginning of the training, as all others do.
  bool is_placed = false;
  std::optional<int64_t> step = {};   ///< >= 0
  std::optional<int64_t> total = {};  ///< > 0: the step at the end
  std::optional<double> epoch = {};
  std::map<std::string, double> metrics = {};  ///< finite numbers

  /// It says something.
  [[nodiscard]] bool says_anything() const { return step || total || epoch || !metrics.empty(); }
  /// Unless there are too many, or the name is too long or empty, or the value is not finite.
  void add_metric(std::string_view name, double value);
};

/// {"step":120,"total":1000,"epoch":3,"metrics":{"loss":0.31}}; every key may be absent, but not
/// all of them, and others are not looked at. A metric that is no number is left out. kProtocol:
/// anything else. kLimit: too long.
Result<ProgressReport> parse_progress_message(std::string_view text);

}  // namespace muster::launcher
