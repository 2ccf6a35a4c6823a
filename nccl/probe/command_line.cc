#include "nccl/probe/command_line.h"

#include <array>
#include <limits>
#include <utility>

#include "base/text.h"

namespace muster::probe {
namespace {

constexpr std::array kVerbs{
    std::pair(Verb::kFabric, std::string_view("fabric")),
    std::pair(Verb::kPingPong, std::string_view("pingpong")),
    std::pair(Verb::kNccl, std::string_view("nccl")),
    std::pair(Verb::kAllReduce, std::string_view("allreduce")),
    std::pair(Verb::kGpus, std::string_view("gpus")),
};

Error wrong(std::string text) { return {Code::kUsage, 0, std::move(text)}; }

std::optional<uint16_t> parse_port(std::string_view text) {
  const auto number = parse_integer(text);
  if (!number || *number < 0 || *number > std::numeric_limits<uint16_t>::max()) return {};
  return static_cast<uint16_t>(*number);
}

// "10.0.0.1:29400", "[fd00::1]:29400". No name is looked up here.
std::optional<Address> parse_peer(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {};
  const auto host = parse_numeric_host(text.substr(0, colon));
  const auto port = parse_port(text.substr(colon + 1));
  if (!host || !port || *port == 0) return {};
  return Address{*host, *port};
}

Result<Verb> parse_verb(std::string_view word) {
  for (const auto& [verb, name] : kVerbs)
    if (word == name) return verb;
  return wrong("'" + std::string(word) + "' is none of fabric, pingpong, nccl, allreduce and gpus");
}

// Takes over a flag with its value.
Status set_flag(ProbeCall& call, std::string_view flag, std::string_view value) {
  if (flag == "--timeout") {
    const auto timeout = parse_duration(value);
    if (!timeout || *timeout <= Duration::zero() || *timeout > kMaxTimeout)
      return wrong("--timeout " + std::string(value) + ": wanted a time of at most 1 h, as 10s");
    call.timeout = *timeout;
    return {};
  }
  if (call.verb != Verb::kPingPong)
    return wrong("unknown flag " + std::string(flag) + " of " + std::string(to_string(call.verb)));
  if (value.empty()) return wrong(std::string(flag) + " is empty");
  if (flag == "--provider") {
    call.provider = value;
  } else if (flag == "--interface") {
    call.interface = value;
  } else if (flag == "--port") {
    const auto port = parse_port(value);
    if (!port) return wrong("--port " + std::string(value) + ": wanted 0 to 65535");
    call.port = *port;
  } else {
    return wrong("unknown flag " + std::string(flag) + " of pingpong");
  }
  return {};
}

Status set_peer(ProbeCall& call, std::string_view word) {
  const auto peer = call.verb == Verb::kPingPong ? parse_peer(word) : std::nullopt;
  if (!peer || call.peer) {
    return wrong("unexpected '" + std::string(word) + "'" +
                 (call.verb == Verb::kPingPong ? ": wanted one numeric HOST:PORT" : ""));
  }
  call.peer = *peer;
  return {};
}

}  // namespace

std::string_view to_string(Verb verb) {
  for (const auto& [each, name] : kVerbs)
    if (each == verb) return name;
  return "";
}

Result<ProbeCall> parse_command_line(std::span<const std::string_view> arguments) {
  if (arguments.empty()) return wrong("wanted one of fabric, pingpong, nccl, allreduce and gpus");
  const auto verb = parse_verb(arguments[0]);
  if (!verb) return Error(verb.error());
  ProbeCall call;
  call.verb = *verb;
  bool is_called = false;
  for (size_t i = 1; i < arguments.size(); ++i) {
    std::string_view word = arguments[i];
    if (!word.starts_with("--")) {
      MUSTER_RETURN_IF_ERROR(set_peer(call, word));
    } else if (word == "--listen" && call.verb == Verb::kPingPong) {
      is_called = true;
    } else if (const auto entry = word.find('='); entry != std::string_view::npos) {
      MUSTER_RETURN_IF_ERROR(set_flag(call, word.substr(0, entry), word.substr(entry + 1)));
    } else if (i + 1 < arguments.size()) {
      MUSTER_RETURN_IF_ERROR(set_flag(call, word, arguments[++i]));
    } else {
      return wrong(std::string(word) + ": an unknown flag, or one without its value");
    }
  }
  if (call.verb == Verb::kPingPong && is_called == call.peer.has_value())
    return wrong("pingpong wants either --listen or the HOST:PORT of the side that listens");
  return call;
}

}  // namespace muster::probe
