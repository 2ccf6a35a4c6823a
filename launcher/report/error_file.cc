#include "launcher/report/error_file.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

// The value of "\uXXXX" at `at`, none when that is not what stands there.
std::optional<unsigned> unicode_escape_at(std::string_view text, size_t at) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return std::nullopt;
  unsigned value = 0;
  for (const char c : text.substr(at + 2, 4)) {
    const bool digit = c >= '0' && c <= '9';
    const char lower = static_cast<char>(c | 0x20);
    if (!digit && (lower < 'a' || lower > 'f')) return std::nullopt;
    value = value * 16 + static_cast<unsigned>(digit ? c - '0' : lower - 'a' + 10);
  }
  return value;
}

bool is_high_surrogate(std::optional<unsigned> value) { return value && *value >> 10U == 0x36; }
bool is_low_surrogate(std::optional<unsigned> value) { return value && *value >> 10U == 0x37; }

// Strict JSON parsers refuse half of a surrogate pair; Python writes it without a word.
std::string without_lone_surrogates(std::string text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') continue;
    const auto value = unicode_escape_at(text, i);
    if (!value) {
      ++i;  // a short escape: its second character may be a backslash
    } else if (is_high_surrogate(value) && is_low_surrogate(unicode_escape_at(text, i + 6))) {
      i += 11;
    } else {
      if (is_high_surrogate(value) || is_low_surrogate(value)) text.replace(i + 2, 4, "fffd");
      i += 5;
    }
  }
  return text;
}

Result<json> parse(std::string_view bytes) {
  return parse_json(without_lone_surrogates(std::string(bytes)), kMaxErrorFileBytes);
}

// A member of an object; nullptr when there is none or `value` is no object.
const json* member(const json* value, const char* key) {
  if (value == nullptr || !value->is_object()) return nullptr;
  const auto found = value->find(key);
  return found == value->end() ? nullptr : &*found;
}

std::optional<std::string> text_of(const json* value) {
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return value->get<std::string>();
}

// The end of `text`, not longer than we keep and not beginning within a UTF-8 sequence.
std::string tail_utf8(const std::string& text) {
  if (text.size() <= kMaxErrorTextBytes) return text;
  size_t start = text.size() - kMaxErrorTextBytes;
  while (start < text.size() && (static_cast<unsigned char>(text[start]) & 0xc0U) == 0x80U) ++start;
  return text.substr(start);
}

// Seconds since the epoch, as a number or as text. Whole seconds stay exact.
std::optional<WallTime> time_of(const json* value) {
  constexpr double kEndOfWallTime = 9e9;  // int64 nanoseconds end at 9.2e9 s, in the year 2262
  if (value == nullptr) return std::nullopt;
  const auto seconds = value->is_number() ? std::optional<double>(value->get<double>())
                                          : parse_number(text_of(value).value_or(""));
  if (!seconds || !(*seconds > 0) || *seconds > kEndOfWallTime) return std::nullopt;
  const double whole = std::floor(*seconds);
  return WallTime(std::chrono::seconds(static_cast<int64_t>(whole))) +
         std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*seconds - whole));
}

elastic::ErrorFile unusable(const std::string& path, std::string problem) {
  elastic::ErrorFile file;
  file.path = path;
  file.problem = std::move(problem);
  return file;
}

// torchrun's number: a signal counts negative.
int error_code(const ExitStatus& status) {
  return status.signal != 0 ? -status.signal : status.code;
}

json reply_document(const std::string& message, const std::string& traceback, WallTime time,
                    int code) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
  return {{"message",
           {{"message", printable_utf8(message)},
            {"extraInfo",
             {{"py_callstack", printable_utf8(traceback)}, {"timestamp", std::to_string(seconds)}}},
            {"errorCode", code}}}};
}

// None when there is no file to copy, or nothing in it that a reader could use.
std::optional<json> original_document(const Files& files, const elastic::FailureRecord& first) {
  if (!first.error_file || !first.error_file->problem.empty()) return std::nullopt;
  const auto bytes = files.read_private(first.error_file->path, kMaxErrorFileBytes);
  if (!bytes) return std::nullopt;  // gone since it was read: our own words are still true
  auto document = parse(*bytes);
  if (!document || !document->is_object()) return std::nullopt;
  make_printable(*document);
  return std::move(*document);
}

}  // namespace

elastic::ErrorFile parse_error_file(const std::string& path, std::string_view bytes) {
  // What a worker leaves that dies between opening and writing.
  if (bytes.empty()) return unusable(path, "it is empty");
  const auto document = parse(bytes);
  if (!document) return unusable(path, document.error().text);
  const json* const root = &*document;
  const json* const outer = member(root, "message");
  const json* const extra = member(outer, "extraInfo");
  const bool plain = outer != nullptr && outer->is_string();
  const auto message = text_of(plain ? outer : member(outer, "message"));
  if (!message) return unusable(path, "it has no message");
  elastic::ErrorFile file;
  file.path = path;
  file.message = clip_utf8(printable_utf8(*message), kMaxErrorTextBytes);
  file.traceback = tail_utf8(printable_utf8(text_of(member(extra, "py_callstack")).value_or("")));
  file.written = time_of(member(plain ? root : extra, "timestamp"));
  return file;
}

std::optional<elastic::ErrorFile> read_error_file(const Files& files, const std::string& path) {
  if (path.empty()) return std::nullopt;
  // It may lie in a folder that others share.
  const auto bytes = files.read_private(path, kMaxErrorFileBytes);
  if (bytes) return parse_error_file(path, *bytes);
  if (bytes.error().os_errno == ENOENT) return std::nullopt;
  return unusable(path, bytes.error().text);
}

Status write_reply_file(Files& files, const std::string& reply_path,
                        const elastic::FailureRecord& first) {
  auto document = original_document(files, first);
  if (!document) {
    const std::string lines = join(first.last_lines, "\n");
    document = reply_document(first.reason, lines.empty() ? first.reason : lines,
                              first.noticed_wall, error_code(first.status));
  } else if (json& message = (*document)["message"]; message.is_object()) {
    message["errorCode"] = error_code(first.status);
  }
  return files.write(reply_path, dump_json(*document));
}

Status write_reply_file(Files& files, const std::string& reply_path, const Error& error,
                        int exit_code, WallTime now) {
  return files.write(reply_path, dump_json(reply_document(error.text, error.text, now, exit_code)));
}

}  // namespace muster::launcher
