#include "launcher/options/flag_table.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "launcher/options/flag_groups.h"

namespace muster::launcher {

namespace {

constexpr const FlagGroup* kGroups[] = {&kProgramFlags, &kFrameworkFlags,  &kMpiFlags,
                                        &kJobFlags,     &kRendezvousFlags, &kFailureFlags,
                                        &kOutputFlags,  &kReportFlags,     &kPlacementFlags,
                                        &kFabricFlags,  &kIgnoredFlags,    &kInformationFlags};

std::string variable_name(std::string_view prefix, std::string_view flag_name) {
  std::string text = to_upper(flag_name);
  std::replace(text.begin(), text.end(), '-', '_');
  return std::string(prefix) + text;
}

}  // namespace

std::span<const FlagGroup* const> flag_groups() { return kGroups; }

FlagTable::Iterator& FlagTable::Iterator::operator++() {
  if (++row_ < flag_groups()[group_]->rows.size()) return *this;
  ++group_;
  row_ = 0;
  return *this;
}

FlagTable::Iterator FlagTable::Iterator::operator++(int) {
  const Iterator before = *this;
  ++*this;
  return before;
}

const FlagRow& row_of(Flag flag) {
  const FlagTable table = flag_table();
  const auto row = std::find_if(table.begin(), table.end(), [flag](const FlagRow& candidate) {
    return candidate.name == flag.name;
  });
  MUSTER_CHECK(row != table.end());
  return *row;
}

std::string long_name(const FlagRow& row) { return "--" + std::string(row.name); }

std::string muster_variable(const FlagRow& row) {
  return row.kind == FlagKind::kRequest ? "" : variable_name("MUSTER_", row.name);
}

std::string torchrun_variable(const FlagRow& row) {
  const bool has_one = row.pet && row.origin == Origin::kTorchrun && row.kind != FlagKind::kRequest;
  return has_one ? variable_name("PET_", row.name) : "";
}

std::string_view default_text(const FlagRow& row, Dialect dialect) {
  if (dialect == Dialect::kMuster || !row.torchrun_fallback) return row.fallback;
  return *row.torchrun_fallback;
}

}  // namespace muster::launcher
