#include "launcher/progress/line_forms.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"
#include "launcher/progress/line_cursor.h"

namespace muster::launcher {

namespace {

// Units of bars that go through the training. Others count bytes, files or examples.
constexpr std::array<std::string_view, 9> kUnits = {
    "it", "step", "steps", "batch", "batches", "iter", "iters", "iteration", "epoch"};
// Bars with such names go through something else, although they count in "it".
constexpr std::array<std::string_view, 24> kOtherBars = {
    "validation", "validating", "sanity",  "eval",  "test",    "predict", "map",     "filter",
    "load",       "download",   "fetch",   "token", "generat", "sav",     "resolv",  "prepar",
    "captur",     "batches",    "process", "sampl", "scor",    "quanti",  "convert", "class"};

bool has_unit(std::string_view rate) {
  rate = trim(rate);
  if (rate.starts_with("?")) return rate == "?it/s";
  FormCursor cursor(rate);
  if (!cursor.take_number()) return false;
  std::string_view unit = cursor.rest();
  if (unit.ends_with("/s")) {
    unit.remove_suffix(2);
  } else if (unit.starts_with("s/")) {
    unit.remove_prefix(2);
  } else {
    return false;
  }
  return std::ranges::find(kUnits, unit) != kUnits.end();
}

bool is_time(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789:?") == std::string_view::npos;
}

// ", loss=0.123, lr=0.0001": what is no number is left out.
void add_postfix(ProgressReport& report, std::string_view postfix) {
  for (const std::string_view part : split(postfix, ',')) {
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) continue;
    if (const auto value = parse_number(trim(part.substr(equals + 1))))
      report.add_metric(trim(part.substr(0, equals)), *value);
  }
}

// What follows "12/40 " or "12it ": [elapsed<remaining, rate, postfix]. False: that is no bar.
bool add_meter(ProgressReport& report, std::string_view meter) {
  FormCursor cursor(meter);
  if (!cursor.take("[")) return false;
  const auto inside = cursor.take_until(']');
  if (!inside || !trim(cursor.rest()).empty()) return false;
  const size_t comma = inside->find(", ");
  if (comma == std::string_view::npos) return false;
  const std::string_view times = inside->substr(0, comma);
  const size_t left = times.find('<');
  if (!is_time(times.substr(0, left))) return false;
  if (left != std::string_view::npos && !is_time(times.substr(left + 1))) return false;
  const std::string_view rest = inside->substr(comma + 2);
  const size_t end = rest.find(", ");
  if (!has_unit(rest.substr(0, end))) return false;
  if (end != std::string_view::npos) add_postfix(report, rest.substr(end + 2));
  return true;
}

// "Epoch 3", "Epoch [3/10]", "epoch: 3/10".
std::optional<KerasEpoch> epoch_of(std::string_view name) {
  const std::string lower = to_lower(name.substr(0, 16));
  FormCursor cursor(lower);
  if (!cursor.take("epoch")) return std::nullopt;
  cursor.take(":");
  cursor.skip_spaces();
  const bool bracket = cursor.take("[");
  const auto epoch = cursor.take_count();
  if (!epoch) return std::nullopt;
  KerasEpoch found{*epoch, 0};
  if (cursor.take("/")) found.epochs = cursor.take_count().value_or(0);
  if (bracket) cursor.take("]");
  return cursor.at_end() ? std::optional(found) : std::nullopt;
}

bool is_other_bar(std::string_view name) {
  const std::string lower = to_lower(name.substr(0, 16));
  return std::ranges::any_of(kOtherBars,
                             [&lower](std::string_view other) { return lower.starts_with(other); });
}

// A bar of one epoch among many: its steps are those of the whole training.
void place_in_training(ProgressReport& report, const KerasEpoch& place) {
  report.epoch = static_cast<double>(place.epoch);
  if (!report.step || !report.total) return;
  const int64_t length = *report.total;
  const bool from_one = place.epochs > 0;
  const int64_t before = std::max<int64_t>(0, place.epoch - (from_one ? 1 : 0));
  if (before > kMaxStep / length || place.epochs > kMaxStep / length) return;
  report.step = before * length + *report.step;
  report.total.reset();
  if (from_one) report.total = place.epochs * length;
  report.bar = "epoch";
  report.is_placed = true;
}

void name_bar(ProgressReport& report, std::string_view name) {
  if (const auto place = epoch_of(name)) return place_in_training(report, *place);
  // Losses and numbers of epochs stand in names, too.
  const size_t end = std::min(name.find_first_of("0123456789[("), kMaxMetricNameBytes);
  report.bar =
      std::string(trim(name.substr(0, end))) + "/" + std::to_string(report.total.value_or(0));
}

std::string_view name_before(std::string_view text) {
  std::string_view name = trim(text);
  if (name.ends_with(':')) name.remove_suffix(1);
  return name;
}

// Where the digits begin with which `text` ends.
size_t begin_of_digits(std::string_view text) {
  const size_t last = text.find_last_not_of("0123456789");
  return last == std::string_view::npos ? 0 : last + 1;
}

std::optional<ProgressReport> read_bar(std::string_view line, size_t percent) {
  const size_t digits = begin_of_digits(line.substr(0, percent));
  if (digits == percent || percent - digits > 3) return std::nullopt;
  const std::string_view before = line.substr(0, digits);
  if (!before.empty() && before.back() != ' ') return std::nullopt;
  const std::string_view name = name_before(before);
  if (is_other_bar(name)) return std::nullopt;
  FormCursor cursor(line.substr(percent + 2));
  if (!cursor.take_until('|') || !cursor.take(" ")) return std::nullopt;
  ProgressReport report{.source = ProgressSource::kBar};
  report.step = cursor.take_scaled();
  if (!report.step || !cursor.take("/")) return std::nullopt;
  report.total = cursor.take_scaled();
  if (!report.total || *report.total == 0 || !cursor.take(" ")) return std::nullopt;
  if (!add_meter(report, cursor.rest())) return std::nullopt;
  name_bar(report, name);
  return report;
}

// A flat object: of JSON, or with Python's quotes. Calls `found` with each number, also one in
// quotes if `quoted` says so. False: it is none.
template <typename Found>
bool read_flat(std::string_view text, char quote, bool quoted, const Found& found) {
  FormCursor cursor(text);
  if (!cursor.take("{")) return false;
  const std::string_view mark(&quote, 1);
  while (true) {
    cursor.skip_spaces();
    if (!cursor.take(mark)) return false;
    const auto key = cursor.take_until(quote);
    if (!key || !cursor.take(":")) return false;
    cursor.skip_spaces();
    if (cursor.take(mark)) {
      const auto value = cursor.take_until(quote);
      if (!value || value->ends_with('\\')) return false;
      const auto number = quoted ? parse_number(*value) : std::nullopt;
      if (number) found(*key, *number);
    } else if (cursor.next() == '[' || cursor.next() == '{') {
      return false;
    } else if (const auto number = cursor.take_number()) {
      found(*key, *number);
    } else {  // true, None, nan
      const std::string_view rest = cursor.rest();
      const size_t end = rest.find_first_not_of("truefalsnoTFNaNif-y");
      cursor.take(rest.substr(0, end));
      if (end == 0 || end == std::string_view::npos) return false;
    }
    cursor.skip_spaces();
    if (cursor.take("}")) return trim(cursor.rest()).empty();
    if (!cursor.take(",")) return false;
  }
}

std::optional<int64_t> as_step(double value) {
  if (value < 0 || value > static_cast<double>(kMaxStep)) return std::nullopt;
  const auto step = static_cast<int64_t>(value);
  return static_cast<double>(step) == value ? std::optional(step) : std::nullopt;
}

}  // namespace

