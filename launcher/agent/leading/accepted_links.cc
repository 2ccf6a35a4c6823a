#include "launcher/agent/leading/accepted_links.h"

#include <utility>

namespace muster::launcher {

using rendezvous::Link;
using rendezvous::LinkId;

Link& AcceptedLinks::add(LinkId id, std::unique_ptr<Link> link) {
  return *(links_[id] = std::move(link));
}

Link* AcceptedLinks::find(LinkId id) {
  const auto found = links_.find(id);
  return found == links_.end() ? nullptr : found->second.get();
}

Link* AcceptedLinks::speak_to(LinkId id) {
  Link* const link = find(id);
  if (link == nullptr) return nullptr;
  Link* const before = std::exchange(spoken_to_, link);
  if (before != nullptr && before != link) before->flush();
  return link;
}

void AcceptedLinks::end_speech() {
  if (Link* const before = std::exchange(spoken_to_, nullptr)) before->flush();
}

bool AcceptedLinks::sweep() {
  const auto closed = std::exchange(closed_, {});
  for (const LinkId id : closed) links_.erase(id);
  return !closed.empty();
}

void AcceptedLinks::close_all(const std::string& reason) {
  for (auto& [id, link] : links_) link->close(reason);
}

}  // namespace muster::launcher
