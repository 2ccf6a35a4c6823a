// Requests come from whoever can reach the job port: any bytes, in pieces of any size, end in a
// request within its limits, an error or the wish for more; the same bytes give the same in two
// pieces as in one. Horovod's store answers any request, and keeps no more than it may.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/http_call.h"
#include "rendezvous/horovod/key_values.h"

namespace {

using muster::HttpCall;
using muster::HttpCallDecoder;

struct Outcome {
  bool failed = false;
  std::optional<HttpCall> call;
};

Outcome decode(std::string_view first, std::string_view second) {
  HttpCallDecoder decoder;
  for (const std::string_view part : {first, second}) {
    if (part.empty()) continue;
    const auto complete = decoder.feed(part);
    if (!complete) return {true, std::nullopt};
    if (*complete) return {false, decoder.take()};
  }
  return {};
}

void answer(const HttpCall& call) {
  muster::rendezvous::KeyValues store([](std::string_view slot) {
    return slot.empty() ? std::optional<std::string>() : std::optional<std::string>(slot);
  });
  for (const char* method : {"PUT", "GET", "DELETE", "GET"}) {
    const auto reply = store.answer({method, call.path, call.body});
    MUSTER_CHECK(reply.status >= 200 && reply.status < 500);
    MUSTER_CHECK(store.bytes() <= muster::rendezvous::kMaxKeyValueBytes);
  }
  MUSTER_CHECK(store.answer(call).status < 500);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Outcome whole = decode(bytes, "");
  const size_t cut = size == 0 ? 0 : data[size / 2] * size / 256;
  const Outcome parts = decode(bytes.substr(0, cut), bytes.substr(cut));
  MUSTER_CHECK(whole.failed == parts.failed);
  MUSTER_CHECK(whole.call.has_value() == parts.call.has_value());
  if (!whole.call) return 0;
  MUSTER_CHECK(whole.call->path == parts.call->path && whole.call->body == parts.call->body);
  MUSTER_CHECK(whole.call->body.size() <= muster::kMaxCallBodyBytes);
  answer(*whole.call);
  return 0;
}
