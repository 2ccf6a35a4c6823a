// muster-pmix: the PMIx server of one node for one attempt, so that ranks of Open MPI find each
// other without an mpirun. A process of its own because the library comes from the image, loads
// plug-ins and starts a thread; the agent is static. The agent starts it as `muster-pmix FD` and
// speaks with it over that socket (mpi/pmi/pmix_messages.h); when it ends, so does this.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "mpi/pmi/pmix_messages.h"
#include "mpi/pmi/pmix_server/pmix_library.h"

namespace muster::pmix_server {

namespace {

namespace pmix = mpi::pmix;

struct Waiting {
  pmix_modex_cbfunc_t answer;
  void* data;
};

// Two threads: the library's, which calls the functions below and says what they say, and ours,
// which listens to the agent and answers. What the first leaves for the second goes through a pipe.
Pipe waiting;  // fences, oldest first
pmix::Begin job;
int agent = -1;  // the socket

void tell(const mpi::PmixMessage& message) {
  const std::string frame = mpi::encode_pmix(message);
  size_t sent = 0;
  while (sent < frame.size()) {
    const ssize_t count = send(agent, frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;  // the agent is gone, which the listener notices as well
    sent += static_cast<size_t>(count);
  }
}

int local_rank(const pmix_proc_t& process) {
  return static_cast<int>(process.rank) - first_rank(job, job.node);
}

pmix_status_t on_connected(const pmix_proc_t* process, void* /*server_object*/,
                           pmix_info_t* /*info*/, size_t /*ninfo*/, pmix_op_cbfunc_t /*done*/,
                           void* /*data*/) {
  tell(pmix::Connected{local_rank(*process)});
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_finalized(const pmix_proc_t* process, void* /*server_object*/,
                           pmix_op_cbfunc_t /*done*/, void* /*data*/) {
  tell(pmix::Finalized{local_rank(*process)});
  return PMIX_OPERATION_SUCCEEDED;
}

// Of `processes` an abort names, all are meant: MPI jobs end whole.
pmix_status_t on_aborted(const pmix_proc_t* process, void* /*server_object*/, int status,
                         const char* /*message*/, pmix_proc_t* /*processes*/, size_t /*nprocs*/,
                         pmix_op_cbfunc_t /*done*/, void* /*data*/) {
  tell(pmix::Aborted{local_rank(*process), status});
  return PMIX_OPERATION_SUCCEEDED;
}

// One of some processes only would need servers that know who takes part.
bool is_for_all(const pmix_proc_t* processes, size_t count) {
  return count == 1 && processes[0].rank == PMIX_RANK_WILDCARD;
}

pmix_status_t on_fence(const pmix_proc_t* processes, size_t nprocs, const pmix_info_t* /*info*/,
                       size_t /*ninfo*/, char* data, size_t ndata, pmix_modex_cbfunc_t answer,
                       void* callback_data) {
  if (!is_for_all(processes, nprocs)) return PMIX_ERR_NOT_SUPPORTED;
  const Waiting one{answer, callback_data};
  if (write(waiting.write_end.get(), &one, sizeof one) != sizeof one) return PMIX_ERROR;
  tell(pmix::Fence{data == nullptr ? std::string() : std::string(data, ndata)});
  return PMIX_SUCCESS;
}

// The library reads the data later, in its own thread.
void release(void* data) { delete static_cast<std::string*>(data); }

void answer_fence(pmix::Fenced fenced) {
  Waiting oldest{};
  if (read(waiting.read_end.get(), &oldest, sizeof oldest) != sizeof oldest) return;
  auto data = std::make_unique<std::string>(std::move(fenced.data));
  const char* bytes = data->data();
  const size_t size = data->size();
  oldest.answer(fenced.ok ? PMIX_SUCCESS : PMIX_ERR_PROC_ABORTED, bytes, size, oldest.data, release,
                data.release());
}

Status begin(pmix::Begin begun) {
  if (begun.node >= static_cast<int>(begun.nodes.size()))
    return Error{Code::kProtocol, 0, "a job that its own node is not in"};
  job = std::move(begun);
  auto pipe = make_pipe();
  if (!pipe) return std::move(pipe).error();
  waiting = std::move(*pipe);
  MUSTER_RETURN_IF_ERROR(set_nonblocking(waiting.read_end.get()));  // an answer to no question
  auto library = PmixLibrary::load();
  if (!library) return std::move(library).error();
  auto environments = (*library)->serve(job, {.connected = on_connected,
                                              .finalized = on_finalized,
                                              .aborted = on_aborted,
                                              .fence = on_fence});
  if (!environments) return std::move(environments).error();
  tell(pmix::Ready{std::move(*environments)});
  return {};
}

Status handle(mpi::PmixMessage message) {
  if (auto* begun = std::get_if<pmix::Begin>(&message)) return begin(std::move(*begun));
  if (auto* fenced = std::get_if<pmix::Fenced>(&message)) {
    answer_fence(std::move(*fenced));
    return {};
  }
  return Error{Code::kProtocol, 0, "a message that only a server sends"};
}

// Until the agent has gone.
Status serve() {
  std::string incoming;
  while (true) {
    auto decoded = mpi::decode_pmix(incoming);
    if (!decoded) return std::move(decoded).error();
    if (decoded->consumed > 0) {
      incoming.erase(0, decoded->consumed);
      MUSTER_RETURN_IF_ERROR(handle(std::move(*decoded->message)));
      continue;
    }
    std::array<char, 64U << 10> bytes;
    const ssize_t count = recv(agent, bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return {};
    incoming.append(bytes.data(), static_cast<size_t>(count));
  }
}

}  // namespace

}  // namespace muster::pmix_server

int main(int argc, char** argv) {
  using muster::pmix_server::agent;
  const auto number = argc == 2 ? muster::parse_integer(argv[1]) : std::nullopt;
  if (!number || *number <= STDERR_FILENO) {
    (void)std::fputs("muster-pmix is started by muster, for --mpi-launch pmix\n", stderr);
    return 64;  // EX_USAGE
  }
  agent = static_cast<int>(*number);
  const muster::Status served = muster::pmix_server::serve();
  if (!served) muster::pmix_server::tell(muster::mpi::pmix::Unusable{served.error().text});
  // Not through the library's destructors: its thread may be at work, and there is nothing to save.
  _exit(served ? 0 : 1);
}
