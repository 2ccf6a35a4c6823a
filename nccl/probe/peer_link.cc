#include "nccl/probe/peer_link.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"

namespace muster::probe {
namespace {

// Changes with what is said.
constexpr std::string_view kGreeting = "muster-probe 1\n\n";
constexpr Duration kGreetingTime = std::chrono::seconds(1);
constexpr int kCallAgainMs = 50;
constexpr int kMaxStrangers = 1000;
constexpr char kGoOn = 'g';

}  // namespace

Result<PeerLink> PeerLink::call(const Address& peer, TimePoint deadline) {
  for (;;) {
    auto stream = TimedStream::connect(peer, deadline);
    if (stream) {
      MUSTER_RETURN_IF_ERROR(stream->write(kGreeting, deadline));
      return PeerLink(std::move(*stream), deadline);
    }
    if (stream.error().code != Code::kPeer || SystemClock().now() > deadline)
      return std::move(stream).error();
    (void)poll(nullptr, 0, kCallAgainMs);  // nobody listens yet
  }
}

Result<PeerLink> PeerLink::await(uint16_t port, TimePoint deadline) {
  RealNetwork network;
  auto listener = network.listen({"::", port});
  if (!listener) return std::move(listener).error();
  const auto own = network.local_address(listener->get());
  if (!own) return Error(own.error());
  (void)std::fprintf(stderr, "muster-probe: listening on port %d\n", own->port);
  for (int calls = 0; calls < kMaxStrangers; ++calls) {
    auto stream = TimedStream::accept(listener->get(), deadline);
    if (!stream) return std::move(stream).error();
    const auto greeting =
        stream->read(kGreeting.size(), std::min(SystemClock().now() + kGreetingTime, deadline));
    if (greeting && *greeting == kGreeting) return PeerLink(std::move(*stream), deadline);
  }
  return Error{Code::kProtocol, 0, "too many calls that are not of muster-probe"};
}

// Four bytes of length, the lowest first, and the text.
Status PeerLink::tell(const nlohmann::json& message) {
  const std::string text = dump_json(message);
  std::string frame;
  for (size_t shift = 0; shift < 32; shift += 8)
    frame += static_cast<char>(text.size() >> shift & 0xffU);
  return stream_.write(frame + text, deadline_);
}

Result<nlohmann::json> PeerLink::hear() {
  std::array<char, 4> header{};
  MUSTER_RETURN_IF_ERROR(stream_.read(header, deadline_));
  size_t bytes = 0;
  for (size_t i = header.size(); i-- > 0;)
    bytes = bytes << 8 | static_cast<unsigned char>(header[i]);
  if (bytes > kMaxLinkMessageBytes)
    return Error{Code::kLimit, 0,
                 "the other side's message has " + std::to_string(bytes) + " bytes"};
  const auto text = stream_.read(bytes, deadline_);
  if (!text) return Error(text.error());
  auto message = parse_json(*text, kMaxLinkMessageBytes);
  if (!message) return message;
  if (!message->is_object()) return Error{Code::kProtocol, 0, "the other side says no object"};
  make_printable(*message);
  const auto problem = message->find("problem");
  if (problem != message->end() && problem->is_string())
    return Error{Code::kPeer, 0, "the other side: " + problem->get<std::string>()};
  return message;
}

Status PeerLink::signal() { return stream_.write({&kGoOn, 1}, deadline_); }

Status PeerLink::await_signal() {
  std::array<char, 1> byte{};
  MUSTER_RETURN_IF_ERROR(stream_.read(byte, deadline_));
  if (byte[0] == kGoOn) return {};
  return Error{Code::kProtocol, 0, "the other side says something else than to go on"};
}

}  // namespace muster::probe
