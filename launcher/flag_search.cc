#include "launcher/flag_search.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "base/text.h"

namespace muster::launcher {

namespace {

constexpr size_t kLongestGuess = 64;  // longer unknown names get no suggestion: O(length^2) each

std::string with_dashes(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

// Rows of `dialect` that begin with `prefix`: torchrun's, or Muster's when torchrun has none.
std::vector<const FlagRow*> rows_beginning(std::string_view prefix, Dialect dialect) {
  std::vector<const FlagRow*> theirs;
  std::vector<const FlagRow*> ours;
  for (const FlagRow& row : flag_table()) {
    if (!is_known(row, dialect) || !row.name.starts_with(prefix)) continue;
    (row.origin == Origin::kMuster ? ours : theirs).push_back(&row);
  }
  return theirs.empty() ? ours : theirs;
}

// Levenshtein distance.
size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < from.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < to.size(); ++j) {
      const size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

// The name closest to `name`; null when none is close enough to be a likely typing error.
const FlagRow* nearest(std::string_view name, Dialect dialect) {
  const FlagRow* best = nullptr;
  size_t best_distance = std::min<size_t>(4, name.size() / 2 + 1);
  if (name.size() > kLongestGuess) return nullptr;
  for (const FlagRow& row : flag_table()) {
    const size_t distance = is_known(row, dialect) ? edit_distance(name, row.name) : best_distance;
    if (distance >= best_distance) continue;
    best = &row;
    best_distance = distance;
  }
  return best;
}

}  // namespace

bool is_known(const FlagRow& row, Dialect dialect) {
  return row.origin != Origin::kLaunch || dialect == Dialect::kLaunch;
}

const FlagRow* find_flag(std::string_view name, Dialect dialect) {
  const std::string dashed = with_dashes(name);
  for (const FlagRow& row : flag_table()) {
    if (row.name == dashed && is_known(row, dialect)) return &row;
  }
  const auto rows = rows_beginning(dashed, dialect);
  return rows.size() == 1 ? rows.front() : nullptr;
}

const FlagRow* find_letter(char letter, Dialect dialect) {
  for (const FlagRow& row : flag_table()) {
    if (row.letter == letter && letter != 0 && is_known(row, dialect)) return &row;
  }
  return nullptr;
}

std::string explain_unknown(std::string_view name, Dialect dialect) {
  const std::string dashed = with_dashes(name);
  std::vector<std::string> candidates;
  for (const FlagRow* row : rows_beginning(dashed, dialect)) candidates.push_back(long_name(*row));
  if (candidates.size() > 1 && !dashed.empty()) {
    return "flag '--" + std::string(name) + "' is ambiguous: " + join(candidates, ", ");
  }
  const std::string unknown = "unknown flag '--" + std::string(name) + "'";
  const FlagRow* guess = nearest(dashed, dialect);
  return guess == nullptr ? unknown : unknown + ", did you mean '" + long_name(*guess) + "'?";
}

}  // namespace muster::launcher
