#include "launcher/options/flag_reader.h"

#include <utility>

#include "launcher/options/flag_search.h"
#include "launcher/options/flag_table.h"

namespace muster::launcher {

bool FlagReader::on_command_line(Flag flag) const {
  const GivenValue* const given = raw_.find(flag);
  return given != nullptr && given->kind == SourceKind::kCommandLine;
}

std::string FlagReader::text(Flag flag) const {
  const GivenValue* const given = raw_.find(flag);
  return given == nullptr ? std::string(fallback(flag)) : given->text;
}

std::string_view FlagReader::fallback(Flag flag) const {
  const FlagRow& row = row_of(flag);
  if (row.kind == FlagKind::kSwitch) return "false";
  const bool ours = row.origin == Origin::kMuster;
  const Dialect called_as =
      personality_ == Personality::kTorchrun ? Dialect::kTorchrun : Dialect::kMuster;
  return default_text(row, ours ? called_as : raw_.dialect);
}

std::string FlagReader::label(Flag flag) const {
  const GivenValue* const given = raw_.find(flag);
  std::string name = long_name(row_of(flag));
  if (given == nullptr) return name;
  switch (given->kind) {
    case SourceKind::kEnvironment:
      return given->source;
    case SourceKind::kContract:
      return name + " (" + given->source + ")";
    case SourceKind::kDefault:
    case SourceKind::kCommandLine:
      return name;
  }
  return name;
}

bool FlagReader::is_foreign(const FlagRow& row, Options& options) {
  const GivenValue* const given = find(row.flag());
  if (row.foreign.complaint.empty() || given == nullptr) return false;
  if (given->source != row.other_variable && given->source != row.foreign.variable) return false;
  if (row.into.fill(options, given->text)) return false;
  const std::string value(fallback(row.flag()));
  warn(given->source + " '" + given->text + "' " + std::string(row.foreign.complaint) + ", using " +
       value);
  derive(row.flag(), value, "default");
  return true;
}

void FlagReader::fill(const FlagRow& row, Options& options) {
  const GivenValue* const given = find(row.flag());
  if (given != nullptr && !row.no_effect.why.empty() && given->text != row.no_effect.harmless)
    warn(label(row.flag()) + " has no effect: " + std::string(row.no_effect.why));
  if (row.into.fill == nullptr || (given == nullptr && !row.fallback_counts)) return;
  const std::string value =
      is_foreign(row, options) ? std::string(fallback(row.flag())) : text(row.flag());
  if (const Status filled = row.into.fill(options, value); !filled)
    fail(row.flag(), filled.error().text);
}

void FlagReader::fail(std::string line) {
  if (!error_) error_ = Error{Code::kUsage, 0, std::move(line)};
}

void FlagReader::fail(Flag flag, std::string_view complaint) {
  fail(label(flag) + " '" + text(flag) + "': " + std::string(complaint));
}

void FlagReader::refuse_part(Flag flag, const std::string& complaint, std::string_view otherwise) {
  const GivenValue* const given = find(flag);
  const bool ours = given == nullptr || given->kind == SourceKind::kCommandLine ||
                    given->source.starts_with("MUSTER_");
  if (dialect() == Dialect::kMuster && ours) return fail(flag, complaint);
  warn(label(flag) + ": " + complaint + ", " + std::string(otherwise));
}

void FlagReader::derive(Flag flag, std::string value, std::string source) {
  derived_[flag] = {long_name(row_of(flag)), std::move(value), std::move(source)};
}

std::vector<ExplainedOption> FlagReader::explained() const {
  std::vector<ExplainedOption> all;
  for (const FlagRow& row : flag_table()) {
    if (row.kind == FlagKind::kRequest || !is_known(row, raw_.dialect)) continue;
    const auto derived = derived_.find(row.flag());
    if (derived != derived_.end()) {
      all.push_back(derived->second);
      continue;
    }
    const GivenValue* const given = raw_.find(row.flag());
    all.push_back({long_name(row), text(row.flag()), given == nullptr ? "default" : given->source});
  }
  return all;
}

}  // namespace muster::launcher
