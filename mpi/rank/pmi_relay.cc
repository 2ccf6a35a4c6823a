#include "mpi/rank/pmi_relay.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace muster::mpi {

namespace {

constexpr std::string_view kBegins = "cmd=init";
constexpr std::string_view kBegins2 = "cmd=fullinit";
constexpr std::string_view kLeaves = "cmd=finalize";
constexpr std::string_view kSpawns = "cmd=spawn";  // "mcmd=spawn", too
constexpr std::string_view kAborts = "cmd=abort exitcode=";
constexpr size_t kTailBytes = kAborts.size() + 12;  // of words that are cut, and a number

}  // namespace

void PmiWatch::see(std::string_view bytes) {
  std::string text = std::move(tail_);
  text += bytes;
  const auto has = [&text](std::string_view word) { return text.find(word) != std::string::npos; };
  began_ = began_ || has(kBegins) || has(kBegins2);
  left_ = left_ || has(kLeaves);
  spawned_ = spawned_ || has(kSpawns);
  // The code is all there when something stands behind it.
  const size_t abort = text.find(kAborts);
  const size_t code = abort == std::string::npos ? abort : abort + kAborts.size();
  if (const size_t end = text.find_first_of(" ;\n", code); end != std::string::npos && !aborted_) {
    if (const auto given = parse_integer(text.substr(code, end - code)))
      aborted_ = static_cast<int>(*given);
  }
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
                           if (it->watch_.aborted() && it->aborted_)
                             std::exchange(it->aborted_, {})(*it->watch_.aborted());
                         },
                     .may_tell_end = [it = relay.get()] { return !it->watch_.is_inside(); }});
  return relay;
}

Status PmiRelay::start(std::function<void()> began, std::function<void(int code)> aborted) {
  began_ = std::move(began);
  aborted_ = std::move(aborted);
  return relay_->start();
}

}  // namespace muster::mpi