std::optional<ProgressReport> read_tqdm(std::string_view line) {
  const size_t bar = line.find("%|");
  if (bar != std::string_view::npos) return read_bar(line, bar);
  const size_t unit = line.find("it [");
  if (unit == std::string_view::npos) return std::nullopt;
  const size_t digits = begin_of_digits(line.substr(0, unit));
  if (digits == unit || (digits > 0 && line[digits - 1] != ' ')) return std::nullopt;
  const std::string_view name = name_before(line.substr(0, digits));
  if (is_other_bar(name)) return std::nullopt;
  ProgressReport report{.source = ProgressSource::kBar};
  report.step = FormCursor(line.substr(digits)).take_count();
  if (!report.step || !add_meter(report, line.substr(unit + 3))) return std::nullopt;
  name_bar(report, name);
  return report;
}

std::optional<ProgressReport> read_trainer_dict(std::string_view line) {
  ProgressReport report{.source = ProgressSource::kLine};
  bool known = false;
  const bool whole =
      read_flat(line, '\'', true, [&report, &known](std::string_view key, double value) {
        known = known || key == "loss" || key == "epoch" || key == "eval_loss" ||
                key == "train_runtime";
        if (key == "epoch") {
          report.epoch = value;
        } else {
          report.add_metric(key, value);
        }
      });
  return whole && known ? std::optional(std::move(report)) : std::nullopt;
}

