// The image's PMIx library, loaded when the program runs: another version than the one whose
// headers were here when it was built is usual. Only what a server for one job of one name space
// needs. https://pmix.github.io/ (PMIx Standard 4.1, chapter 17, "Server-Specific Interfaces").
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "mpi/pmi/pmix_messages.h"

namespace muster::pmix_server {

/// What the library calls, from a thread of its own. A null pointer tells it that a service is not
/// there.
struct Callbacks {
  pmix_server_client_connected2_fn_t connected = nullptr;
  pmix_server_client_finalized_fn_t finalized = nullptr;
  pmix_server_abort_fn_t aborted = nullptr;
  pmix_server_fencenb_fn_t fence = nullptr;
};

class PmixLibrary {
 public:
  /// Looks for libpmix.so.2 where the dynamic linker does. kConfig: none, or not what it should be.
  static Result<std::unique_ptr<PmixLibrary>> load();

  /// Serves the ranks of this node from now on; the result is their environment, by local rank.
  /// Once per process. kOs: the library refused, and how it says so. kLimit: too many nodes.
  Result<std::vector<std::vector<std::string>>> serve(const mpi::pmix::Begin& job,
                                                      const Callbacks& callbacks);

 private:
  struct Functions {
    decltype(&PMIx_server_init) server_init = nullptr;
    decltype(&PMIx_server_register_nspace) register_nspace = nullptr;
    decltype(&PMIx_server_register_client) register_client = nullptr;
    decltype(&PMIx_server_setup_fork) setup_fork = nullptr;
    decltype(&PMIx_generate_regex) generate_regex = nullptr;
    decltype(&PMIx_generate_ppn) generate_ppn = nullptr;
    decltype(&PMIx_Error_string) error_string = nullptr;
  };

  PmixLibrary() = default;
  Status check(pmix_status_t status, const std::string& call) const;
  Status init(const mpi::pmix::Begin& job, const Callbacks& callbacks);
  Status register_job(const mpi::pmix::Begin& job);
  Status register_rank(const mpi::pmix::Begin& job, pmix_rank_t rank);
  Result<std::vector<std::string>> environment_of(const mpi::pmix::Begin& job,
                                                  pmix_rank_t rank) const;
  Result<std::string> compact(pmix_status_t (*generate)(const char*, char**),
                              const std::string& list, const std::string& call) const;
  Result<std::string> node_map(const mpi::pmix::Begin& job) const;
  Result<std::string> process_map(const mpi::pmix::Begin& job) const;

  Functions functions_;
};

/// The rank of local rank 0 of `node`.
[[nodiscard]] int first_rank(const mpi::pmix::Begin& job, int node);

}  // namespace muster::pmix_server
