#include "launcher/rank/pmi_relay.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

namespace muster::launcher {

namespace {

constexpr std::string_view kBegins = "cmd=init";
constexpr std::string_view kBegins2 = "cmd=fullinit";
constexpr std::string_view kLeaves = "cmd=finalize";
constexpr size_t kTailBytes = kBegins2.size();  // of a word that is cut, less than its length

}  // namespace

void PmiWatch::see(std::string_view bytes) {
  std::string text = std::move(tail_);
  text += bytes;
  const auto has = [&text](std::string_view word) { return text.find(word) != std::string::npos; };
  began_ = began_ || has(kBegins) || has(kBegins2);
  left_ = left_ || has(kLeaves);
  tail_ = text.substr(text.size() - std::min(text.size(), kTailBytes));
}

Result<std::unique_ptr<PmiRelay>> PmiRelay::create(Loop& loop, UniqueFd daemon_fd) {
  std::array<int, 2> pair{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0)
    return os_error("socketpair");
  std::unique_ptr<PmiRelay> relay(new PmiRelay(UniqueFd(pair[1])));
  // The daemon kills its ranks, and us, when one goes without leaving MPI: our own end, after the
  // report, is soon enough to tell it.
  relay->relay_ = std::make_unique<ByteRelay>(
      loop, UniqueFd(pair[0]), std::move(daemon_fd),
      ByteRelayHooks{.said =
                         [it = relay.get()](std::string_view bytes) {
                           it->watch_.see(bytes);
                           if (it->watch_.has_begun() && it->began_)
                             std::exchange(it->began_, {})();
                         },
                     .may_tell_end = [it = relay.get()] { return !it->watch_.is_inside(); }});
  return relay;
}

Status PmiRelay::start(std::function<void()> began) {
  began_ = std::move(began);
  return relay_->start();
}

}  // namespace muster::launcher
