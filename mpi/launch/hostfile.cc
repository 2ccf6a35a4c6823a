#include "mpi/launch/hostfile.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"

namespace muster::mpi {

namespace {

constexpr std::string_view kNameCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
constexpr int kMaxPort = 65535;

Error config(std::string text) { return {Code::kConfig, 0, std::move(text)}; }
Error limit(std::string text) { return {Code::kLimit, 0, std::move(text)}; }

std::string quoted(std::string_view text) { return "'" + one_line(text) + "'"; }

Status check_name(std::string_view name, std::string_view what) {
  if (name.empty()) return config("no " + std::string(what) + " name");
  if (name.size() > kMaxHostfileNameBytes) {
    return limit(std::string(what) + " name of " + std::to_string(name.size()) +
                 " bytes, at most " + std::to_string(kMaxHostfileNameBytes));
  }
  if (name.find_first_not_of(kNameCharacters) != std::string_view::npos)
    return config(std::string(what) + " " + quoted(name) + ": only letters, digits, '-', '.', '_'");
  if (name.starts_with('-'))
    return config(std::string(what) + " " + quoted(name) + ": begins like an option");
  return {};
}

Result<int> read_count(std::string_view key, std::string_view text, int most) {
  const auto number = parse_integer(text);
  if (!number || *number < 0)
    return config(std::string(key) + " " + quoted(text) + " is not a number from 0");
  if (*number > most) {
    return limit(std::string(key) + " " + quoted(text) + ", at most " + std::to_string(most));
  }
  return static_cast<int>(*number);
}

// "user@name".
Status set_name(HostSlots& host, std::string_view text) {
  if (const size_t at = text.find('@'); at != std::string_view::npos) {
    host.user = text.substr(0, at);
    text.remove_prefix(at + 1);
    MUSTER_RETURN_IF_ERROR(check_name(host.user, "user"));
  }
  host.host = text;
  return check_name(text, "host");
}

// ---- Open MPI

// Open MPI's scanner (orte/util/hostfile, 4.1.4) knows more; these are the ones with a meaning
// here.
enum class Keyword { kSlots, kMaxSlots, kUser, kPort };
struct KeywordRow {
  std::string_view name;
  Keyword keyword;
};
constexpr std::array kKeywords = {
    KeywordRow{"slots", Keyword::kSlots},        KeywordRow{"slot", Keyword::kSlots},
    KeywordRow{"count", Keyword::kSlots},        KeywordRow{"cpu", Keyword::kSlots},
    KeywordRow{"cpus", Keyword::kSlots},         KeywordRow{"max_slots", Keyword::kMaxSlots},
    KeywordRow{"max-slots", Keyword::kMaxSlots}, KeywordRow{"slots_max", Keyword::kMaxSlots},
    KeywordRow{"slots-max", Keyword::kMaxSlots}, KeywordRow{"user", Keyword::kUser},
    KeywordRow{"username", Keyword::kUser},      KeywordRow{"user-name", Keyword::kUser},
    KeywordRow{"user_name", Keyword::kUser},     KeywordRow{"port", Keyword::kPort},
};

std::optional<Keyword> find_keyword(std::string_view name) {
  for (const KeywordRow& row : kKeywords) {
    if (name == row.name) return row.keyword;
  }
  return std::nullopt;
}

struct OpenMpiLine {
  HostSlots host;
  bool has_slots = false;
  std::optional<int> max_slots;
};

Status apply(OpenMpiLine& line, std::string_view key, std::string_view value) {
  const auto keyword = find_keyword(key);
  if (!keyword) return config("unknown word " + quoted(key));
  switch (*keyword) {
    case Keyword::kSlots: {
      auto slots = read_count(key, value, kMaxHostSlots);
      if (!slots) return std::move(slots).error();
      line.host.slots = *slots;
      line.has_slots = true;
      return {};
    }
    case Keyword::kMaxSlots: {
      auto slots = read_count(key, value, kMaxHostSlots);
      if (!slots) return std::move(slots).error();
      line.max_slots = *slots;
      return {};
    }
    case Keyword::kUser:
      line.host.user = value;
      return check_name(value, "user");
    case Keyword::kPort: {
      auto port = read_count(key, value, kMaxPort);
      if (!port) return std::move(port).error();
      line.host.port = *port;
      return {};
    }
  }
  return {};
}

// Words at spaces, with '=' as a word of its own: "slots = 2" and "slots=2" are the same.
std::vector<std::string_view> words_and_signs(std::string_view line) {
  constexpr std::string_view kBetween = " \t\r";
  std::vector<std::string_view> words;
  while (!line.empty()) {
    if (kBetween.find(line.front()) != std::string_view::npos) {
      line.remove_prefix(1);
      continue;
    }
    const size_t length =
        line.front() == '=' ? 1 : std::min(line.size(), line.find_first_of(" \t\r="));
    words.push_back(line.substr(0, length));
    line.remove_prefix(length);
  }
  return words;
}

Result<OpenMpiLine> read_open_mpi_line(std::string_view text) {
  OpenMpiLine line;
  const auto words = words_and_signs(text);
  if (words.front().starts_with('+'))
    return config("relative host " + quoted(words.front()) + " is not supported");
  MUSTER_RETURN_IF_ERROR(set_name(line.host, words.front()));
  for (size_t i = 1; i < words.size(); i += 3) {
    if (i + 2 >= words.size() || words[i + 1] != "=" || words[i + 2] == "=")
      return config("expected NAME=VALUE after the host, found " + quoted(words[i]));
    MUSTER_RETURN_IF_ERROR(apply(line, words[i], words[i + 2]));
  }
  if (line.max_slots && *line.max_slots < line.host.slots) {
    return config("max_slots " + std::to_string(*line.max_slots) + " is less than slots " +
                  std::to_string(line.host.slots));
  }
  return line;
}

// ---- Hydra

Result<HostSlots> read_hydra_line(std::string_view text) {
  HostSlots host;
  if (text.find_first_of(" \t") != std::string_view::npos)
    return config("more than one word in " + quoted(text) + "; it is name:slots");
  const size_t colon = text.find(':');
  if (colon != text.rfind(':'))
    return config(quoted(text) + ": an IPv6 address, which Hydra cannot read");
  if (colon != std::string_view::npos) {
    auto slots = read_count("slots", text.substr(colon + 1), kMaxHostSlots);
    if (!slots) return std::move(slots).error();
    host.slots = *slots;
  }
  MUSTER_RETURN_IF_ERROR(set_name(host, text.substr(0, colon)));
  return host;
}

// ---- both

// The hosts so far, repeated ones added up.
class HostTable {
 public:
  Status add(HostSlots host, bool adds) {
    const auto known = index_.find(host.host);
    if (known == index_.end()) {
      if (hosts_.size() == kMaxHostfileHosts)
        return limit("more than " + std::to_string(kMaxHostfileHosts) + " hosts");
      index_.emplace(host.host, hosts_.size());
      hosts_.push_back(std::move(host));
      return {};
    }
    if (!adds) return config("host " + quoted(host.host) + " comes twice with slots");
    HostSlots& first = hosts_[known->second];
    if (first.slots + host.slots > kMaxHostSlots) {
      return limit("host " + quoted(host.host) + ": more than " + std::to_string(kMaxHostSlots) +
                   " slots together");
    }
    first.slots += host.slots;
    return {};
  }
  [[nodiscard]] bool empty() const { return hosts_.empty(); }
  std::vector<HostSlots> take() { return std::move(hosts_); }

