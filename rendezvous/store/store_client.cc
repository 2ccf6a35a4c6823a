#include "rendezvous/store/store_client.h"

#include <bit>
#include <cstring>

namespace muster::rendezvous {
namespace {

static_assert(std::endian::native == std::endian::little);  // the protocol's order

constexpr char kValidate = 0;
constexpr char kSet = 1;
constexpr char kGet = 3;
constexpr char kCheck = 5;
constexpr char kWait = 6;
constexpr char kDeleteKey = 8;
constexpr char kCancelWait = 12;
constexpr char kCancelled = 1;
constexpr Duration kAnswerTime = std::chrono::seconds(10);  // of what needs no waiting
constexpr std::string_view kMagic("\xCE\xF7\x85\x3C", 4);

void add_number(std::string& bytes, uint64_t number) {
  char raw[sizeof number];
  std::memcpy(raw, &number, sizeof number);
  bytes.append(raw, sizeof raw);
}

void add_string(std::string& bytes, std::string_view text) {
  add_number(bytes, text.size());
  bytes += text;
}

std::string with_keys(char op, const std::vector<std::string>& keys) {
  std::string bytes(1, op);
  add_number(bytes, keys.size());
  for (const std::string& key : keys) add_string(bytes, key);
  return bytes;
}

}  // namespace

Result<StoreClient> StoreClient::connect(const Address& store, TimePoint deadline) {
  auto stream = TimedStream::connect(store, deadline);
  if (!stream) return std::move(stream).error();
  StoreClient client(std::move(*stream));
  MUSTER_RETURN_IF_ERROR(
      client.stream_.write(std::string(1, kValidate) + std::string(kMagic), deadline));
  return client;
}

Status StoreClient::set(std::string_view key, std::string_view value, TimePoint deadline) {
  std::string bytes(1, kSet);
  add_string(bytes, key);
  add_string(bytes, value);
  return stream_.write(bytes, deadline);
}

Result<std::string> StoreClient::get(std::string_view key, TimePoint deadline) {
  MUSTER_RETURN_IF_ERROR(wait({std::string(key)}, deadline));
  // It is there, so the answer comes at once; half of one would make the next one unreadable.
  const TimePoint soon = SystemClock().now() + kAnswerTime;
  std::string bytes(1, kGet);
  add_string(bytes, key);
  MUSTER_RETURN_IF_ERROR(stream_.write(bytes, soon));
  const auto raw = stream_.read(sizeof(uint64_t), soon);
  if (!raw) return Error(raw.error());
  uint64_t length = 0;
  std::memcpy(&length, raw->data(), sizeof length);
  if (length > kMaxClientValueBytes) {
    return Error{Code::kLimit, 0,
                 "the value of '" + std::string(key) + "' has " + std::to_string(length) +
                     " bytes, more than " + std::to_string(kMaxClientValueBytes)};
  }
  return stream_.read(static_cast<size_t>(length), soon);
}

Status StoreClient::wait(const std::vector<std::string>& keys, TimePoint deadline) {
  MUSTER_RETURN_IF_ERROR(stream_.write(with_keys(kWait, keys), deadline));
  const auto answer = stream_.read(1, deadline);
  if (answer) return {};
  if (answer.error().code == Code::kTimeout) MUSTER_RETURN_IF_ERROR(cancel_wait());
  return Error(answer.error());
}

// The answer of a wait that ended in this moment may come before that of the cancellation.
Status StoreClient::cancel_wait() {
  const TimePoint deadline = SystemClock().now() + kAnswerTime;
  MUSTER_RETURN_IF_ERROR(stream_.write(std::string(1, kCancelWait), deadline));
  for (;;) {
    const auto answer = stream_.read(1, deadline);
    if (!answer) return Error(answer.error());
    if (answer->front() == kCancelled) return {};
  }
}

Result<bool> StoreClient::check(const std::vector<std::string>& keys, TimePoint deadline) {
  MUSTER_RETURN_IF_ERROR(stream_.write(with_keys(kCheck, keys), deadline));
  const auto answer = stream_.read(1, deadline);
  if (!answer) return Error(answer.error());
  return answer->front() == '\0';
}

Status StoreClient::remove(std::string_view key, TimePoint deadline) {
  std::string bytes(1, kDeleteKey);
  add_string(bytes, key);
  MUSTER_RETURN_IF_ERROR(stream_.write(bytes, deadline));
  const auto removed = stream_.read(sizeof(int64_t), deadline);
  return removed ? Status() : Error(removed.error());
}

}  // namespace muster::rendezvous
