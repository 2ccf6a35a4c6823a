#include "launcher/options/flag_search.h"

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

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string> candidates) {
  if (name.size() > kLongestGuess) return {};
  std::string_view best;
  size_t best_distance = std::min<size_t>(4, name.size() / 2 + 1);
  for (const std::string_view candidate : candidates) {
    const size_t distance = edit_distance(name, candidate);
    if (distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

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
  std::vector<std::string> names;
  for (const FlagRow& row : flag_table()) {
    if (is_known(row, dialect)) names.emplace_back(row.name);
  }
  const std::string_view guess = nearest_name(dashed, names);
  return guess.empty() ? unknown : unknown + ", did you mean '--" + std::string(guess) + "'?";
}

}  // namespace muster::launcher