 private:
  std::vector<HostSlots> hosts_;
  std::map<std::string, size_t, std::less<>> index_;
};

// Comments of Open MPI's scanner; `inside` is the state of /* */ from line to line.
std::string without_comments(std::string_view line, bool& inside) {
  std::string kept;
  while (!line.empty()) {
    if (inside) {
      const size_t end = line.find("*/");
      if (end == std::string_view::npos) return kept;
      inside = false;
      line.remove_prefix(end + 2);
    } else if (line.front() == '#' || line.starts_with("//")) {
      return kept;
    } else if (line.starts_with("/*")) {
      inside = true;
      line.remove_prefix(2);
    } else {
      kept += line.front();
      line.remove_prefix(1);
    }
  }
  return kept;
}

Status add_line(Implementation implementation, std::string_view line, bool& inside_comment,
                HostTable& table) {
  if (line.size() > kMaxHostfileLineBytes) {
    return limit(std::to_string(line.size()) + " bytes, at most " +
                 std::to_string(kMaxHostfileLineBytes));
  }
  if (implementation == Implementation::kOpenMpi) {
    const std::string text = without_comments(line, inside_comment);
    if (trim(text).empty()) return {};
    auto read = read_open_mpi_line(text);
    if (!read) return std::move(read).error();
    return table.add(std::move(read->host), !read->has_slots);
  }
  const std::string_view text = trim(line.substr(0, line.find('#')));
  if (text.empty()) return {};
  auto host = read_hydra_line(text);
  if (!host) return std::move(host).error();
  return table.add(std::move(*host), true);
}

Status check_written(const HostSlots& host, std::set<std::string_view>& names) {
  MUSTER_RETURN_IF_ERROR(check_name(host.host, "host"));
  if (host.slots < 0 || host.slots > kMaxHostSlots) {
    return limit("host " + quoted(host.host) + ": " + std::to_string(host.slots) +
                 " slots, at most " + std::to_string(kMaxHostSlots));
  }
  const std::string_view name = host.host;
  // Addresses have no labels: 10.0.0.1 and 10.0.0.2 are two hosts to every launcher.
  const bool is_address = name.find_first_not_of("0123456789.") == std::string_view::npos;
  const std::string_view label = is_address ? name : name.substr(0, name.find('.'));
  if (names.insert(label).second) return {};
  return config("host " + quoted(name) + ": another host has the same first label " +
                quoted(label) + ", which Open MPI takes for the same host");
}

}  // namespace

Result<std::string> write_hostfile(Implementation implementation,
                                   const std::vector<HostSlots>& hosts) {
  if (hosts.empty()) return config("a hostfile without hosts");
  if (hosts.size() > kMaxHostfileHosts) {
    return limit(std::to_string(hosts.size()) + " hosts, at most " +
                 std::to_string(kMaxHostfileHosts));
  }
  std::string text;
  std::set<std::string_view> names;
  for (const HostSlots& host : hosts) {
    MUSTER_RETURN_IF_ERROR(check_written(host, names));
    const bool open_mpi = implementation == Implementation::kOpenMpi;
    text += host.host + (open_mpi ? " slots=" : ":") + std::to_string(host.slots) + "\n";
  }
  return text;
}

Result<std::vector<HostSlots>> parse_hostfile(Implementation implementation,
                                              std::string_view text) {
  if (text.size() > kMaxHostfileBytes) {
    return limit("hostfile of " + std::to_string(text.size()) + " bytes, at most " +
                 std::to_string(kMaxHostfileBytes));
  }
  HostTable table;
  bool inside_comment = false;
  int number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (auto added = add_line(implementation, line, inside_comment, table); !added)
      return std::move(added).error().with_context("line " + std::to_string(number));
  }
  if (table.empty())
    return config("line " + std::to_string(number) + ": no host in the whole file");
  return table.take();
}

}  // namespace muster::mpi
