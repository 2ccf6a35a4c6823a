#include "mpi/pmi/pmi_protocol.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include "base/text.h"

namespace muster::mpi {

namespace {

constexpr std::string_view kSpawnBegin = "mcmd=spawn";
constexpr std::string_view kSpawnEnd = "endcmd";

Error protocol_error(std::string text) {
  return Error{Code::kProtocol, 0, "PMI request: " + std::move(text)};
}

Error too_long(std::string_view what, size_t bytes, size_t most) {
  return Error{Code::kLimit, 0,
               "PMI " + std::string(what) + " of " + std::to_string(bytes) + " bytes, at most " +
                   std::to_string(most)};
}

// A value from outside for a message: its beginning, quoted.
std::string shown(std::string_view text) { return quote_if_needed(clip_utf8(text, 64)); }

// The fields of one line. `value` and the texts of an abort go to the end of the line, whatever
// stands in them.
class Line {
 public:
  explicit Line(std::string_view text) {
    while (!text.empty()) {
      const size_t equals = text.find('=');
      if (equals == std::string_view::npos) break;
      const std::string_view name = trim(text.substr(0, equals));
      text.remove_prefix(equals + 1);
      const bool rest = name == "value" || name == "message" || name == "error_msg";
      const size_t end = rest ? text.size() : std::min(text.find(' '), text.size());
      fields_.emplace_back(name, text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const {
    for (const auto& [field, value] : fields_) {
      if (field == name) return value;
    }
    return std::nullopt;
  }

  Result<std::string> text(std::string_view name, size_t most) const {
    const auto value = find(name);
    if (!value) return protocol_error("'" + std::string(name) + "' is missing");
    if (value->size() > most) return too_long(name, value->size(), most);
    return std::string(*value);
  }

  Result<int> number(std::string_view name) const {
    const auto value = find(name);
    if (!value) return protocol_error("'" + std::string(name) + "' is missing");
    const auto number = parse_integer(*value);
    if (!number || *number < std::numeric_limits<int>::min() ||
        *number > std::numeric_limits<int>::max()) {
      return protocol_error("'" + std::string(name) + "' is no number: " + shown(*value));
    }
    return static_cast<int>(*number);
  }

 private:
  std::vector<std::pair<std::string_view, std::string_view>> fields_;
};

Result<PmiRequest> read_init(const Line& line) {
  auto version = line.number("pmi_version");
  if (!version) return std::move(version).error();
  auto subversion = line.number("pmi_subversion");
  if (!subversion) return std::move(subversion).error();
  return PmiRequest(PmiInit{*version, *subversion});
}

Result<PmiRequest> read_put(const Line& line) {
  auto kvs_name = line.text("kvsname", kMaxPmiKvsNameBytes);
  if (!kvs_name) return std::move(kvs_name).error();
  auto key = line.text("key", kMaxPmiKeyBytes);
  if (!key) return std::move(key).error();
  auto value = line.text("value", kMaxPmiValueBytes);
  if (!value) return std::move(value).error();
  return PmiRequest(PmiPut{std::move(*kvs_name), std::move(*key), std::move(*value)});
}

Result<PmiRequest> read_get(const Line& line) {
  auto kvs_name = line.text("kvsname", kMaxPmiKvsNameBytes);
  if (!kvs_name) return std::move(kvs_name).error();
  auto key = line.text("key", kMaxPmiKeyBytes);
  if (!key) return std::move(key).error();
  return PmiRequest(PmiGet{std::move(*kvs_name), std::move(*key)});
}

Result<PmiRequest> read_abort(const Line& line) {
  if (!line.find("exitcode")) return PmiRequest(PmiAbort{});
  auto exit_code = line.number("exitcode");
  if (!exit_code) return std::move(exit_code).error();
  return PmiRequest(PmiAbort{*exit_code});
}

// A barrier of a part of the ranks is a later dialect; as one of all it would hang.
Result<PmiRequest> read_barrier(const Line& line) {
  const auto group = line.find("group");
  if (group && *group != "WORLD") return protocol_error("barrier of the group " + shown(*group));
  return PmiRequest(PmiBarrier{});
}

template <typename T>
Result<PmiRequest> read_bare(const Line& /*line*/) {
  return PmiRequest(T{});
}

struct Command {
  std::string_view name;
  Result<PmiRequest> (*read)(const Line&);
};
constexpr std::array kCommands = {
    Command{"init", read_init},
    Command{"get_maxes", read_bare<PmiGetMaxes>},
    Command{"get_appnum", read_bare<PmiGetAppNumber>},
    Command{"get_my_kvsname", read_bare<PmiGetKvsName>},
    Command{"get_universe_size", read_bare<PmiGetUniverseSize>},
    Command{"put", read_put},
    Command{"get", read_get},
    Command{"barrier_in", read_barrier},
    Command{"finalize", read_bare<PmiFinalize>},
    Command{"abort", read_abort},
};
struct Refused {
  std::string_view name;
  std::string_view answer;
};
constexpr std::array kRefused = {
    Refused{"publish_name", "publish_result"},
    Refused{"unpublish_name", "unpublish_result"},
    Refused{"lookup_name", "lookup_result"},
};

Result<PmiRequest> read_request(std::string_view text) {
  const Line line(text);
  const auto name = line.find("cmd");
  if (!name) return protocol_error("no command in " + shown(text));
  for (const Command& command : kCommands) {
    if (command.name == *name) return command.read(line);
  }
  for (const Refused& refused : kRefused) {
    if (refused.name == *name) return PmiRequest(PmiDynamic{std::string(refused.answer)});
  }
  return protocol_error("unknown command " + shown(*name));
}

// Of several programs each has its own lines up to `endcmd`; the answer is to the last.
Result<DecodedPmi> read_spawn(std::string_view bytes) {
  std::optional<int> total;
  std::optional<int> so_far;
  for (size_t begin = 0; begin < kMaxPmiSpawnBytes;) {
    const size_t end = bytes.find('\n', begin);
    if (end == std::string_view::npos) break;
    const std::string_view text = bytes.substr(begin, end - begin);
    begin = end + 1;
    if (trim(text) == kSpawnEnd) {
      const bool last = !total || !so_far || *so_far >= *total;
      return DecodedPmi{begin, PmiDynamic{last ? "spawn_result" : ""}};
    }
    const Line line(text);
    if (line.find("totspawns")) {
      auto number = line.number("totspawns");
      if (!number) return std::move(number).error();
      total = *number;
    } else if (line.find("spawnssofar")) {
      auto number = line.number("spawnssofar");
      if (!number) return std::move(number).error();
      so_far = *number;
    }
  }
  if (bytes.size() >= kMaxPmiSpawnBytes) return too_long("spawn", bytes.size(), kMaxPmiSpawnBytes);
  return DecodedPmi{};
}

}  // namespace

Result<DecodedPmi> decode_pmi(std::string_view bytes) {
  const size_t end = bytes.find('\n');
  if (end == std::string_view::npos && bytes.size() <= kMaxPmiLineBytes) return DecodedPmi{};
  const size_t length = std::min(end, bytes.size());
  if (length > kMaxPmiLineBytes) return too_long("line", length, kMaxPmiLineBytes);
  const std::string_view line = bytes.substr(0, length);
  if (trim(line) == kSpawnBegin) return read_spawn(bytes);
  auto request = read_request(line);
  if (!request) return std::move(request).error();
  return DecodedPmi{end + 1, std::move(*request)};
}

std::string encode_pmi(std::string_view name, std::initializer_list<PmiField> fields) {
  std::string line = "cmd=";
  line += name;
  for (const auto& [key, value] : fields) {
    line += ' ';
    line += key;
    line += '=';
    line += value;
  }
  return line + '\n';
}

std::string process_mapping(const std::vector<int>& ranks_by_node) {
  std::string mapping = "(vector";
  for (size_t first = 0; first < ranks_by_node.size();) {
    const auto begin = ranks_by_node.begin() + static_cast<ptrdiff_t>(first);
    const auto other = std::find_if(begin, ranks_by_node.end(),
                                    [ranks = *begin](int next) { return next != ranks; });
    const auto nodes = static_cast<size_t>(other - begin);
    mapping += ",(" + std::to_string(first) + "," + std::to_string(nodes) + "," +
               std::to_string(*begin) + ")";
    if (mapping.size() >= kMaxPmiValueBytes) return "";
    first += nodes;
  }
  return mapping + ")";
}

}  // namespace muster::mpi
