#include "mpi/pmi/pmix_ranks.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/process/own_binary.h"
#include "base/process/process_marks.h"
#include "base/socket.h"
#include "base/unguessable.h"
#include "mpi/pmi/await_environment.h"
#include "rendezvous/wire/job_secret.h"

namespace muster::mpi {

namespace {

constexpr std::string_view kServerProgram = "muster-pmix";

struct SocketPair {
  UniqueFd ours;
  UniqueFd theirs;
};

Result<SocketPair> make_pair() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return os_error("socketpair for PMIx");
  SocketPair pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
  MUSTER_RETURN_IF_ERROR(set_nonblocking(pair.ours.get()));
  return pair;
}

}  // namespace

Result<std::string> find_pmix_server(const Files& files) {
  auto own = own_binary(files);
  if (!own) return own;
  std::string path = beside(*own, kServerProgram);
  if (files.exists(path)) return path;
  return Error{Code::kConfig, 0,
               "--mpi-launch pmix needs '" + path +
                   "', which `make build` leaves beside muster where PMIx's headers are "
                   "installed: copy both into the image"};
}

Status PmixRanks::begin(NodeRanks place) {
  place_ = std::move(place);
  ranks_.clear();
  ranks_.resize(static_cast<size_t>(place_.local_size));
  alive_ = place_.local_size;
  left_unused_ = 0;
  lost_.reset();
  late_.reset();
  watch_.reset();
  server_.reset();
  incoming_.clear();
  outgoing_.clear();
  MUSTER_RETURN_IF_ERROR(prepare_folder());
  auto secret = unguessable_digits();
  if (!secret) return std::move(secret).error();
  place_.space = secret_space_name(place_.space, *secret);
  MUSTER_RETURN_IF_ERROR(start_server());
  session_.emplace(place_, folder_->path());
  settle();
  return {};
}

Status PmixRanks::prepare_folder() {
  if (folder_) {
    folder_->clear();  // of what the attempt before left
    return {};
  }
  auto folder = TemporaryFolder::create(doors_.folder);
  // Its errno says nothing of the program.
  if (!folder) return Error{folder.error().code, 0, folder.error().text};
  folder_ = std::move(*folder);
  return {};
}

Status PmixRanks::start_server() {
  const auto path = find_pmix_server(doors_.files);
  if (!path) return Error(path.error());
  auto pair = make_pair();
  if (!pair) return std::move(pair).error();
  Environment environment = doors_.environment;
  environment.unset(rendezvous::kJobSecretFileVariable);
  environment.set(kAgentIdVariable, doors_.token);
  SpawnRequest request;
  request.program = *path;
  request.arguments = {std::string(kServerProgram), std::to_string(pair->theirs.get())};
  request.environment = environment.to_exec_strings();
  request.kept_fd = pair->theirs.get();
  request.signal_mask = doors_.setup.original_mask;
  auto pid = doors_.processes.spawn(request);
  if (!pid) return std::move(pid).error().with_context("starting " + *path);
  server_ = std::move(pair->ours);
  auto watch =
      doors_.loop.watch(server_.get(), Interest::kRead, [this](Ready ready) { on_ready(ready); });
  if (!watch) return std::move(watch).error();
  watch_ = std::move(*watch);
  return {};
}

// Stdin, stdout and all else stay as they are.
Result<AttachedRank> PmixRanks::attach(int local_rank, SpawnRequest& request) {
  auto own = own_binary(doors_.files);
  if (!own) return std::move(own).error();
  auto pair = make_pair();
  if (!pair) return std::move(pair).error();
  auto input = set_rank_stdin(place_, local_rank, request);
  if (!input) return std::move(input).error();
  at(local_rank).fd = std::move(pair->ours);
  request.arguments = await_words(pair->theirs.get(), request.program, request.arguments);
  request.program = std::move(*own);
  request.kept_fd = pair->theirs.get();
  AttachedRank rank{.variables = variables(), .inherited = {}};
  rank.inherited.push_back(std::move(pair->theirs));
  rank.inherited.push_back(std::move(*input));
  return rank;
}

std::vector<PlannedVariable> PmixRanks::variables() const {
  const auto variable = [](const char* name, std::string value, const char* reason,
                           const char* source) {
    return PlannedVariable{.name = name,
                           .value = std::move(value),
                           .reason = reason,
                           .source = source,
                           .claim = Claim::kOverrides};
  };
  std::vector<PlannedVariable> variables = {
      variable("JSM_JSRUN_PORT", "muster",
               "Open MPI 4 takes a PMIx server for one only beside a resource manager's variable, "
               "else every rank is a job of its own",
               "tried: Open MPI 4.1.4; 5.0.11 needs none"),
      variable("OMPI_MCA_hwloc_base_binding_policy", "none",
               "rank k of each container would be bound to core k of the machine",
               "tried: Open MPI 4.1.4")};
  if (!place_.shares_machine) return variables;
  for (const char* name :
       {"OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory"}) {
    variables.push_back(
        variable(name, folder_->path(),
                 "Open MPI names its shared memory after the machine and the rank on its node",
                 "tried: Open MPI 4.1.4, 5.0.11"));
  }
  return variables;
}

