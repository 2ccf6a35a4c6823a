#include "rendezvous/finding/host_list.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/socket.h"
#include "base/text.h"

namespace muster::rendezvous {

namespace {

constexpr size_t kMaxLabelBytes = 63;  // RFC 1035
constexpr std::string_view kServicePrefix = "dns:";

Error usage(std::string text) { return Error{Code::kUsage, 0, std::move(text)}; }

Error too_many(size_t hosts) {
  return Error{Code::kLimit, 0,
               std::to_string(hosts) + " hosts, limit " + std::to_string(kMaxHosts)};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '-' || c == '_';
}

// parse_integer takes a sign; none belongs here.
std::optional<int64_t> parse_count(std::string_view text, int64_t limit) {
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  const auto number = parse_integer(text);
  return number && *number <= limit ? number : std::nullopt;
}

Result<uint16_t> parse_port(std::string_view text) {
  const auto port = parse_count(text, 65535);
  if (!port || *port == 0) return usage("port " + quote_if_needed(text) + " is not 1 to 65535");
  return static_cast<uint16_t>(*port);
}

struct HostAndPort {
  std::string_view host;
  std::optional<std::string_view> port;  // as written
};

// Brackets hold an IPv6 address when they begin the text, else a pattern.
Result<HostAndPort> split_port(std::string_view text) {
  if (text.starts_with('[') && text.find(':') < text.find(']')) {
    const size_t close = text.find(']');
    if (close == std::string_view::npos) return usage("']' is missing");
    const std::string_view rest = text.substr(close + 1);
    const std::string_view host = text.substr(1, close - 1);
    if (rest.empty()) return HostAndPort{host, std::nullopt};
    if (!rest.starts_with(':')) return usage("only ':port' may follow ']'");
    return HostAndPort{host, rest.substr(1)};
  }
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || text.find(':', colon + 1) != std::string_view::npos) {
    return HostAndPort{text, std::nullopt};  // several colons: a bare IPv6 address
  }
  return HostAndPort{text.substr(0, colon), text.substr(colon + 1)};
}

// --- patterns ----------------------------------------------------------------------------------

// One number or range of a pattern, as texts of equal width when zeros lead: "08-11".
Status expand_range(std::string_view range, std::vector<std::string>& out) {
  const size_t dash = range.find('-');
  const std::string_view first_text = range.substr(0, dash);
  const std::string_view last_text =
      dash == std::string_view::npos ? first_text : range.substr(dash + 1);
  const auto first = parse_count(first_text, 1'000'000'000);
  const auto last = parse_count(last_text, 1'000'000'000);
  if (!first || !last || *last < *first) {
    return usage("range " + quote_if_needed(range) + " is not N or N-M with N <= M");
  }
  const size_t count = static_cast<size_t>(*last - *first) + 1;
  if (out.size() + count > kMaxHosts) return too_many(out.size() + count);
  const bool keeps_zeros = first_text.size() > 1 && first_text.front() == '0';
  for (int64_t number = *first; number <= *last; ++number) {
    std::string text = std::to_string(number);
    if (keeps_zeros && text.size() < first_text.size()) {
      text.insert(0, first_text.size() - text.size(), '0');
    }
    out.push_back(std::move(text));
  }
  return {};
}

struct Pattern {
  std::string_view before;
  std::vector<std::string> middles;
  std::string_view after;
};

Result<Pattern> parse_brackets(std::string_view host, size_t open) {
  const size_t close = host.find(']', open);
  if (close == std::string_view::npos) return usage("']' is missing");
  Pattern pattern{host.substr(0, open), {}, host.substr(close + 1)};
  for (const std::string_view range : split(host.substr(open + 1, close - open - 1), ',')) {
    MUSTER_RETURN_IF_ERROR(expand_range(trim(range), pattern.middles));
  }
  return pattern;
}

Result<Pattern> parse_placeholder(std::string_view host, size_t at, int nodes) {
  if (nodes <= 0) return usage("%d needs the number of nodes (--nnodes)");
  if (static_cast<size_t>(nodes) > kMaxHosts) return too_many(static_cast<size_t>(nodes));
  Pattern pattern{host.substr(0, at), {}, host.substr(at + 2)};
  for (int i = 0; i < nodes; ++i) pattern.middles.push_back(std::to_string(i));
  return pattern;
}

// A host without a pattern is a pattern with one empty middle.
Result<Pattern> parse_pattern(std::string_view host, int nodes) {
  const size_t bracket = host.find('[');
  const size_t placeholder = host.find("%d");
  auto pattern = bracket != std::string_view::npos ? parse_brackets(host, bracket)
                 : placeholder != std::string_view::npos
                     ? parse_placeholder(host, placeholder, nodes)
                     : Result<Pattern>(Pattern{host, {""}, ""});
  if (pattern && pattern->after.find_first_of("[%") != std::string_view::npos) {
    return usage("only one pattern may be in a host");
  }
  return pattern;
}

// --- entries -----------------------------------------------------------------------------------

// "dns:29400" is a host of the name dns; a service's name begins with a letter.
bool is_service_entry(std::string_view entry) {
  return entry.starts_with(kServicePrefix) &&
         !parse_count(entry.substr(kServicePrefix.size()), INT64_MAX);
}

Result<std::vector<Candidate>> expand_entry(std::string_view entry,
                                            const HostListDefaults& defaults) {
  if (entry.empty()) return usage("the host is missing");
  if (entry.find('@') != std::string_view::npos) {
    return usage("a user name means nothing here, nodes are reached by their agents");
  }
  Candidate candidate;
  candidate.is_service = is_service_entry(entry);
  if (candidate.is_service) entry.remove_prefix(kServicePrefix.size());
  const auto parts = split_port(entry);
  if (!parts) return parts.error();
  candidate.port = defaults.port;
  if (parts->port) {
    const auto port = parse_port(*parts->port);
    if (!port) return port.error();
    candidate.port = *port;
  }
  const auto pattern = parse_pattern(parts->host, defaults.nodes);
  if (!pattern) return pattern.error();
  std::vector<Candidate> expanded;
  expanded.reserve(pattern->middles.size());
  for (const std::string& middle : pattern->middles) {
    candidate.host = std::string(pattern->before) + middle + std::string(pattern->after);
    MUSTER_RETURN_IF_ERROR(check_host_name(candidate.host));
    if (auto numeric = parse_numeric_host(candidate.host)) {
      if (candidate.is_service) return usage("dns: wants a name, not an address");
      candidate.host = std::move(*numeric);
    }
    expanded.push_back(candidate);
  }
  return expanded;
}

// Commas inside of brackets belong to a pattern.
std::vector<std::string_view> split_entries(std::string_view text) {
  std::vector<std::string_view> entries;
  size_t begin = 0;
  bool in_brackets = false;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '[') in_brackets = true;
    if (text[at] == ']') in_brackets = false;
    if (text[at] != ',' || in_brackets) continue;
    entries.push_back(trim(text.substr(begin, at - begin)));
    begin = at + 1;
  }
  entries.push_back(trim(text.substr(begin)));
  return entries;
}

// Collects candidates in order, each host and port once.
class Collector {
 public:
  /// The candidate that has this host and port already, or none and it is added.
  Result<Candidate*> add(const Candidate& candidate) {
    const auto [found, is_new] =
        index_.try_emplace({to_lower(candidate.host), candidate.port}, candidates_.size());
    if (!is_new) return &candidates_[found->second];
    if (candidates_.size() == kMaxHosts) return too_many(kMaxHosts + 1);
    candidates_.push_back(candidate);
    return nullptr;
  }
  [[nodiscard]] std::vector<Candidate> take() { return std::move(candidates_); }

