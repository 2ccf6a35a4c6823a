#include "rendezvous/messages/candidate.h"

#include "base/socket.h"

namespace muster::rendezvous {

std::string Candidate::to_string() const {
  return (is_service ? std::string("dns:") : "") + Address{host, port}.to_string();
}

}  // namespace muster::rendezvous
