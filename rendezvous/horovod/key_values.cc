#include "rendezvous/horovod/key_values.h"

#include <utility>

namespace muster::rendezvous {

namespace {

constexpr std::string_view kPlaces = "/rank_and_size/";
constexpr std::string_view kAddresses = "/worker_addresses/";

HttpReply refusal(int status) { return {.status = status}; }

}  // namespace

HttpReply KeyValues::answer(const HttpCall& call) {
  const std::string_view path = call.path;
  if (call.method == "PUT") return put(call.path, call.body);
  if (call.method == "DELETE") {
    const size_t cut = path.rfind('/');
    forget(call.path);
    forget(std::string(path.substr(0, cut + 1)) + "rank_" + std::string(path.substr(cut + 1)));
    return {};
  }
  if (call.method != "GET") return refusal(405);
  if (path.starts_with(kPlaces)) {
    auto place = place_(path.substr(kPlaces.size()));
    return {.body = place.value_or("-1,-1,-1,-1,-1,-1")};
  }
  const auto found = values_.find(call.path);
  return found == values_.end() ? refusal(404) : HttpReply{.body = found->second};
}

HttpReply KeyValues::put(const std::string& path, std::string body) {
  if (path.starts_with(kAddresses)) return {};
  if (bytes_ + path.size() + body.size() > kMaxKeyValueBytes) return refusal(413);
  forget(path);
  bytes_ += path.size() + body.size();
  values_.emplace(path, std::move(body));
  return {};
}

void KeyValues::forget(const std::string& path) {
  const auto found = values_.find(path);
  if (found == values_.end()) return;
  bytes_ -= path.size() + found->second.size();
  values_.erase(found);
}

void KeyValues::clear() {
  values_.clear();
  bytes_ = 0;
}

}  // namespace muster::rendezvous
