// The store's wire decoder: what a stream of bytes means must not depend on the pieces it arrives
// in. Input: one byte that seeds the pieces, then everything a client sends on one connection.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "rendezvous/port/job_port.h"
#include "rendezvous/store/store_protocol.h"

namespace {

using namespace muster::rendezvous;

std::string describe(const Command& command) {
  std::string text(to_string(command.op));
  for (const auto part : {command.key, command.value, command.expected}) {
    text += "|" + std::string(part);
  }
  text += "|" + std::to_string(command.number) + "|" + std::to_string(command.strings.size());
  for (const auto part : command.strings) text += "|" + std::string(part);
  return text;
}

// What a connection does with its bytes: greeting, then requests, until something is malformed.
class Reader {
 public:
  void feed(std::string_view bytes) {
    buffer_ += bytes;
    while (!ended_ && step()) {
    }
  }
  [[nodiscard]] const std::vector<std::string>& seen() const { return seen_; }

 private:
  bool step() { return greeted_ ? read_request() : read_greeting(); }

  bool read_greeting() {
    const auto detected = detect_dialect(buffer_);
    if (const auto* why = std::get_if<Malformed>(&detected)) return end(*why);
    const auto* greeting = std::get_if<Greeting>(&detected);
    if (greeting == nullptr) return false;
    greeted_ = true;
    dialect_ = greeting->dialect;
    seen_.push_back(dialect_ == Dialect::kCurrent ? "current" : "legacy");
    buffer_.erase(0, greeting->encoded_bytes);
    return true;
  }

  bool read_request() {
    const auto decoded = decode(dialect_, buffer_, resume_);
    if (const auto* why = std::get_if<Malformed>(&decoded)) return end(*why);
    if (const auto* more = std::get_if<NeedMore>(&decoded)) {
      MUSTER_CHECK(more->wanted_bytes > buffer_.size());
      MUSTER_CHECK(more->scanned_bytes <= buffer_.size());
      MUSTER_CHECK(more->scanned_bytes >= resume_.scanned_bytes);
      resume_ = *more;
      return false;
    }
    const auto& command = std::get<Command>(decoded);
    MUSTER_CHECK(command.encoded_bytes > 0 && command.encoded_bytes <= buffer_.size());
    MUSTER_CHECK(command.key.size() <= kMaxKeyBytes && command.value.size() <= kMaxValueBytes);
    seen_.push_back(describe(command));
    buffer_.erase(0, command.encoded_bytes);
    resume_ = {};
    return true;
  }

  bool end(const Malformed& why) {
    seen_.push_back("malformed: " + why.describe());
    ended_ = true;
    return false;
  }

  std::string buffer_;
  NeedMore resume_;
  Dialect dialect_ = Dialect::kCurrent;
  bool greeted_ = false;
  bool ended_ = false;
  std::vector<std::string> seen_;
};

// A decision, once made, stands; and it agrees with what the store's own detection says.
void check_detection(std::string_view stream) {
  Protocol decided = Protocol::kUndecided;
  for (size_t length = 0; length <= stream.size() && length <= 2 * kMaxUndecidedBytes; ++length) {
    const Protocol now = detect_protocol(stream.substr(0, length));
    MUSTER_CHECK(decided == Protocol::kUndecided || now == decided);
    MUSTER_CHECK(length < kMaxUndecidedBytes || now != Protocol::kUndecided);
    decided = now;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view stream(reinterpret_cast<const char*>(data + 1), size - 1);
  check_detection(stream);
  Reader whole;
  whole.feed(stream);
  Reader pieces;
  std::mt19937 random(data[0]);
  for (size_t at = 0; at < stream.size();) {
    const size_t length = 1 + random() % (data[0] % 2 == 0 ? 4 : 64);
    pieces.feed(stream.substr(at, length));
    at += length;
  }
  MUSTER_CHECK(whole.seen() == pieces.seen());
  return 0;
}
