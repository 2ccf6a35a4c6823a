#include "mpi/rsh/rsh_refusals.h"

#include <utility>

#include "base/log.h"

namespace muster::mpi {

void RshRefusals::tell(const std::string& peer, const std::string& reason) {
  const TimePoint now = loop_.now();
  if (now >= window_ends_) {
    window_ends_ = now + kRefusalWindow;
    told_ = 0;
  }
  if (++told_ > kMaxRefusalLines) return (void)++untold_;
  log::warning("rsh.refused",
               {{"peer", peer}, {"reason", reason}, {"untold", std::exchange(untold_, 0)}});
}

}  // namespace muster::mpi
