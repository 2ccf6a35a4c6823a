#include "nccl/machine/sysfs.h"

#include <algorithm>

#include "base/text.h"

namespace muster::nccl {

std::optional<std::string> read_attribute(const Files& files, const std::string& path) {
  const Result<std::string> text = files.read(path, kMaxAttributeBytes);
  if (!text) return std::nullopt;
  return std::string(trim(*text));
}

std::optional<int64_t> read_integer(const Files& files, const std::string& path) {
  const std::optional<std::string> text = read_attribute(files, path);
  return text ? parse_integer(*text) : std::nullopt;
}

std::optional<CpuSet> read_cpu_list(const Files& files, const std::string& path) {
  const std::optional<std::string> text = read_attribute(files, path);
  return text ? parse_cpu_list(*text) : std::nullopt;
}

std::optional<int> number_after(std::string_view name, std::string_view prefix) {
  constexpr size_t kMaxDigits = 9;  // fits an int
  if (!name.starts_with(prefix)) return std::nullopt;
  const std::string_view digits = name.substr(prefix.size());
  const bool all_digits =
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (digits.empty() || digits.size() > kMaxDigits || !all_digits) return std::nullopt;
  const std::optional<int64_t> number = parse_integer(digits);
  return number ? std::optional<int>(static_cast<int>(*number)) : std::nullopt;
}

std::optional<std::string_view> line_value(std::string_view text, std::string_view key) {
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(key) || line.size() == key.size()) continue;
    const char after = line[key.size()];
    if (after == ':' || after == ' ' || after == '\t') return trim(line.substr(key.size() + 1));
  }
  return std::nullopt;
}

}  // namespace muster::nccl
