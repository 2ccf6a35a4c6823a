#include "rendezvous/etcd/etcd_messages.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/json.h"
#include "base/text.h"

namespace muster::rendezvous {

namespace {

using nlohmann::json;

constexpr int kHttpOk = 200;
constexpr int kHttpNotFound = 404;
constexpr size_t kMaxErrorBytes = 200;           // of etcd's own words, for one line of the log
constexpr int64_t kLongestTtlS = 9'000'000'000;  // etcd's MaxLeaseTTL

Error nonsense(std::string_view what) {
  return {Code::kProtocol, 0, fmt::format("not an answer of etcd: {}", what)};
}

// A 64-bit number: a string for etcd, a bare number for gateways that translate.
std::optional<int64_t> number_at(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return 0;
  if (found->is_number_integer()) return found->get<int64_t>();
  if (!found->is_string()) return std::nullopt;
  return parse_integer(found->get_ref<const std::string&>());
}

const json* object_at(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? &*found : nullptr;
}

const json* array_at(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? &*found : nullptr;
}

std::string string_at(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Error refusal(const HttpResponse& response) {
  const auto parsed = parse_json(response.body);
  std::string words = parsed && parsed->is_object() ? string_at(*parsed, "error") : "";
  if (words.empty()) words = response.body;
  // Another server's page has many lines.
  std::ranges::replace(words, '\n', ' ');
  std::ranges::replace(words, '\t', ' ');
  const std::string line = one_line(clip_utf8(trim(words), kMaxErrorBytes));
  return {Code::kPeer, 0, fmt::format("HTTP {}: {}", response.status, line)};
}

// The answer as an object. Every one of etcd's has a header; another server's have none.
Result<json> read_answer(const HttpResponse& response) {
  if (response.status != kHttpOk) return refusal(response);
  auto parsed = parse_json(response.body);
  if (!parsed) return nonsense(parsed.error().text);
  if (!parsed->is_object()) return nonsense("no object");
  // Streams wrap each of their messages.
  const json* wrapped = object_at(*parsed, "result");
  json answer = wrapped != nullptr ? *wrapped : *parsed;
  if (object_at(answer, "header") == nullptr) return nonsense("no header");
  return answer;
}

// The one entry of a range of one key, none if it is not there.
Result<std::optional<EtcdEntry>> entry_of(const json& range) {
  const json* entries = array_at(range, "kvs");
  if (entries == nullptr || entries->empty()) return std::optional<EtcdEntry>();
  const json& first = entries->front();
  if (!first.is_object()) return nonsense("'kvs'");
  auto value = from_base64(string_at(first, "value"));
  const auto revision = number_at(first, "create_revision");
  const auto lease = number_at(first, "lease");
  if (!value || !revision || *revision <= 0 || !lease) return nonsense("'kvs'");
  return std::optional<EtcdEntry>(EtcdEntry{std::move(*value), *revision, *lease});
}

// The range that is number `index` among the answers of a transaction.
Result<std::optional<EtcdEntry>> entry_of_response(const json& transaction, size_t index) {
  const json* responses = array_at(transaction, "responses");
  if (responses == nullptr || responses->size() <= index || !(*responses)[index].is_object())
    return nonsense("'responses'");
  const json* range = object_at((*responses)[index], "response_range");
  if (range == nullptr) return nonsense("'response_range'");
  return entry_of(*range);
}

std::string text_of(int64_t number) { return std::to_string(number); }

json put_of(std::string_view key, std::string_view value, int64_t lease) {
  return {{"key", to_base64(key)}, {"value", to_base64(value)}, {"lease", text_of(lease)}};
}

}  // namespace

EtcdCall range_call(std::string_view key) {
  return {"/v3/kv/range", dump_json({{"key", to_base64(key)}})};
}

EtcdCall grant_call(Duration ttl) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(ttl).count();
  return {"/v3/lease/grant", dump_json({{"TTL", text_of(seconds)}})};
}

EtcdCall keep_alive_call(int64_t lease) {
  return {"/v3/lease/keepalive", dump_json({{"ID", text_of(lease)}})};
}

EtcdCall revoke_call(int64_t lease) {
  return {"/v3/lease/revoke", dump_json({{"ID", text_of(lease)}})};
}

EtcdCall put_call(std::string_view key, std::string_view value, int64_t lease) {
  return {"/v3/kv/put", dump_json(put_of(key, value, lease))};
}

EtcdCall claim_call(std::string_view key, std::string_view value, int64_t lease,
                    std::string_view mark) {
  const auto range = [](std::string_view of) {
    return json{{"request_range", {{"key", to_base64(of)}}}};
  };
  json call;
  call["compare"] = json::array({{{"key", to_base64(key)},
                                  {"target", "CREATE"},
                                  {"result", "EQUAL"},
                                  {"create_revision", "0"}}});
  call["success"] = json::array({{{"request_put", put_of(key, value, lease)}}, range(mark)});
  call["failure"] = json::array({range(key)});
  return {"/v3/kv/txn", dump_json(call)};
}

Result<std::optional<EtcdEntry>> read_range(const HttpResponse& response) {
  auto answer = read_answer(response);
  if (!answer) return std::move(answer).error();
  return entry_of(*answer);
}

Result<EtcdLease> read_grant(const HttpResponse& response) {
  auto answer = read_answer(response);
  if (!answer) return std::move(answer).error();
  const auto id = number_at(*answer, "ID");
  const auto ttl = number_at(*answer, "TTL");
  if (!id || *id == 0 || !ttl || *ttl <= 0 || *ttl > kLongestTtlS) return nonsense("a lease");
  return EtcdLease{*id, std::chrono::seconds(*ttl)};
}

Result<Duration> read_keep_alive(const HttpResponse& response) {
  if (response.status == kHttpNotFound) return Duration::zero();
  auto answer = read_answer(response);
  if (!answer) return std::move(answer).error();
  const auto ttl = number_at(*answer, "TTL");
  if (!ttl || *ttl < 0 || *ttl > kLongestTtlS) return nonsense("'TTL'");
  return Duration(std::chrono::seconds(*ttl));
}

Status read_revoke(const HttpResponse& response) {
  if (response.status == kHttpNotFound) return {};
  return read_put(response);
}

Status read_put(const HttpResponse& response) {
  auto answer = read_answer(response);
  if (!answer) return std::move(answer).error();
  return {};
}

Result<EtcdClaim> read_claim(const HttpResponse& response) {
  auto answer = read_answer(response);
  if (!answer) return std::move(answer).error();
  const auto succeeded = answer->find("succeeded");
  EtcdClaim claim;
  claim.won = succeeded != answer->end() && succeeded->is_boolean() && succeeded->get<bool>();
  auto entry = entry_of_response(*answer, claim.won ? 1 : 0);
  if (!entry) return std::move(entry).error();
  if (!claim.won) {
    if (!*entry) return nonsense("a claim that failed without reason");
    claim.holder = std::move(*entry);
    return claim;
  }
  const auto revision = number_at(*object_at(*answer, "header"), "revision");
  if (!revision || *revision <= 0) return nonsense("'revision'");
  claim.revision = *revision;
  claim.mark = std::move(*entry);
  return claim;
}

std::string encode(const EtcdLeader& leader) {
  return dump_json(
      {{"node", leader.node}, {"host", leader.address.host}, {"port", leader.address.port}});
}

Result<EtcdLeader> decode_leader(std::string_view value) {
  const auto parsed = parse_json(value);
  if (!parsed || !parsed->is_object())
    return Error{Code::kProtocol, 0, "holds something else than a leader's address"};
  const auto host = parse_numeric_host(string_at(*parsed, "host"));
  const auto port = number_at(*parsed, "port");
  if (!host || !port || *port < 1 || *port > UINT16_MAX)
    return Error{Code::kProtocol, 0, "holds something else than a leader's address"};
  const std::string node = one_line(clip_utf8(string_at(*parsed, "node"), kMaxErrorBytes));
  return EtcdLeader{std::string(clip_utf8(node, kMaxErrorBytes)),
                    {*host, static_cast<uint16_t>(*port)}};
}

}  // namespace muster::rendezvous
