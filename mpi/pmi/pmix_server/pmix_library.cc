#include "mpi/pmi/pmix_server/pmix_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <numeric>

#include "base/environment.h"
#include "base/text.h"
#include "mpi/pmi/pmix_server/info_list.h"

namespace muster::pmix_server {

namespace {

using mpi::pmix::Begin;

// The soname of PMIx 2 to 6.
constexpr const char* kLibrary = "libpmix.so.2";

// A later library's table of callbacks is longer than ours, and it copies the whole of its own.
union CallbackTable {
  pmix_server_module_t known;
  unsigned char room[4096];
};

template <typename F>
bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

pmix_proc_t process(const Begin& job, pmix_rank_t rank) {
  pmix_proc_t process{};
  std::strncpy(process.nspace, job.space.c_str(), PMIX_MAX_NSLEN);
  process.rank = rank;
  return process;
}

// "0,1", the ranks of one node.
std::string rank_list(const Begin& job, int node) {
  std::vector<std::string> ranks;
  const int first = first_rank(job, node);
  for (int i = 0; i < job.nodes[static_cast<size_t>(node)].ranks; ++i)
    ranks.push_back(std::to_string(first + i));
  return join(ranks, ",");
}

uint32_t world_size(const Begin& job) {
  return static_cast<uint32_t>(first_rank(job, static_cast<int>(job.nodes.size())));
}

void add_ranks(const Begin& job, int node, InfoList& infos) {
  const mpi::pmix::Node& place = job.nodes[static_cast<size_t>(node)];
  for (int local = 0; local < place.ranks; ++local) {
    const auto rank = static_cast<pmix_rank_t>(first_rank(job, node) + local);
    InfoList& one = infos.array(PMIX_PROC_DATA);
    one.rank(PMIX_RANK, rank);
    one.uint32(PMIX_APPNUM, 0);
    one.rank(PMIX_GLOBAL_RANK, rank);
    one.uint16(PMIX_LOCAL_RANK, static_cast<uint16_t>(local));
    one.uint16(PMIX_NODE_RANK, static_cast<uint16_t>(local));
    one.uint32(PMIX_NODEID, static_cast<uint32_t>(node));
    one.text(PMIX_HOSTNAME, place.name);
  }
}

}  // namespace

int first_rank(const Begin& job, int node) {
  return std::accumulate(job.nodes.begin(), job.nodes.begin() + node, 0,
                         [](int sum, const mpi::pmix::Node& each) { return sum + each.ranks; });
}

Result<std::unique_ptr<PmixLibrary>> PmixLibrary::load() {
  // For everybody: its plug-ins use its symbols.
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    return Error{Code::kConfig, 0,
                 "no PMIx library (" + std::string(dlerror()) +
                     "): an Open MPI with a library of its own has it in a folder that "
                     "LD_LIBRARY_PATH must name"};
  }
  std::unique_ptr<PmixLibrary> loaded(new PmixLibrary);
  Functions& found = loaded->functions_;
  const bool complete = find(library, "PMIx_server_init", found.server_init) &&
                        find(library, "PMIx_server_register_nspace", found.register_nspace) &&
                        find(library, "PMIx_server_register_client", found.register_client) &&
                        find(library, "PMIx_server_setup_fork", found.setup_fork) &&
                        find(library, "PMIx_generate_regex", found.generate_regex) &&
                        find(library, "PMIx_generate_ppn", found.generate_ppn) &&
                        find(library, "PMIx_Error_string", found.error_string);
  if (complete) return loaded;
  return Error{Code::kConfig, 0,
               std::string(kLibrary) + " has not all functions of a server: " + dlerror()};
}

Status PmixLibrary::check(pmix_status_t status, const std::string& call) const {
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return {};
  return Error{Code::kOs, 0, call + ": " + functions_.error_string(status)};
}

Result<std::vector<std::vector<std::string>>> PmixLibrary::serve(const Begin& job,
                                                                 const Callbacks& callbacks) {
  MUSTER_RETURN_IF_ERROR(init(job, callbacks));
  MUSTER_RETURN_IF_ERROR(register_job(job));
  std::vector<std::vector<std::string>> environments;
  const int first = first_rank(job, job.node);
  for (int local = 0; local < job.nodes[static_cast<size_t>(job.node)].ranks; ++local) {
    const auto rank = static_cast<pmix_rank_t>(first + local);
    MUSTER_RETURN_IF_ERROR(register_rank(job, rank));
    auto environment = environment_of(job, rank);
    if (!environment) return std::move(environment).error();
    environments.push_back(std::move(*environment));
  }
  return environments;
}

