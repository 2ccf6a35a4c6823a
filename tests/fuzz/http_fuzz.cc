// Responses come from whatever listens where etcd should: any bytes, in pieces of any size, end in
// a response within its limits, an error or the wish for more; the same bytes give the same in two
// pieces as in one. What etcd's readers make of a body is an answer or an error.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "base/base64.h"
#include "base/check.h"
#include "base/http_decoder.h"
#include "rendezvous/etcd/etcd_messages.h"

namespace {

namespace rendezvous = muster::rendezvous;
using muster::HttpDecoder;
using muster::HttpResponse;

struct Outcome {
  bool failed = false;
  std::optional<HttpResponse> response;
};

Outcome decode(std::string_view first, std::string_view second) {
  HttpDecoder decoder;
  for (const std::string_view part : {first, second}) {
    if (part.empty()) continue;
    const auto complete = decoder.feed(part);
    if (!complete) return {true, std::nullopt};
    if (*complete) return {false, decoder.take()};
  }
  if (!decoder.end()) return {true, std::nullopt};
  return {false, decoder.take()};
}

void read_all(const HttpResponse& response) {
  MUSTER_CHECK(response.body.size() <= muster::kMaxHttpBodyBytes);
  const auto range = rendezvous::read_range(response);
  if (range && *range) {
    const auto leader = rendezvous::decode_leader((*range)->value);
    if (leader) MUSTER_CHECK(rendezvous::decode_leader(rendezvous::encode(*leader)) == *leader);
  }
  const auto grant = rendezvous::read_grant(response);
  MUSTER_CHECK(!grant || (grant->id != 0 && grant->ttl > muster::Duration::zero()));
  const auto kept = rendezvous::read_keep_alive(response);
  MUSTER_CHECK(!kept || *kept >= muster::Duration::zero());
  const auto claim = rendezvous::read_claim(response);
  MUSTER_CHECK(!claim || claim->won || claim->holder.has_value());
  (void)rendezvous::read_revoke(response).has_value();
  (void)rendezvous::decode_leader(response.body).has_value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Outcome whole = decode(bytes, "");
  const size_t cut = size == 0 ? 0 : data[size / 2] * size / 256;
  const Outcome parts = decode(bytes.substr(0, cut), bytes.substr(cut));
  if (whole.response) {
    MUSTER_CHECK(parts.response && parts.response->body == whole.response->body);
    read_all(*whole.response);
  }
  read_all({200, std::string(bytes)});
  const auto decoded = muster::from_base64(bytes);
  if (decoded) MUSTER_CHECK(muster::to_base64(*decoded) == bytes);
  return 0;
}
