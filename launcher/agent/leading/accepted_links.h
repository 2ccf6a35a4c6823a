// AcceptedLinks: the control connections that an agent has accepted, by number, and who of them is
// spoken to. What is said over them is leader_host.h's business.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "rendezvous/leader/leader_output.h"
#include "rendezvous/wire/link.h"

namespace muster::launcher {

class AcceptedLinks {
 public:
  /// For the next link. Numbers do not come again.
  [[nodiscard]] rendezvous::LinkId next_id() { return next_id_++; }
  rendezvous::Link& add(rendezvous::LinkId id, std::unique_ptr<rendezvous::Link> link);
  /// Null: there is none.
  [[nodiscard]] rendezvous::Link* find(rendezvous::LinkId id);
  [[nodiscard]] bool empty() const { return links_.empty(); }

  /// As find(), to put() something. What is said to one in a row leaves in one write, before the
  /// next one's is made.
  [[nodiscard]] rendezvous::Link* speak_to(rendezvous::LinkId id);
  void end_speech();

  /// It is closed, and will be destroyed by sweep(), which must not be called from within a link.
  void closed(rendezvous::LinkId id) { closed_.push_back(id); }
  /// True: there was one.
  bool sweep();
  void close_all(const std::string& reason);

 private:
  std::unordered_map<rendezvous::LinkId, std::unique_ptr<rendezvous::Link>> links_;
  std::vector<rendezvous::LinkId> closed_;
  rendezvous::LinkId next_id_ = 1;
  rendezvous::Link* spoken_to_ = nullptr;  // last, as long as somebody speaks
};

}  // namespace muster::launcher