Status PmixLibrary::init(const Begin& job, const Callbacks& callbacks) {
  static CallbackTable table;  // the library may keep its address
  table.known.client_connected2 = callbacks.connected;
  table.known.client_finalized = callbacks.finalized;
  table.known.abort = callbacks.aborted;
  table.known.fence_nb = callbacks.fence;
  InfoList infos;
  infos.text(PMIX_SERVER_TMPDIR, job.folder);
  infos.text(PMIX_SYSTEM_TMPDIR, job.folder);
  infos.text(PMIX_HOSTNAME, job.nodes[static_cast<size_t>(job.node)].name);
  return check(functions_.server_init(&table.known, infos.data(), infos.size()),
               "PMIx_server_init");
}

// Without a callback these calls come back when they are done.
Status PmixLibrary::register_job(const Begin& job) {
  auto nodes = node_map(job);
  if (!nodes) return std::move(nodes).error();
  auto processes = process_map(job);
  if (!processes) return std::move(processes).error();
  const int own_ranks = job.nodes[static_cast<size_t>(job.node)].ranks;
  InfoList infos;
  infos.uint32(PMIX_UNIV_SIZE, world_size(job));
  infos.uint32(PMIX_JOB_SIZE, world_size(job));
  infos.uint32(PMIX_MAX_PROCS, world_size(job));
  infos.uint32(PMIX_JOB_NUM_APPS, 1);
  infos.uint32(PMIX_NUM_NODES, static_cast<uint32_t>(job.nodes.size()));
  infos.uint32(PMIX_LOCAL_SIZE, static_cast<uint32_t>(own_ranks));
  infos.uint32(PMIX_NODE_SIZE, static_cast<uint32_t>(own_ranks));
  infos.text(PMIX_LOCAL_PEERS, rank_list(job, job.node));
  infos.rank(PMIX_LOCALLDR, static_cast<pmix_rank_t>(first_rank(job, job.node)));
  infos.text(PMIX_NODE_MAP, *nodes);
  infos.text(PMIX_PROC_MAP, *processes);
  infos.text(PMIX_TMPDIR, job.folder);
  infos.text(PMIX_NSDIR, job.folder);
  for (int node = 0; node < static_cast<int>(job.nodes.size()); ++node) add_ranks(job, node, infos);
  const pmix_proc_t all = process(job, PMIX_RANK_WILDCARD);
  return check(functions_.register_nspace(all.nspace, own_ranks, infos.data(), infos.size(),
                                          nullptr, nullptr),
               "PMIx_server_register_nspace");
}

Status PmixLibrary::register_rank(const Begin& job, pmix_rank_t rank) {
  const pmix_proc_t one = process(job, rank);
  return check(functions_.register_client(&one, geteuid(), getegid(), nullptr, nullptr, nullptr),
               "PMIx_server_register_client");
}

Result<std::vector<std::string>> PmixLibrary::environment_of(const Begin& job,
                                                             pmix_rank_t rank) const {
  const pmix_proc_t one = process(job, rank);
  char** variables = nullptr;
  MUSTER_RETURN_IF_ERROR(check(functions_.setup_fork(&one, &variables), "PMIx_server_setup_fork"));
  std::vector<std::string> environment;
  for (char** variable = variables; variable != nullptr && *variable != nullptr; ++variable) {
    environment.emplace_back(*variable);
    std::free(*variable);
  }
  std::free(variables);
  return environment;
}

Result<std::string> PmixLibrary::node_map(const Begin& job) const {
  std::vector<std::string> names;
  for (const mpi::pmix::Node& node : job.nodes) names.push_back(node.name);
  return compact(functions_.generate_regex, join(names, ","), "PMIx_generate_regex");
}

Result<std::string> PmixLibrary::process_map(const Begin& job) const {
  std::vector<std::string> ranks;
  for (int node = 0; node < static_cast<int>(job.nodes.size()); ++node)
    ranks.push_back(rank_list(job, node));
  return compact(functions_.generate_ppn, join(ranks, ";"), "PMIx_generate_ppn");
}

// What the library makes of a long list is compressed, and then no text any more: some 4,000 bytes.
Result<std::string> PmixLibrary::compact(pmix_status_t (*generate)(const char*, char**),
                                         const std::string& list, const std::string& call) const {
  char* made = nullptr;
  MUSTER_RETURN_IF_ERROR(check(generate(list.c_str(), &made), call));
  std::string text(made);
  std::free(made);
  if (!text.starts_with("blob:")) return text;
  return Error{Code::kLimit, 0,
               "the list of nodes has " + std::to_string(list.size()) +
                   " bytes, which is more than PMIx writes as text"};
}

}  // namespace muster::pmix_server
