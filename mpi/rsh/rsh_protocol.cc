#include "mpi/rsh/rsh_protocol.h"

#include <fmt/core.h>

#include <array>
#include <csignal>
#include <utility>

#include "base/text.h"

namespace muster::mpi {

namespace {

constexpr std::string_view kGreetingStart = "MRSH8";
constexpr std::string_view kGreetingEnd = "\r\n";
constexpr size_t kHeadBytes = 5;

// On the wire; the place in RshMessage, so that no second list is needed.
using Kind = uint8_t;
constexpr Kind kKinds = std::variant_size_v<RshMessage>;

void put_number(std::string& out, uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(number >> shift & 0xff);
}

uint32_t number_of(std::string_view four_bytes) {
  uint32_t number = 0;
  for (const char c : four_bytes) number = number << 8 | static_cast<uint8_t>(c);
  return number;
}

void put_text(std::string& out, std::string_view text, size_t limit) {
  text = text.substr(0, limit);
  put_number(out, static_cast<uint32_t>(text.size()));
  out += text;
}

// ---- fields, in the order of the wire

struct Writer {
  std::string out;
  void byte(uint8_t value) { out += static_cast<char>(value); }
  void number(uint32_t value) { put_number(out, value); }
  void long_number(uint64_t value) {
    number(static_cast<uint32_t>(value >> 32));
    number(static_cast<uint32_t>(value));
  }
  void text(std::string_view value, size_t limit) { put_text(out, value, limit); }
  void rest(std::string_view value) { out += value; }
};

void write(Writer& w, const rsh::Call& m) {
  w.text(m.host, kMaxRshTextBytes);
  w.text(m.user, kMaxRshTextBytes);
  w.rest(m.command);
}
void write(Writer& w, const rsh::Run& m) {
  w.text(m.run_id, kMaxRshTextBytes);
  w.text(m.node, kMaxRshTextBytes);
  w.long_number(m.incarnation);
  w.text(m.caller, kMaxRshTextBytes);
  w.text(m.user, kMaxRshTextBytes);
  w.rest(m.command);
}
void write(Writer& w, const rsh::Refused& m) {
  w.byte(m.code);
  w.text(clip_utf8(m.reason, kMaxRshTextBytes), kMaxRshTextBytes);
}
void write(Writer& w, const rsh::Signal& m) { w.byte(m.number); }
void write(Writer& w, const rsh::Exit& m) { w.byte(m.code); }
void write(Writer& w, const rsh::Data& m) {
  w.byte(static_cast<uint8_t>(m.stream));
  w.rest(m.bytes);
}
void write(Writer& w, const rsh::End& m) { w.byte(static_cast<uint8_t>(m.stream)); }
void write(Writer& w, const rsh::Credit& m) {
  w.byte(static_cast<uint8_t>(m.stream));
  w.number(m.bytes);
}
void write(Writer& w, const rsh::Gone& m) { w.byte(static_cast<uint8_t>(m.stream)); }

void write(Writer& w, const rsh::Rank& m) {
  w.text(m.run_id, kMaxRshTextBytes);
  w.long_number(m.agent);
  w.text(m.node, kMaxRshTextBytes);
  for (const uint32_t number : {m.round, m.rank, m.size, m.pid, m.launcher, m.world})
    w.number(number);
}
void write(Writer& w, const rsh::RankEnd& m) {
  for (const uint8_t value : {m.code, m.signal, m.told}) w.byte(value);
  for (const bool flag : {m.asked, m.without_finalize, m.aborted, m.has_spawned, m.out_of_memory})
    w.byte(flag ? 1 : 0);
  w.text(clip_utf8(m.shortage, kMaxRshTextBytes), kMaxRshTextBytes);
  w.text(m.logs, kMaxRshTextBytes);
  w.text(m.last_lines, kMaxRshLinesBytes);
}
void write(Writer& /*w*/, const rsh::Noted& /*m*/) {}
void write(Writer& /*w*/, const rsh::RankInit& /*m*/) {}

// Remembers the first thing that is wrong; what is read after it means nothing.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  uint8_t byte() { return static_cast<uint8_t>(take(1)[0]); }
  uint32_t number() { return number_of(take(4)); }
  uint64_t long_number() {
    const uint64_t high = number();
    return high << 32 | number();
  }
  std::string text(size_t limit = kMaxRshTextBytes) {
    const uint32_t length = number();
    if (length > limit) {
      fail(Code::kLimit, fmt::format("a text of {} bytes, at most {}", length, limit));
      return "";
    }
    return std::string(clip_utf8(one_line(take(length).substr(0, length)), limit));
  }
  std::string lines(size_t limit) {
    const uint32_t length = number();
    if (length > limit) {
      fail(Code::kLimit, fmt::format("a text of {} bytes, at most {}", length, limit));
      return "";
    }
    return std::string(clip_utf8(printable_utf8(take(length).substr(0, length)), limit));
  }
  std::string rest(size_t limit) {
    if (left_.size() > limit)
      fail(Code::kLimit, fmt::format("{} bytes, at most {}", left_.size(), limit));
    return std::string(std::exchange(left_, {}));
  }
  RshStream stream() {
    const uint8_t number = byte();
    if (number > static_cast<uint8_t>(RshStream::kStderr))
      fail(Code::kProtocol, fmt::format("no stream {}", number));
    return static_cast<RshStream>(number);
  }
  std::string command() {
    std::string found = rest(kMaxRshFrameBytes);
    if (found.empty()) fail(Code::kProtocol, "no command");
    // exec would end it there.
    if (found.find('\0') != std::string::npos) fail(Code::kProtocol, "a zero in the command");
    return found;
  }
  void fail(Code code, std::string text) {
    if (!error_) error_ = Error{code, 0, std::move(text)};
  }
  Status finish() {
    if (!left_.empty()) fail(Code::kProtocol, fmt::format("{} bytes too many", left_.size()));
    if (error_) return *std::move(error_);
    return {};
  }

