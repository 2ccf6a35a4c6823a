#include "rendezvous/control_protocol.h"

#include <fmt/core.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"

namespace muster::rendezvous {

namespace {

using nlohmann::json;
constexpr int64_t kMaxMilliseconds = 10LL * 365 * 24 * 3600 * 1000;
constexpr int kMaxWorld = 1 << 26;  // ranks: kMaxNodes nodes of 1024 workers

// Limits of a number; what is outside ends the connection instead of wrapping.
struct Range {
  int64_t low = 0;
  int64_t high = 0;
};
constexpr Range kAnyInt{std::numeric_limits<int>::min(), std::numeric_limits<int>::max()};
constexpr Range kNodeRank{-1, kMaxNodes - 1};
constexpr Range kNodeCount{0, kMaxNodes};
constexpr Range kWorldRange{0, kMaxWorld};
constexpr Range kPort{0, 65535};
constexpr Range kMilliseconds{0, kMaxMilliseconds};
constexpr Range kStep{-1, std::numeric_limits<int64_t>::max()};

// Writer and Reader are two visitors of the same lists of fields (fields() below), so that the two
// directions cannot drift apart.
class Writer {
 public:
  void text(const char* key, std::string& value, size_t limit) {
    if (!value.empty()) object_[key] = std::string(clip_utf8(value, limit));
  }
  template <typename T>
  void number(const char* key, T& value, Range /*range*/) {
    object_[key] = value;
  }
  void number(const char* key, uint64_t& value) { object_[key] = value; }
  void flag(const char* key, bool& value) {
    if (value) object_[key] = true;
  }
  void optional_number(const char* key, std::optional<int>& value, Range /*range*/) {
    if (value) object_[key] = *value;
  }
  template <typename T>
  void object(const char* key, T& value) {
    object_[key] = write(value);
  }
  template <typename T>
  void optional_object(const char* key, std::optional<T>& value) {
    if (value) object_[key] = write(*value);
  }
  template <typename T>
  void list(const char* key, std::vector<T>& values, size_t limit) {
    if (values.empty()) return;
    json array = json::array();
    for (T& value : values) {
      if (array.size() == limit) break;
      array.push_back(write(value));
    }
    object_[key] = std::move(array);
  }
  template <typename T>
  void numbers(const char* key, std::vector<T>& values, size_t limit, Range /*range*/) {
    if (values.size() > limit) values.resize(limit);
    if (!values.empty()) object_[key] = values;
  }
  template <typename T>
  static json write(T& value);
  json take() { return std::move(object_); }

