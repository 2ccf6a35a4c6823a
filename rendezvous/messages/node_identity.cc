#include "rendezvous/messages/node_identity.h"

#include <fmt/core.h>

#include <algorithm>

namespace muster::rendezvous {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The run of digits at `position`, without leading zeros.
std::string_view digits_at(std::string_view text, size_t position) {
  size_t end = position;
  while (end < text.size() && is_digit(text[end])) ++end;
  size_t begin = position;
  while (begin + 1 < end && text[begin] == '0') ++begin;
  return text.substr(begin, end - begin);
}

size_t after_digits(std::string_view text, size_t position) {
  while (position < text.size() && is_digit(text[position])) ++position;
  return position;
}

// As numbers of any length.
int compare_digits(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return left.size() < right.size() ? -1 : 1;
  return left.compare(right);
}

}  // namespace

int compare_natural(std::string_view left, std::string_view right) {
  size_t i = 0;
  size_t j = 0;
  while (i < left.size() && j < right.size()) {
    if (is_digit(left[i]) && is_digit(right[j])) {
      const int order = compare_digits(digits_at(left, i), digits_at(right, j));
      if (order != 0) return order;
      i = after_digits(left, i);
      j = after_digits(right, j);
    } else if (left[i] != right[j]) {
      return static_cast<unsigned char>(left[i]) < static_cast<unsigned char>(right[j]) ? -1 : 1;
    } else {
      ++i;
      ++j;
    }
  }
  if (i < left.size()) return 1;
  if (j < right.size()) return -1;
  return left.compare(right);  // "a01" and "a1" are equal as numbers, but two names
}

int compare_seats(const NodeIdentity& left, const NodeIdentity& right) {
  if (left.index.has_value() != right.index.has_value()) return left.index ? -1 : 1;
  if (left.index != right.index) return *left.index < *right.index ? -1 : 1;
  return compare_natural(left.name, right.name);
}

bool seat_less(const NodeIdentity& left, const NodeIdentity& right) {
  return compare_seats(left, right) < 0;
}

bool same_place(const NodeIdentity& left, const NodeIdentity& right) {
  if (left.index && right.index) return *left.index == *right.index;
  return left.name == right.name;
}

std::string describe(const NodeIdentity& identity) {
  if (!identity.index) return identity.name;
  return fmt::format("{} (index {})", identity.name, *identity.index);
}

}  // namespace muster::rendezvous