 private:
  // Zeros in place of what is missing.
  std::string_view take(size_t count) {
    static constexpr std::array<char, kMaxRshLinesBytes> kZeros{};
    if (left_.size() < count) {
      fail(Code::kProtocol, "ends too early");
      left_ = {};
      return {kZeros.data(), count};
    }
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }

  std::string_view left_;
  std::optional<Error> error_;
};

void read(Reader& r, rsh::Call& m) {
  m.host = r.text();
  m.user = r.text();
  m.command = r.command();
}
void read(Reader& r, rsh::Run& m) {
  m.run_id = r.text();
  m.node = r.text();
  m.incarnation = r.long_number();
  m.caller = r.text();
  m.user = r.text();
  m.command = r.command();
}
void read(Reader& r, rsh::Refused& m) {
  m.code = r.byte();
  m.reason = r.text();
}
void read(Reader& r, rsh::Signal& m) {
  m.number = r.byte();
  if (m.number == 0 || m.number > SIGRTMAX)
    r.fail(Code::kProtocol, fmt::format("no signal {}", m.number));
}
void read(Reader& r, rsh::Exit& m) { m.code = r.byte(); }
void read(Reader& r, rsh::Data& m) {
  m.stream = r.stream();
  m.bytes = r.rest(kMaxRshDataBytes);
  if (m.bytes.empty()) r.fail(Code::kProtocol, "no data");
}
void read(Reader& r, rsh::End& m) { m.stream = r.stream(); }
void read(Reader& r, rsh::Credit& m) {
  m.stream = r.stream();
  m.bytes = r.number();
}
void read(Reader& r, rsh::Gone& m) { m.stream = r.stream(); }
void read(Reader& r, rsh::Rank& m) {
  m.run_id = r.text();
  m.agent = r.long_number();
  m.node = r.text();
  for (uint32_t* number : {&m.round, &m.rank, &m.size, &m.pid, &m.launcher, &m.world})
    *number = r.number();
  if (m.rank >= m.size || m.size > kMaxRanks)
    r.fail(Code::kProtocol, fmt::format("no rank {} of {}", m.rank, m.size));
}
void read(Reader& r, rsh::RankEnd& m) {
  for (uint8_t* value : {&m.code, &m.signal, &m.told}) *value = r.byte();
  if (m.signal > SIGRTMAX || m.told > SIGRTMAX) r.fail(Code::kProtocol, "no such signal");
  for (bool* flag : {&m.asked, &m.without_finalize, &m.aborted, &m.has_spawned, &m.out_of_memory})
    *flag = r.byte() != 0;
  m.shortage = r.text();
  m.logs = r.text();
  m.last_lines = r.lines(kMaxRshLinesBytes);
}
void read(Reader& /*r*/, rsh::Noted& /*m*/) {}
void read(Reader& /*r*/, rsh::RankInit& /*m*/) {}

template <size_t kIndex = 0>
Result<RshMessage> decode_kind(Kind kind, Reader& reader) {
  if constexpr (kIndex == kKinds) {
    return Error{Code::kProtocol, 0, fmt::format("no message of kind {}", kind)};
  } else {
    if (kind != kIndex) return decode_kind<kIndex + 1>(kind, reader);
    std::variant_alternative_t<kIndex, RshMessage> message;
    read(reader, message);
    MUSTER_RETURN_IF_ERROR(reader.finish());
    return RshMessage(std::move(message));
  }
}

}  // namespace

std::string rsh_greeting(bool secured) {
  return std::string(kGreetingStart) + (secured ? 'T' : 'C') + std::string(kGreetingEnd);
}

std::optional<bool> read_rsh_greeting(std::string_view bytes) {
  for (const bool secured : {true, false}) {
    if (bytes == rsh_greeting(secured)) return secured;
  }
  return std::nullopt;
}

std::string encode(const RshMessage& message) {
  Writer writer;
  writer.byte(static_cast<Kind>(message.index()));
  writer.number(0);
  std::visit([&writer](const auto& one) { write(writer, one); }, message);
  std::string length;
  put_number(length, static_cast<uint32_t>(writer.out.size() - kHeadBytes));
  writer.out.replace(1, length.size(), length);
  return std::move(writer.out);
}

void RshDecoder::append(std::string_view bytes) {
  // Once per read and not once per frame: a read may hold thousands.
  buffer_.erase(0, std::exchange(taken_, 0));
  buffer_.append(bytes);
}

Result<std::optional<RshMessage>> RshDecoder::next() {
  const std::string_view bytes = std::string_view(buffer_).substr(taken_);
  if (bytes.size() < kHeadBytes) return std::optional<RshMessage>();
  const uint32_t length = number_of(bytes.substr(1, kHeadBytes - 1));
  if (length > kMaxRshFrameBytes) {
    return Error{Code::kLimit, 0,
                 fmt::format("a frame of {} bytes, at most {}", length, kMaxRshFrameBytes)};
  }
  if (bytes.size() - kHeadBytes < length) return std::optional<RshMessage>();
  Reader reader(bytes.substr(kHeadBytes, length));
  auto message = decode_kind(static_cast<Kind>(bytes.front()), reader);
  if (!message) return std::move(message).error();
  taken_ += kHeadBytes + length;
  return std::optional<RshMessage>(std::move(*message));
}

}  // namespace muster::mpi
