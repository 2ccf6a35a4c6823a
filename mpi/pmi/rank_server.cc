#include "mpi/pmi/rank_server.h"

#include <fcntl.h>

#include <algorithm>
#include <cctype>

namespace muster::mpi {

namespace {

// Of the run id in a name that has 256 bytes; MPI libraries build file names of it.
constexpr size_t kMaxRunIdBytes = 64;
// Enough that no two agents have them in common.
constexpr size_t kTokenBytes = 16;

}  // namespace

Result<UniqueFd> set_rank_stdin(const NodeRanks& place, int local_rank, SpawnRequest& request) {
  if (place.first_rank + local_rank == 0) return UniqueFd();
  auto nothing = open_null_device(O_RDONLY);
  if (nothing) request.stdin_fd = nothing->get();
  return nothing;
}

std::string rank_space_name(const std::string& run_id, int attempt, const std::string& token) {
  std::string name = run_id.substr(0, kMaxRunIdBytes);
  const auto is_usual = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  std::replace_if(
      name.begin(), name.end(), [&is_usual](char c) { return !is_usual(c); }, '_');
  return "muster_" + name + "_" + std::to_string(attempt) + "_" + token.substr(0, kTokenBytes);
}

std::string secret_space_name(const std::string& name, const std::string& secret) {
  return name.substr(0, name.rfind('_') + 1) + secret;
}

}  // namespace muster::mpi
