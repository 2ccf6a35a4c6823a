#include "launcher/progress/progress_pattern.h"

#include <re2/re2.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"

namespace muster::launcher {

namespace {

// In the worst case the time is the product of these two and the line. Patterns of people have
// about 100 instructions.
constexpr int kMaxInstructions = 500;
constexpr int kMaxGroups = 16;
// Of the program and of what RE2 remembers while it matches.
constexpr int64_t kMaxMemoryBytes = 1 << 20;

constexpr std::string_view kGroupForm = "named groups are written (?P<name>...)";

RE2::Options quiet() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMaxMemoryBytes);
  return options;
}

Error wrong(std::string text) { return Error{Code::kUsage, 0, std::move(text)}; }

// RE2 names the piece that it stumbled over, which is all of the pattern where it missed an end.
Error wrong_syntax(const RE2& expression, std::string_view text) {
  const std::string& piece = expression.error_arg();
  const std::string& reason = expression.error();
  if (piece.empty() || piece == text) return wrong(reason.substr(0, reason.find(": ")));
  const size_t at = text.find(piece);
  if (at == std::string_view::npos) return wrong(reason);
  std::string told = reason + ", at byte " + std::to_string(at + 1);
  // Python and RE2 write (?P<name>, many others (?<name>. What looks behind is neither.
  const std::string_view rest = text.substr(at);
  if (rest.starts_with("(?<") && !rest.starts_with("(?<=") && !rest.starts_with("(?<!"))
    told += "; " + std::string(kGroupForm);
  return wrong(std::move(told));
}

std::string_view view_of(re2::StringPiece text) { return {text.data(), text.size()}; }

std::optional<int64_t> number_of(std::string_view text, int64_t least) {
  const auto number = parse_integer(text);
  if (!number || *number < least || *number > kMaxStep) return std::nullopt;
  return number;
}

}  // namespace

struct ProgressPattern::Compiled {
  explicit Compiled(std::string_view text) : expression({text.data(), text.size()}, quiet()) {}

  RE2 expression;
  // The numbers of the groups with that name. Of alternatives each may have its own.
  std::vector<size_t> step;
  std::vector<size_t> total;
  std::vector<size_t> epoch;
};

Result<ProgressPattern> ProgressPattern::parse(std::string_view text) {
  const auto compiled = std::make_shared<Compiled>(text);
  const RE2& expression = compiled->expression;
  if (!expression.ok()) return wrong_syntax(expression, text);
  if (expression.ProgramSize() > kMaxInstructions) return wrong("pattern too large");
  if (expression.NumberOfCapturingGroups() > kMaxGroups)
    return wrong("more than " + std::to_string(kMaxGroups) + " groups; (?:...) is none");
  const std::map<std::string_view, std::vector<size_t>*> known = {
      {"step", &compiled->step}, {"total", &compiled->total}, {"epoch", &compiled->epoch}};
  for (const auto& [number, name] : expression.CapturingGroupNames()) {
    const auto found = known.find(name);
    if (found == known.end()) return wrong("group '" + name + "' is none of step, total, epoch");
    found->second->push_back(static_cast<size_t>(number));
  }
  if (compiled->step.empty()) return wrong("no group 'step'; " + std::string(kGroupForm));
  return ProgressPattern(compiled);
}

std::optional<ProgressReport> ProgressPattern::read(std::string_view line) const {
  const RE2& expression = compiled_->expression;
  std::array<re2::StringPiece, kMaxGroups + 1> groups;  // the first is the match itself
  if (!expression.Match({line.data(), line.size()}, 0, line.size(), RE2::UNANCHORED, groups.data(),
                        expression.NumberOfCapturingGroups() + 1))
    return std::nullopt;
  const auto text_of = [&groups](const std::vector<size_t>& numbers) {
    for (const size_t number : numbers)
      if (!groups[number].empty()) return trim(view_of(groups[number]));
    return std::string_view();
  };
  ProgressReport report{.source = ProgressSource::kPattern};
  report.step = number_of(text_of(compiled_->step), 0);
  if (!report.step) return std::nullopt;
  report.total = number_of(text_of(compiled_->total), 1);
  report.epoch = parse_number(text_of(compiled_->epoch));
  return report;
}

}  // namespace muster::launcher