 private:
  json object_ = json::object();
};

class Reader {
 public:
  explicit Reader(const json& object) : object_(object) {
    if (!object.is_object()) fail("not an object", "message");
  }
  void text(const char* key, std::string& value, size_t limit) {
    const json* found = find(key);
    if (found == nullptr) return;
    if (!found->is_string()) return fail("not a string", key);
    value = found->get_ref<const std::string&>();
    if (value.size() > limit) fail(fmt::format("longer than {} bytes", limit), key);
  }
  template <typename T>
  void number(const char* key, T& value, Range range) {
    const json* found = find(key);
    if (found == nullptr) return fail("missing", key);
    if (const auto checked = integer(*found, key, range)) value = static_cast<T>(*checked);
  }
  void number(const char* key, uint64_t& value) {
    const json* found = find(key);
    if (found == nullptr) return fail("missing", key);
    if (!found->is_number_unsigned()) return fail("not a number >= 0", key);
    value = found->get<uint64_t>();
  }
  void flag(const char* key, bool& value) {
    const json* found = find(key);
    if (found == nullptr) return;
    if (!found->is_boolean()) return fail("not true or false", key);
    value = found->get<bool>();
  }
  void optional_number(const char* key, std::optional<int>& value, Range range) {
    const json* found = find(key);
    if (found == nullptr) return;
    if (const auto checked = integer(*found, key, range)) value = static_cast<int>(*checked);
  }
  template <typename T>
  void object(const char* key, T& value) {
    const json* found = find(key);
    if (found == nullptr) return fail("missing", key);
    read(*found, value);
  }
  template <typename T>
  void optional_object(const char* key, std::optional<T>& value) {
    const json* found = find(key);
    if (found != nullptr) read(*found, value.emplace());
  }
  template <typename T>
  void list(const char* key, std::vector<T>& values, size_t limit) {
    const json* found = array(key, limit);
    if (found == nullptr) return;
    for (const json& entry : *found) {
      if (problem_.empty()) read(entry, values.emplace_back());
    }
  }
  template <typename T>
  void numbers(const char* key, std::vector<T>& values, size_t limit, Range range) {
    const json* found = array(key, limit);
    if (found == nullptr) return;
    for (const json& entry : *found) {
      if (const auto checked = integer(entry, key, range)) {
        values.push_back(static_cast<T>(*checked));
      }
    }
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  template <typename T>
  void read(const json& from, T& value);
  const json* find(const char* key) {
    if (!problem_.empty()) return nullptr;
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }
  const json* array(const char* key, size_t limit) {
    const json* found = find(key);
    if (found == nullptr) return nullptr;
    if (!found->is_array()) fail("not a list", key);
    if (found->size() > limit) fail(fmt::format("more than {} entries", limit), key);
    return problem_.empty() ? found : nullptr;
  }
  std::optional<int64_t> integer(const json& value, const char* key, Range range) {
    const bool too_big =
        value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(range.high);
    if (value.is_number_integer() && !too_big) {
      const auto number = value.get<int64_t>();
      if (number >= range.low && number <= range.high) return number;
    }
    fail(fmt::format("not a whole number in {}..{}", range.low, range.high), key);
    return std::nullopt;
  }
  void fail(std::string_view what, std::string_view key) {
    if (problem_.empty()) problem_ = fmt::format("{}: {}", key, what);
  }

  const json& object_;
  std::string problem_;  // the first one; later fields are not read
};

template <typename Visitor>
void fields(Visitor& v, NodeIdentity& m) {
  v.text("name", m.name, kMaxNameBytes);
  v.optional_number("index", m.index, {0, kMaxNodes - 1});
  v.number("incarnation", m.incarnation);
}
template <typename Visitor>
void fields(Visitor& v, RosterEntry& m) {
  v.object("identity", m.identity);
  v.text("host", m.host, kMaxNameBytes);
  v.number("port", m.port, kPort);
  v.number("workers", m.workers, kWorldRange);
}
template <typename Visitor>
void fields(Visitor& v, BudgetState& m) {
  v.number("used", m.restarts_used, kWorldRange);
  v.number("charged", m.restarts_charged, kWorldRange);
  v.numbers("ages_ms", m.restart_ages_ms, kMaxRestartAges, kMilliseconds);
  v.text("last_failure", m.last_failure, kMaxTextBytes);
  v.number("same", m.same_failures, kWorldRange);
  v.number("best_step", m.best_step, kStep);
  v.number("judged_round", m.judged_round);
  v.number("pause_ms", m.pause_ms, kMilliseconds);
}
template <typename Visitor>
void fields(Visitor& v, Failure& m) {
  v.number("rank", m.rank, {-1, kMaxWorld});  // -1: not a rank, but what starts them
  v.number("local_rank", m.local_rank, kWorldRange);
  v.text("node", m.node, kMaxNameBytes);
  v.number("pid", m.pid, kAnyInt);
  v.number("exit_code", m.exit_code, kAnyInt);
  v.number("signal", m.signal, kAnyInt);
  v.text("class", m.failure_class, kMaxNameBytes);
  v.text("reason", m.reason, kMaxTextBytes);
  v.text("message", m.message, kMaxTextBytes);
  v.text("last_lines", m.last_lines, kMaxTextBytes);
  v.number("age_ms", m.age_ms, kMilliseconds);
  v.number("alive_ms", m.alive_ms, kMilliseconds);
  v.number("attempt", m.attempt, kWorldRange);
  v.flag("would_fail_again", m.would_fail_again);
}
template <typename Visitor>
void fields(Visitor& v, RoundReport& m) {
  v.number("round", m.round);
  v.number("term", m.term);
  v.number("node_rank", m.node_rank, kNodeRank);
  v.number("node_count", m.node_count, kNodeCount);
  v.object("seat", m.seat);
  v.number("leader_rank", m.leader_rank, kNodeRank);
  v.flag("confirmed", m.confirmed);
  v.flag("workers", m.workers);
  v.flag("succeeded", m.succeeded);
  v.list("roster", m.roster, kMaxRoster);
}
template <typename Visitor>
void fields(Visitor& v, Hello& m) {
  v.number("version", m.version, kAnyInt);
  v.text("run_id", m.run_id, kMaxNameBytes);
  v.flag("secured", m.secured);
  v.number("term", m.term);
  v.optional_number("candidate", m.candidate, {0, static_cast<int64_t>(kMaxCandidates) - 1});
  bool observer = m.purpose == Purpose::kObserver;
  v.flag("observer", observer);
  m.purpose = observer ? Purpose::kObserver : Purpose::kMember;
}
template <typename Visitor>
void fields(Visitor& v, Join& m) {
  v.object("identity", m.identity);
  v.text("host", m.host, kMaxNameBytes);
  v.number("port", m.port, kPort);
  v.number("local_world_size", m.local_world_size, {1, 1024});
  v.text("role", m.role, kMaxNameBytes);
  v.optional_number("node_rank", m.node_rank, {0, kMaxNodes - 1});
  v.optional_number("candidate", m.candidate, {0, static_cast<int64_t>(kMaxCandidates) - 1});
  v.flag("wants_roster", m.wants_roster);
  v.optional_object("last_round", m.last_round);
  v.optional_object("confirmed_round", m.confirmed_round);
  v.object("budget", m.budget);
  v.list("failures", m.failures, kMaxFailuresPerFrame);
}
template <typename Visitor>
void fields(Visitor& v, Heartbeat& m) {
  v.number("sequence", m.sequence);
  v.number("round", m.round);
  v.number("step", m.step, kStep);
  v.number("echo_ms", m.echo_ms, kMilliseconds);
}
template <typename T, typename... Ts>
concept OneOf = (std::is_same_v<T, Ts> || ...);
template <typename Visitor, OneOf<Started, Succeeded, Stopped> T>
void fields(Visitor& v, T& m) {
  v.number("round", m.round);
}
template <typename Visitor, OneOf<Goodbye, Fence> T>
void fields(Visitor& v, T& m) {
  v.text("reason", m.reason, kMaxTextBytes);
}
template <typename Visitor>
void fields(Visitor& v, Failed& m) {
  v.number("round", m.round);
  v.list("failures", m.failures, kMaxFailuresPerFrame);
}
template <typename Visitor>
void fields(Visitor& v, Leaving& m) {
  v.text("reason", m.reason, kMaxTextBytes);
  v.number("grace_ms", m.grace_ms, kMilliseconds);
}
template <typename Visitor>
void fields(Visitor& v, Welcome& m) {
  v.number("version", m.version, kAnyInt);
  v.text("run_id", m.run_id, kMaxNameBytes);
  v.flag("secured", m.secured);
  v.number("term", m.term);
  v.text("leader", m.leader, kMaxNameBytes);
  v.number("lease_ms", m.lease_ms, kMilliseconds);
  v.number("clock_ms", m.clock_ms, kMilliseconds);
}
template <typename Visitor>
void fields(Visitor& v, LastRound& m) {
  v.number("round", m.round);
  v.number("term", m.term);
  v.number("node_count", m.node_count, kNodeCount);
  v.flag("confirmed", m.confirmed);
  v.object("budget", m.budget);
}
template <typename Visitor>
void fields(Visitor& v, Refuse& m) {
  int code = static_cast<int>(m.code);
  v.number("code", code, {0, static_cast<int64_t>(RefuseCode::kBadJoin)});
  m.code = static_cast<RefuseCode>(code);
  v.text("text", m.text, kMaxTextBytes);
  v.optional_number("leader", m.leader, {0, static_cast<int64_t>(kMaxCandidates) - 1});
  v.object("last", m.last);
}
template <typename Visitor>
void fields(Visitor& v, Ack& m) {
  v.number("sequence", m.sequence);
  v.number("confirmed", m.confirmed);
  v.flag("in_vain", m.in_vain);
  v.number("clock_ms", m.clock_ms, kMilliseconds);
}
template <typename Visitor>
void fields(Visitor& v, Waiting& m) {
  v.flag("spare", m.spare);
  v.object("last", m.last);
  v.text("reason", m.reason, kMaxTextBytes);
}
template <typename Visitor>
void fields(Visitor& v, Assign& m) {
  v.number("round", m.round);
  v.number("term", m.term);
  v.number("attempt", m.attempt, kWorldRange);
  v.number("node_rank", m.node_rank, {0, kMaxNodes - 1});
  v.number("node_count", m.node_count, {1, kMaxNodes});
  v.number("rank_offset", m.rank_offset, kWorldRange);
  v.number("world_size", m.world_size, {1, kMaxWorld});
  v.number("role_rank_offset", m.role_rank_offset, kWorldRange);
  v.number("role_world_size", m.role_world_size, {1, kMaxWorld});
  v.number("leader_rank", m.leader_rank, kNodeRank);
  v.text("master_host", m.master_host, kMaxNameBytes);
  v.number("master_port", m.master_port, kPort);
  v.object("seat", m.seat);
  v.object("budget", m.budget);
  v.list("roster", m.roster, kMaxRoster);
}
template <typename Visitor>
void fields(Visitor& v, Stop& m) {
  v.number("round", m.round);
  v.number("grace_ms", m.grace_ms, kMilliseconds);
  v.text("reason", m.reason, kMaxTextBytes);
}
template <typename Visitor>
void fields(Visitor& v, Notice& m) {
  v.number("round", m.round);
  v.text("leaver", m.leaver, kMaxNameBytes);
  v.number("grace_ms", m.grace_ms, kMilliseconds);
}
template <typename Visitor>
void fields(Visitor& v, Finish& m) {
  v.flag("success", m.success);
  v.number("exit_code", m.exit_code, {0, 255});
  v.text("reason", m.reason, kMaxTextBytes);
  v.optional_object("first", m.first);
}
template <typename Visitor>
void fields(Visitor& v, Handover& m) {
  v.number("round", m.round);
  v.numbers("gone", m.gone, static_cast<size_t>(kMaxNodes), {0, kMaxNodes - 1});
  v.text("reason", m.reason, kMaxTextBytes);
}
template <typename Visitor>
void fields(Visitor& /*v*/, StatusRequest& /*m*/) {}
template <typename Visitor>
void fields(Visitor& v, StatusReply& m) {
  v.text("json", m.json, kMaxFrameBytes / 4);
}

template <typename T>
json Writer::write(T& value) {
  Writer writer;
  fields(writer, value);
  return writer.take();
}

template <typename T>
void Reader::read(const json& from, T& value) {
  Reader reader(from);
  fields(reader, value);
  if (problem_.empty()) problem_ = reader.problem();
}

// By position in Message; the static_assert keeps the two in step.
constexpr std::array<std::string_view, 21> kNames = {
    "hello",   "join",    "heartbeat", "started", "succeeded", "failed",         "stopped",
    "leaving", "goodbye", "welcome",   "refuse",  "ack",       "waiting",        "assign",
    "stop",    "notice",  "fence",     "finish",  "handover",  "status_request", "status_reply"};
static_assert(kNames.size() == std::variant_size_v<Message>);

template <size_t Index>
Result<Message> read_as(const json& object) {
  std::variant_alternative_t<Index, Message> message;
  Reader reader(object);
  fields(reader, message);
  if (!reader.problem().empty()) {
    return Error{Code::kProtocol, 0,
                 fmt::format("control message '{}': {}", kNames[Index], reader.problem())};
  }
  return Message(std::move(message));
}

template <size_t... Index>
Result<Message> read_message(size_t type, const json& object,
                             std::index_sequence<Index...> /*all*/) {
  using Read = Result<Message> (*)(const json&);
  constexpr std::array<Read, sizeof...(Index)> kReaders = {&read_as<Index>...};
  return kReaders[type](object);
}

Result<Message> parse(std::string_view text) {
  auto object = parse_json(text, kMaxFrameBytes);
  if (!object) return std::move(object).error().with_context("control message");
  const auto type = object->is_object() ? object->find("type") : object->end();
  if (type == object->end() || !type->is_string()) {
    return Error{Code::kProtocol, 0, "control message without a type"};
  }
  const auto& name = type->get_ref<const std::string&>();
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) {
      return read_message(i, *object, std::make_index_sequence<kNames.size()>());
    }
  }
  return Error{
      Code::kProtocol, 0,
      fmt::format("control message of unknown type '{}'", quote_if_needed(clip_utf8(name, 32)))};
}

std::string write_text(Message& message) {
  json object = std::visit([](auto& body) { return Writer::write(body); }, message);
  object["type"] = name_of(message);
  return dump_json(object);
}

constexpr size_t kFewFailures = 4;

void shrink(std::optional<RoundReport>& report) {
  if (report) report->roster.clear();
}
void shrink(std::vector<Failure>& failures) {
  if (failures.size() > kFewFailures) failures.resize(kFewFailures);
}
void shrink(Assign& assign) { assign.roster.clear(); }
void shrink(Join& join) {
  shrink(join.last_round);
  shrink(join.confirmed_round);
  shrink(join.failures);
}
void shrink(Failed& failed) { shrink(failed.failures); }
template <typename T>
void shrink(T& /*others are short*/) {}

}  // namespace