 private:
  std::vector<Candidate> candidates_;
  std::map<std::pair<std::string, uint16_t>, size_t> index_;
};

// --- host files --------------------------------------------------------------------------------

// 0 = not said.
Result<int> parse_slots(const std::vector<std::string_view>& words) {
  int slots = 0;
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = std::min(words[i].find('='), words[i].size());
    const std::string_view key = words[i].substr(0, equals);
    if (key != "slots" && key != "max_slots" && key != "max-slots") {
      return usage(quote_if_needed(words[i]) + " is not slots=N or max_slots=N");
    }
    const auto count =
        parse_count(words[i].substr(std::min(equals + 1, words[i].size())), kMaxSlots);
    if (!count || *count == 0) {
      return usage(quote_if_needed(words[i]) + " is not 1 to " + std::to_string(kMaxSlots));
    }
    if (key == "slots") slots = static_cast<int>(*count);
  }
  return slots;
}

Status add_line(std::string_view line, const HostListDefaults& defaults, Collector& collector) {
  if (line.size() > kMaxHostLineBytes) {
    return Error{
        Code::kLimit, 0,
        std::to_string(line.size()) + " bytes, limit " + std::to_string(kMaxHostLineBytes)};
  }
  const auto words = words_of(line.substr(0, line.find('#')));
  if (words.empty()) return {};
  const auto slots = parse_slots(words);
  if (!slots) return slots.error();
  auto expanded = expand_entry(words[0], defaults);
  if (!expanded) return std::move(expanded).error().with_context(quote_if_needed(words[0]));
  for (Candidate& candidate : *expanded) {
    candidate.slots = *slots;
    auto earlier = collector.add(candidate);
    if (!earlier) return earlier.error();
    if (*earlier == nullptr) continue;
    if ((*earlier)->slots + *slots > kMaxSlots) {
      return Error{
          Code::kLimit, 0,
          candidate.host + " has more than " + std::to_string(kMaxSlots) + " slots in all"};
    }
    (*earlier)->slots += *slots;
  }
  return {};
}

