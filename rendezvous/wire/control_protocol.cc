#include "rendezvous/wire/control_protocol.h"

#include <fmt/core.h>

#include <utility>

#include "base/check.h"
#include "rendezvous/wire/message_json.h"

namespace muster::rendezvous {

namespace {

constexpr size_t kFewFailures = 4;
constexpr size_t kUsualFrameBytes = 512;  // an assignment has 300

void shrink(std::optional<RoundReport>& report) {
  if (report) report->roster.clear();
}
void shrink(std::vector<Failure>& failures) {
  if (failures.size() > kFewFailures) failures.resize(kFewFailures);
}
void shrink(Join& join) {
  shrink(join.last_round);
  shrink(join.confirmed_round);
  shrink(join.failures);
  join.ended.clear();
}
void shrink(Failed& failed) { shrink(failed.failures); }
void shrink(Assign& assign) { assign.ended.clear(); }
template <typename T>
void shrink(T& /*others are short*/) {}

}  // namespace

void encode(std::string& out, const Message& message) {
  const size_t begin = out.size() + kFrameHeaderBytes;
  if (out.capacity() < begin + kUsualFrameBytes) out.reserve(2 * begin + kUsualFrameBytes);
  out.resize(begin);
  append_message(out, message);
  if (out.size() - begin > kMaxFrameBytes) {
    Message shorter = message;
    std::visit([](auto& body) { shrink(body); }, shorter);
    out.resize(begin);
    append_message(out, shorter);
  }
  const size_t length = out.size() - begin;
  // Every text and list that is left is limited: 64 KiB of failures, escaped at worst six times.
  MUSTER_CHECK(length <= kMaxFrameBytes);
  for (size_t i = 1; i <= kFrameHeaderBytes; ++i)
    out[begin - i] = static_cast<char>(length >> (8 * (i - 1)));
}

std::string encode(const Message& message) {
  std::string frame;
  encode(frame, message);
  return frame;
}

Result<DecodedMessage> decode(std::span<const char> bytes, size_t limit) {
  if (bytes.size() < kFrameHeaderBytes) return DecodedMessage{};
  uint32_t length = 0;
  for (size_t i = 0; i < kFrameHeaderBytes; ++i) {
    length = (length << 8) | static_cast<unsigned char>(bytes[i]);
  }
  if (length > limit) {
    return Error{Code::kLimit, 0,
                 fmt::format("control frame of {} bytes; at most {} are taken", length, limit)};
  }
  if (bytes.size() - kFrameHeaderBytes < length) return DecodedMessage{};
  auto message = parse_message({bytes.data() + kFrameHeaderBytes, length});
  if (!message) return std::move(message).error();
  return DecodedMessage{kFrameHeaderBytes + length, std::move(*message)};
}

}  // namespace muster::rendezvous