std::string_view name_of(const Message& message) { return kNames[message.index()]; }

std::string encode(const Message& message) {
  Message copy = message;  // the visitors are shared with reading and want to write
  std::string text = write_text(copy);
  if (text.size() > kMaxFrameBytes) {
    std::visit([](auto& body) { shrink(body); }, copy);
    text = write_text(copy);
  }
  // Every text and list that is left is limited: 64 KiB of failures, escaped at worst six times.
  MUSTER_CHECK(text.size() <= kMaxFrameBytes);
  const auto length = static_cast<uint32_t>(text.size());
  std::string frame;
  frame.reserve(kFrameHeaderBytes + text.size());
  for (const int shift : {24, 16, 8, 0}) frame.push_back(static_cast<char>(length >> shift));
  return frame + text;
}

Result<DecodedMessage> decode(std::span<const char> bytes) {
  if (bytes.size() < kFrameHeaderBytes) return DecodedMessage{};
  uint32_t length = 0;
  for (size_t i = 0; i < kFrameHeaderBytes; ++i) {
    length = (length << 8) | static_cast<unsigned char>(bytes[i]);
  }
  if (length > kMaxFrameBytes) {
    return Error{
        Code::kLimit, 0,
        fmt::format("control frame of {} bytes; at most {} are taken", length, kMaxFrameBytes)};
  }
  if (bytes.size() - kFrameHeaderBytes < length) return DecodedMessage{};
  auto message = parse({bytes.data() + kFrameHeaderBytes, length});
  if (!message) return std::move(message).error();
  return DecodedMessage{kFrameHeaderBytes + length, std::move(*message)};
}

}  // namespace muster::rendezvous
