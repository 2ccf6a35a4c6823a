#include "elastic/last_words.h"

#include <algorithm>
#include <array>

namespace muster::elastic {

namespace {

constexpr std::string_view kTraceback = "Traceback (most recent call last):";

// Those of errno are last words of any library. A worker whose download broke says the same, and is
// then no worse off than before: two such failures are ordered by time.
constexpr std::array kSignatures = std::to_array<LostPeerSignature>({
    {"Connection closed by peer", "Gloo, transport/tcp/pair.cc: end of file from another rank"},
    {"Connection reset by peer", "ECONNRESET: Gloo, TCPStore clients, MPI over TCP"},
    {"Broken pipe", "EPIPE: Gloo and TCPStore clients that write to a rank that is gone"},
    {"DistNetworkError", "PyTorch 2.x, c10d: the store or a rank cannot be reached"},
    {"failed to recv", "PyTorch, TCPStore client: the store has closed the connection"},
    {"remote process exited or there was a network error", "NCCL 2.13 and later: ncclRemoteError"},
    {"remote process exiting prematurely", "PyTorch's text for ncclRemoteError"},
    {"collective operation timeout", "PyTorch's NCCL watchdog, which aborts its rank"},
    {"HorovodInternalError", "Horovod: a collective failed, e.g. because a rank is gone"},
    {"Socket closed", "gRPC, so TensorFlow's UnavailableError; Open MPI 5: a task, a rank is gone"},
    {"distributed service detected fatal errors", "JAX: another task has died"},
    {"Gloo AllGather failed", "JAX on CPUs, in a collective"},
    {"Allreduce failed", "XGBoost"},
    {"Encountered EOF. The other end", "XGBoost: another worker has closed its connection"},
    {"Socket recv error", "LightGBM"},
    {"when it loses another rank", "Muster, of an exit code (mpi/launch/implementation.h)"},
    {"but exited without calling \"finalize\"", "mpirun of Open MPI 4 and 5: a rank is gone"},
});

bool has_signature(std::string_view text) {
  return std::any_of(kSignatures.begin(), kSignatures.end(), [text](const auto& signature) {
    return text.find(signature.text) != std::string_view::npos;
  });
}

// From the line after the stack of the last traceback; all of `lines` without one. PyTorch may put
// "[rank0]: " in front of each line.
std::string_view last_exception(std::string_view lines) {
  const size_t header = lines.rfind(kTraceback);
  if (header == std::string_view::npos) return lines;
  const size_t begin = lines.rfind('\n', header) + 1;  // npos + 1 = 0: the first line
  const size_t prefix_bytes = header - begin;
  std::string_view rest = lines.substr(header);
  while (true) {
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) return lines;  // a stack without an exception: cut off
    rest.remove_prefix(end + 1);
    const std::string_view text = rest.substr(std::min(prefix_bytes, rest.size()));
    if (!text.starts_with(' ')) return rest;
  }
}

}  // namespace

std::span<const LostPeerSignature> lost_peer_signatures() { return kSignatures; }

bool tells_of_lost_peer(const LastWords& words) {
  return has_signature(words.message.empty() ? last_exception(words.last_lines) : words.message);
}

Blame blame_of(bool told_to_stop, const LastWords& words) {
  const bool lost_peer = tells_of_lost_peer(words);
  if (!told_to_stop) return lost_peer ? Blame::kLostPeer : Blame::kOwn;
  // Python takes tens of milliseconds to end after an exception, with its connections closed.
  const bool raised =
      !words.message.empty() || words.last_lines.find(kTraceback) != std::string_view::npos;
  return raised && !lost_peer ? Blame::kOwnWhileEnding : Blame::kBecauseStopped;
}

}  // namespace muster::elastic