Status check_label(std::string_view label) {
  if (label.empty()) return usage("a part between the dots is empty");
  if (label.size() > kMaxLabelBytes) {
    return usage("a part between the dots has " + std::to_string(label.size()) + " bytes, limit " +
                 std::to_string(kMaxLabelBytes));
  }
  const auto bad = std::find_if_not(label.begin(), label.end(), is_name_character);
  if (bad != label.end()) {
    return usage(quote_if_needed(std::string_view(&*bad, 1)) + " cannot be in a host name");
  }
  return {};
}

}  // namespace

Status check_host_name(std::string_view host) {
  if (host.empty()) return usage("the host is missing");
  if (host.find(':') != std::string_view::npos) {
    // Scopes ("%eth0") are left out: they mean nothing on another node.
    if (parse_numeric_host(host) && host.front() != '[') return {};
    return usage("not an IPv6 address, and ':' cannot be in a host name");
  }
  if (host.ends_with('.')) host.remove_suffix(1);
  if (host.size() > kMaxHostNameBytes) {
    return usage("a host name of " + std::to_string(host.size()) + " bytes, limit " +
                 std::to_string(kMaxHostNameBytes));
  }
  for (const std::string_view label : split(host, '.')) {
    MUSTER_RETURN_IF_ERROR(check_label(label));
  }
  return {};
}

Result<std::vector<Candidate>> parse_host_list(std::string_view text,
                                               const HostListDefaults& defaults) {
  Collector collector;
  for (const std::string_view entry : split_entries(text)) {
    auto expanded = expand_entry(entry, defaults);
    if (!expanded) return std::move(expanded).error().with_context(quote_if_needed(entry));
    for (const Candidate& candidate : *expanded) {
      const auto earlier = collector.add(candidate);
      if (!earlier) return earlier.error();
      if (*earlier != nullptr) return usage(candidate.to_string() + " is listed twice");
    }
  }
  return collector.take();
}

Result<std::vector<Candidate>> parse_host_file(std::string_view text,
                                               const HostListDefaults& defaults) {
  Collector collector;
  size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    auto added = add_line(line, defaults, collector);
    if (!added) return std::move(added).error().with_context("line " + std::to_string(number));
  }
  auto candidates = collector.take();
  if (candidates.empty()) return usage("no host in the file");
  return candidates;
}

Result<std::vector<Candidate>> read_hosts(const Files& files, std::string_view text,
                                          const HostListDefaults& defaults) {
  if (!text.starts_with('@')) return parse_host_list(text, defaults);
  const std::string path(text.substr(1));
  const auto content = files.read(path, kMaxHostFileBytes);
  if (!content) return Error{Code::kConfig, content.error().os_errno, content.error().text};
  const auto candidates = parse_host_file(*content, defaults);
  if (candidates) return *candidates;
  return Error{Code::kConfig, 0, quote_if_needed(path) + ": " + candidates.error().text};
}

Result<std::vector<Candidate>> hosts_by_index(std::string_view own_name, int nodes, uint16_t port) {
  const std::string_view label = own_name.substr(0, own_name.find('.'));
  size_t begin = label.size();
  while (begin > 0 && is_digit(label[begin - 1])) --begin;
  const auto index = parse_count(label.substr(begin), kMaxHosts);
  const std::string name = quote_if_needed(own_name);
  if (!index || begin == 0) return usage(name + " does not end in a node's index");
  if (nodes <= 0 || *index >= nodes) {
    return usage("index " + std::to_string(*index) + " of " + name + " is not below the " +
                 std::to_string(nodes) + " nodes of the job");
  }
  const std::string pattern =
      std::string(label.substr(0, begin)) + "%d" + std::string(own_name.substr(label.size()));
  auto candidates = expand_entry(pattern, {port, nodes});
  if (!candidates) return std::move(candidates).error().with_context(name);
  return candidates;
}

}  // namespace muster::rendezvous