// ---- the server

void PmixRanks::on_ready(Ready ready) {
  if (ready.writable) write();
  if (ready.readable) receive();
  settle();
}

void PmixRanks::receive() {
  std::array<char, kPmixReadBytesPerTurn> bytes;
  const ssize_t count = recv(server_.get(), bytes.data(), bytes.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return server_lost("it has ended");
  incoming_.append(bytes.data(), static_cast<size_t>(count));
  size_t consumed = 0;
  while (true) {
    auto decoded = decode_pmix(std::string_view(incoming_).substr(consumed));
    if (!decoded) return server_lost(decoded.error().text);
    if (decoded->consumed == 0) break;
    consumed += decoded->consumed;
    session_->on_server(*decoded->message);
  }
  incoming_.erase(0, consumed);
}

void PmixRanks::server_lost(std::string reason) {
  watch_.reset();
  lost_ = doors_.loop.after(kServerVerdictDelay, [this, reason = std::move(reason)] {
    session_->on_server_lost(reason);
    settle();
  });
}

// What the server does not read yet waits: it asks one thing at a time.
void PmixRanks::write() {
  if (!watch_.is_active() || outgoing_.empty()) return;
  (void)send_some(server_.get(), outgoing_);  // that it is gone is told by the end of what it says
  watch_.set_interest(outgoing_.empty() ? Interest::kRead : Interest::kReadWrite);
}

// ---- the ranks

void PmixRanks::exchanged(uint64_t sequence,
                          const Result<std::vector<std::string>>& contributions) {
  if (!session_) return;
  if (contributions) {
    session_->on_exchanged(sequence, *contributions);
  } else {
    session_->on_exchange_failed(contributions.error().text);
  }
  settle();
}

std::optional<RankVerdict> PmixRanks::exited(int local_rank, bool success) {
  if (watch_.is_active()) receive();  // its last word may still be unread
  auto verdict = success ? session_->on_success(local_rank) : session_->on_failure(local_rank);
  settle();
  at(local_rank) = {};
  if (--alive_ == 0) lost_.reset();
  if (success && !session_->is_used() && ++left_unused_ == place_.local_size &&
      place_.world_size > 1) {
    log::warning("pmix.unused",
                 {{"workers", place_.local_size},
                  {"reason",
                   "all ranks ended before MPI_Init or use no MPI; or a program of MPICH ran as so "
                   "many jobs of one rank, and needs --mpi-launch pmi"},
                  {"action", "nothing"}});
  }
  return verdict;
}

void PmixRanks::settle() {
  for (auto outputs = session_->take_outputs(); !outputs.empty();
       outputs = session_->take_outputs())
    for (const PmixOutput& output : outputs) perform(output);
  watch_start();
}

// A library that hangs while it is loaded, on a file system that is gone, would hang the job.
void PmixRanks::watch_start() {
  if (!session_->awaits_server()) return late_.reset();
  if (late_.is_active()) return;
  late_ = doors_.loop.after(doors_.start_deadline, [this] {
    session_->on_server_late(doors_.start_deadline);
    settle();
  });
}

void PmixRanks::perform(const PmixOutput& output) {
  if (const auto* told = std::get_if<pmix_output::ToServer>(&output)) {
    outgoing_ += encode_pmix(told->message);
    write();
  } else if (const auto* released = std::get_if<pmix_output::Release>(&output)) {
    release(*released);
  } else if (const auto* exchange = std::get_if<pmix_output::Exchange>(&output)) {
    hooks_.exchange(exchange->sequence, exchange->bytes);
  } else if (const auto* ended = std::get_if<pmix_output::End>(&output)) {
    end(ended->local_rank);
  }
}

void PmixRanks::release(const pmix_output::Release& released) {
  const UniqueFd fd = std::move(at(released.local_rank).fd);
  const std::string text = environment_text(released.environment);
  // Some kilobytes, for a socket that holds a hundred: at once or never.
  const ssize_t sent = send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent != static_cast<ssize_t>(text.size()))
    log::warning("pmix.release", {{"rank", place_.first_rank + released.local_rank},
                                  {"reason", "it did not take its variables"},
                                  {"action", "it ends"}});
}

void PmixRanks::end(int local_rank) {
  log::warning("pmix.end", {{"rank", place_.first_rank + local_rank},
                            {"reason", session_->verdict(local_rank)->reason},
                            {"action", "it is killed unless it ends at once"}});
  at(local_rank).told_end = doors_.loop.now();
  at(local_rank).end =
      doors_.loop.after(kRankEndGrace, [this, local_rank] { hooks_.kill(local_rank); });
}

}  // namespace muster::mpi
