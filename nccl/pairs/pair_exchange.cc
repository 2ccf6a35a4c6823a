#include "nccl/pairs/pair_exchange.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace muster::nccl {
namespace {

constexpr size_t kPingBytes = 8;
constexpr size_t kChunkBytes = 256 * 1024;

// What a connection of the pair is for: the byte behind the token.
constexpr char kTalk = 't';
constexpr char kToServer = 'f';
constexpr char kToCaller = 'b';

struct Flow {
  uint64_t bytes = 0;
  uint64_t nanoseconds = 0;
  [[nodiscard]] double rate() const {
    return nanoseconds == 0 ? 0
                            : static_cast<double>(bytes) * 1e9 / static_cast<double>(nanoseconds);
  }
};

Result<TimedStream> call(const Address& peer, const PairExchange& exchange, char purpose) {
  auto stream = TimedStream::connect(peer, exchange.deadline);
  if (!stream) return stream;
  MUSTER_RETURN_IF_ERROR(stream->write(exchange.token + purpose, exchange.deadline));
  return stream;
}

// Others may call by mistake, port scanners for one. They have a second to say who they are.
Result<TimedStream> expect(int listener, const PairExchange& exchange, char purpose) {
  for (int calls = 0; calls < kMaxPairStrangers; ++calls) {
    auto stream = TimedStream::accept(listener, exchange.deadline);
    if (!stream) return stream;
    const TimePoint soon = SystemClock().now() + std::chrono::seconds(1);
    const auto hello = stream->read(kPairTokenBytes + 1, std::min(soon, exchange.deadline));
    if (hello && *hello == exchange.token + purpose) return stream;
  }
  return Error{Code::kProtocol, 0, "too many calls that are not of this measurement"};
}

// Until the other side closes: it has seen enough.
void send_flow(TimedStream& stream, TimePoint deadline) {
  const std::string chunk(kChunkBytes, 'x');
  while (stream.write(chunk, deadline)) {
  }
}

// Closing does not wait for what is on its way, which on a slow link may be seconds.
Result<Flow> receive_flow(TimedStream stream, const PairExchange& exchange) {
  std::vector<char> buffer(kChunkBytes);
  std::array<char, 1> first{};
  MUSTER_RETURN_IF_ERROR(stream.read(first, exchange.deadline));
  const TimePoint begin = SystemClock().now();
  const TimePoint end = begin + exchange.flow;
  Flow flow;
  for (TimePoint now = begin; now < end; now = SystemClock().now()) {
    const auto got = stream.read_some(buffer, end);
    if (!got && got.error().code == Code::kTimeout) break;
    if (!got) return Error(got.error());
    flow.bytes += *got;
  }
  flow.nanoseconds =
      static_cast<uint64_t>(std::chrono::nanoseconds(SystemClock().now() - begin).count());
  return flow;
}

Result<double> ping(TimedStream& talk, TimePoint deadline) {
  std::array<char, kPingBytes> bytes{};
  std::vector<double> micros;
  for (int i = 0; i < kPairPings; ++i) {
    const TimePoint begin = SystemClock().now();
    MUSTER_RETURN_IF_ERROR(talk.write({bytes.data(), bytes.size()}, deadline));
    MUSTER_RETURN_IF_ERROR(talk.read(bytes, deadline));
    const std::chrono::duration<double, std::micro> trip = SystemClock().now() - begin;
    micros.push_back(trip.count() / 2);
  }
  const auto middle = micros.begin() + kPairPings / 2;
  std::nth_element(micros.begin(), middle, micros.end());
  return *middle;
}

}  // namespace

Result<PairMeasure> call_pair(const Address& peer, const PairExchange& exchange) {
  auto talk = call(peer, exchange, kTalk);
  if (!talk) return std::move(talk).error();
  const auto latency = ping(*talk, exchange.deadline);
  if (!latency) return Error(latency.error());
  auto forth = call(peer, exchange, kToServer);
  if (!forth) return std::move(forth).error();
  send_flow(*forth, exchange.deadline);
  Flow sent;
  const auto told = talk->read(sizeof sent, exchange.deadline);
  if (!told) return Error(told.error());
  std::memcpy(&sent, told->data(), sizeof sent);
  auto back = call(peer, exchange, kToCaller);
  if (!back) return std::move(back).error();
  const auto received = receive_flow(std::move(*back), exchange);
  if (!received) return Error(received.error());
  return PairMeasure{*latency, std::min(sent.rate(), received->rate())};
}

Status serve_pair(int listener, const PairExchange& exchange) {
  auto talk = expect(listener, exchange, kTalk);
  if (!talk) return std::move(talk).error();
  std::array<char, kPingBytes> bytes{};
  for (int i = 0; i < kPairPings; ++i) {
    MUSTER_RETURN_IF_ERROR(talk->read(bytes, exchange.deadline));
    MUSTER_RETURN_IF_ERROR(talk->write({bytes.data(), bytes.size()}, exchange.deadline));
  }
  auto forth = expect(listener, exchange, kToServer);
  if (!forth) return std::move(forth).error();
  const auto received = receive_flow(std::move(*forth), exchange);
  if (!received) return Error(received.error());
  std::string told(sizeof *received, '\0');
  std::memcpy(told.data(), &*received, sizeof *received);
  MUSTER_RETURN_IF_ERROR(talk->write(told, exchange.deadline));
  auto back = expect(listener, exchange, kToCaller);
  if (!back) return std::move(back).error();
  send_flow(*back, exchange.deadline);
  return {};
}

}  // namespace muster::nccl
