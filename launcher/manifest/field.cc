#include "launcher/manifest/field.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

constexpr size_t kMaxShownBytes = 80;

}  // namespace

Field Field::operator[](std::string_view name) const {
  std::string path = path_.empty() ? std::string(name) : path_ + "." + std::string(name);
  if (value_ == nullptr || !value_->is_object()) return {nullptr, std::move(path)};
  const auto found = value_->find(name);
  return {found == value_->end() ? nullptr : &*found, std::move(path)};
}

Field Field::at(std::string_view path) const {
  Field field = *this;
  for (const std::string_view part : split(path, '.')) {
    const size_t bracket = std::min(part.find('['), part.size());
    field = field[part.substr(0, bracket)];
    if (bracket == part.size()) continue;
    const auto index = parse_integer(part.substr(bracket + 1, part.size() - bracket - 2));
    const auto items = field.items();
    const bool there = items && index && *index >= 0 && static_cast<size_t>(*index) < items->size();
    field = there ? (*items)[static_cast<size_t>(*index)] : Field(nullptr, field.path_);
  }
  return field;
}

Result<std::vector<Field>> Field::items() const {
  std::vector<Field> items;
  if (!is_there()) return items;
  if (!value_->is_array()) return wrong("a list");
  for (size_t i = 0; i < value_->size(); ++i)
    items.emplace_back(&(*value_)[i], path_ + "[" + std::to_string(i) + "]");
  return items;
}

const nlohmann::json& Field::value() const {
  static const nlohmann::json nothing;
  return value_ != nullptr ? *value_ : nothing;
}

bool Field::is_there() const { return value_ != nullptr && !value_->is_null(); }

Result<std::optional<std::string>> Field::text() const {
  if (!is_there()) return std::optional<std::string>();
  if (value_->is_string()) {
    auto words = value_->get<std::string>();
    if (words.find('\0') != std::string::npos) return wrong("a text without NUL characters");
    return std::optional(std::move(words));
  }
  if (value_->is_structured()) return wrong("a text");
  return std::optional(dump_json(*value_));
}

Result<std::optional<int>> Field::number(int least, int most) const {
  if (!is_there()) return std::optional<int>();
  const std::string text = value_->is_string() ? value_->get<std::string>() : dump_json(*value_);
  const auto number = parse_integer(text);
  if (number && *number >= least && *number <= most)
    return std::optional(static_cast<int>(*number));
  return wrong("a number from " + std::to_string(least) + " to " + std::to_string(most));
}

Result<std::optional<bool>> Field::boolean() const {
  if (!is_there()) return std::optional<bool>();
  if (!value_->is_boolean()) return wrong("true or false");
  return std::optional(value_->get<bool>());
}

Result<std::optional<std::string>> Field::one_of(std::span<const std::string_view> words) const {
  auto word = text();
  if (!word || !*word || std::ranges::find(words, **word) != words.end()) return word;
  const std::vector<std::string> names(words.begin(), words.end());
  return wrong("one of " + join(names, ", "));
}

Result<std::vector<std::string>> Field::words() const {
  std::vector<std::string> words;
  const auto list = items();
  if (!list) return Error(list.error());
  for (const Field& item : *list) {
    auto word = item.text();
    if (!word) return std::move(word).error();
    words.push_back(word->value_or(""));
  }
  return words;
}

Error Field::wrong(std::string_view what) const {
  std::string shown = value_ == nullptr         ? "nothing"
                      : value_->is_string()     ? "'" + value_->get<std::string>() + "'"
                      : value_->is_structured() ? (value_->is_array() ? "a list" : "a map")
                                                : "'" + dump_json(*value_) + "'";
  shown = std::string(clip_utf8(one_line(shown), kMaxShownBytes));
  return {Code::kUsage, 0, path_ + ": " + shown + " must be " + std::string(what)};
}

}  // namespace muster::launcher