std::optional<ProgressReport> read_json_line(std::string_view line) {
  ProgressReport report{.source = ProgressSource::kLine};
  constexpr double kMostEpochs = 1e6;  // more is a time
  bool is_global = false;              // beside it "step" may be that of an epoch
  const bool whole = read_flat(line, '"', false, [&](std::string_view key, double value) {
    if (key == "global_step" || key == "iteration") {
      report.step = as_step(value);
      is_global = true;
    } else if (key == "step") {
      if (!is_global) report.step = as_step(value);
    } else if (key == "total" || key == "total_steps" || key == "max_steps") {
      report.total = as_step(value);
    } else if (key == "epoch") {
      if (value < kMostEpochs) report.epoch = value;
    } else if (key != "time" && key != "timestamp" && key != "ts") {
      report.add_metric(key, value);
    }
  });
  if (report.total == 0) report.total.reset();
  if (!whole || (!report.step && !report.epoch)) return std::nullopt;
  // {"message":"stage","step":1} is no word of a training.
  const bool has_more = report.total || report.epoch || !report.metrics.empty();
  return is_global || has_more ? std::optional(std::move(report)) : std::nullopt;
}

std::optional<ProgressReport> read_megatron(std::string_view line) {
  FormCursor cursor(line);
  if (cursor.take("[") && !cursor.take_until(']')) return std::nullopt;
  cursor.skip_spaces();
  if (!cursor.take("iteration ")) return std::nullopt;
  cursor.skip_spaces();
  ProgressReport report{.source = ProgressSource::kLine};
  report.step = cursor.take_count();
  if (!report.step || !cursor.take("/")) return std::nullopt;
  cursor.skip_spaces();
  report.total = cursor.take_count();
  if (report.total.value_or(0) == 0 || !cursor.take(" | ")) return std::nullopt;
  for (const std::string_view field : split(cursor.rest(), '|')) {
    const size_t colon = field.rfind(": ");
    if (colon == std::string_view::npos) continue;
    if (const auto value = parse_number(trim(field.substr(colon + 2))))
      report.add_metric(trim(field.substr(0, colon)), *value);
  }
  return report;
}

std::optional<ProgressReport> read_xgboost(std::string_view line) {
  FormCursor cursor(line);
  if (line.size() > 11 && line[3] == ':' && line[6] == ':') {  // [12:34:56] of the tracker
    if (!cursor.take("[") || !cursor.take_until(']') || !cursor.take(" ")) return std::nullopt;
  }
  if (!cursor.take("[")) return std::nullopt;
  ProgressReport report{.source = ProgressSource::kLine};
  report.step = cursor.take_count();
  if (!report.step || !cursor.take("]\t")) return std::nullopt;
  for (const std::string_view field : split(trim(cursor.rest()), '\t')) {
    const size_t colon = field.rfind(':');
    if (colon == std::string_view::npos || field.find('-') > colon) return std::nullopt;
    FormCursor value(field.substr(colon + 1));
    const auto number = value.take_number();
    if (!number || !(value.at_end() || value.next() == '+')) return std::nullopt;  // cv: +std
    report.add_metric(field.substr(0, colon), *number);
  }
  return report;
}

std::optional<KerasEpoch> read_keras_epoch(std::string_view line) {
  FormCursor cursor(line);
  if (!cursor.take("Epoch ")) return std::nullopt;
  const auto epoch = cursor.take_count();
  if (!epoch || !cursor.take("/")) return std::nullopt;
  const auto epochs = cursor.take_count();
  if (!epochs || !cursor.at_end() || *epoch < 1 || *epoch > *epochs) return std::nullopt;
  return KerasEpoch{*epoch, *epochs};
}

std::optional<ProgressReport> read_keras_steps(std::string_view line) {
  FormCursor cursor(line);
  ProgressReport report{.source = ProgressSource::kBar};
  report.step = cursor.take_count();
  if (!report.step || !cursor.take("/")) return std::nullopt;
  report.total = cursor.take_count();
  if (!report.total && !cursor.take("Unknown")) return std::nullopt;
  if (report.total == 0 || cursor.next() != ' ') return std::nullopt;
  const std::string_view rest = cursor.rest();
  if (rest.find("s/step") == std::string_view::npos &&
      rest.find(" - ETA: ") == std::string_view::npos)
    return std::nullopt;
  for (size_t at = rest.find(" - "); at != std::string_view::npos; at = rest.find(" - ", at + 3)) {
    const std::string_view field = rest.substr(at + 3, rest.find(" - ", at + 3) - at - 3);
    const size_t colon = field.find(": ");
    if (colon == std::string_view::npos) continue;
    if (const auto value = parse_number(trim(field.substr(colon + 2))))
      report.add_metric(field.substr(0, colon), *value);
  }
  report.bar = "keras";
  return report;
}

}  // namespace muster::launcher
