#include "mpi/pmi/pmi_server.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "mpi/launch/implementation.h"

namespace muster::mpi {

namespace {

constexpr std::string_view kMappingKey = "PMI_process_mapping";
constexpr std::string_view kRefusal = "dynamic_processes_are_not_served_by_muster";
constexpr int kLastExitCode = 255;
constexpr int kFailed = 1;

// A contribution is lines: "size RANKS", "left WHO", "put KEY VALUE". No key holds a space, no
// value a line's end, because none can be put.
constexpr std::string_view kSize = "size";
constexpr std::string_view kLeft = "left";
constexpr std::string_view kPut = "put";

// What _exit leaves of it; 0 would call a failure a success.
int exit_code_of(int given) {
  const int code = given & kLastExitCode;
  return code == 0 ? kFailed : code;
}

std::pair<std::string_view, std::string_view> cut(std::string_view text) {
  const size_t space = std::min(text.find(' '), text.size());
  return {text.substr(0, space), text.substr(std::min(space + 1, text.size()))};
}

}  // namespace

PmiServer::PmiServer(NodeRanks place)
    : place_(std::move(place)), ranks_(static_cast<size_t>(place_.local_size)) {
  if (place_.nodes == 1) {
    take_sizes({place_.local_size});
    return;
  }
  puts_ = std::string(kSize) + " " + std::to_string(place_.local_size) + " " + place_.space + "\n";
  contribute();
}

void PmiServer::on_request(int local_rank, const PmiRequest& request) {
  used_ = true;
  const Rank& rank = at(local_rank);
  if (rank.verdict || rank.state == State::kGone) return;
  if (const auto* aborted = std::get_if<PmiAbort>(&request)) {
    const int code = exit_code_of(aborted->exit_code);
    return end(local_rank, {code, "MPI_Abort with code " + std::to_string(aborted->exit_code) +
                                      std::string(lost_rank_remark(Implementation::kMpich, code))});
  }
  if (const auto* asked = std::get_if<PmiInit>(&request)) return init(local_rank, *asked);
  if (rank.state != State::kReady) {
    return end(local_rank, {kFailed, "asked for PMI before init, in a barrier or after finalize"});
  }
  if (const auto* given = std::get_if<PmiPut>(&request)) {
    put(local_rank, *given);
  } else if (const auto* wanted = std::get_if<PmiGet>(&request)) {
    get(local_rank, *wanted);
  } else if (std::holds_alternative<PmiBarrier>(request)) {
    enter_barrier(local_rank);
  } else if (std::holds_alternative<PmiFinalize>(request)) {
    finalize(local_rank);
  } else if (std::holds_alternative<PmiGetMaxes>(request)) {
    answer(local_rank, "maxes",
           {{"kvsname_max", std::to_string(kMaxPmiKvsNameBytes)},
            {"keylen_max", std::to_string(kMaxPmiKeyBytes)},
            {"vallen_max", std::to_string(kMaxPmiValueBytes)},
            {"rc", "0"}});
  } else if (std::holds_alternative<PmiGetAppNumber>(request)) {
    answer(local_rank, "appnum", {{"appnum", "0"}, {"rc", "0"}});
  } else if (std::holds_alternative<PmiGetKvsName>(request)) {
    get_name(local_rank);
  } else if (std::holds_alternative<PmiGetUniverseSize>(request)) {
    answer(local_rank, "universe_size", {{"size", std::to_string(place_.world_size)}, {"rc", "0"}});
  } else if (const auto* dynamic = std::get_if<PmiDynamic>(&request)) {
    if (!dynamic->answer.empty())
      answer(local_rank, dynamic->answer, {{"rc", "-1"}, {"msg", kRefusal}});
  }
}

void PmiServer::on_nonsense(int local_rank, const Error& error) {
  if (!at(local_rank).verdict) end(local_rank, {kFailed, error.text});
}

// Version 2 has other bytes; who asks for it hears which one is here.
void PmiServer::init(int local_rank, const PmiInit& request) {
  Rank& rank = at(local_rank);
  if (rank.state != State::kSilent) return end(local_rank, {kFailed, "PMI init twice"});
  const bool served = request.version == 1;
  if (served) rank.state = State::kReady;
  answer(local_rank, "response_to_init",
         {{"pmi_version", "1"}, {"pmi_subversion", "1"}, {"rc", served ? "0" : "-1"}});
}

void PmiServer::put(int local_rank, const PmiPut& request) {
  const std::string line = std::string(kPut) + " " + request.key + " " + request.value + "\n";
  std::string_view problem;
  if (request.kvs_name != place_.space) problem = "no_such_kvs";
  if (request.key.empty()) problem = "empty_key";
  if (puts_.size() + line.size() > kMaxPmiPutBytes) problem = "too_much_between_two_barriers";
  if (problem.empty() && !keep(request.key, request.value)) problem = "too_much_in_the_kvs";
  if (!problem.empty()) return answer(local_rank, "put_result", {{"rc", "-1"}, {"msg", problem}});
  puts_ += line;
  answer(local_rank, "put_result", {{"rc", "0"}, {"msg", "success"}});
}

// False: it would be too much.
bool PmiServer::keep(std::string_view key, std::string_view value) {
  const auto found = store_.find(key);
  const size_t before = found == store_.end() ? 0 : key.size() + found->second.size();
  const size_t after = store_bytes_ - before + key.size() + value.size();
  if (after > kMaxPmiStoreBytes) return false;
  store_bytes_ = after;
  store_.insert_or_assign(std::string(key), std::string(value));
  return true;
}

void PmiServer::get_name(int local_rank) {
  at(local_rank).wants_name = !mapping_known_;
  if (mapping_known_) answer(local_rank, "my_kvsname", {{"kvsname", place_.space}, {"rc", "0"}});
}

void PmiServer::get(int local_rank, const PmiGet& request) {
  if (request.key == kMappingKey && !mapping_known_) {
    at(local_rank).wants_mapping = true;
    return;
  }
  const auto found = store_.find(request.key);
  if (request.kvs_name != place_.space || found == store_.end()) {
    return answer(local_rank, "get_result", {{"rc", "-1"}, {"msg", "no_such_key"}});
  }
  answer(local_rank, "get_result", {{"rc", "0"}, {"msg", "success"}, {"value", found->second}});
}

void PmiServer::enter_barrier(int local_rank) {
  at(local_rank).state = State::kInBarrier;
  settle_barrier();
}

void PmiServer::finalize(int local_rank) {
  at(local_rank).state = State::kFinalized;
  answer(local_rank, "finalize_ack", {{"rc", "0"}});
}

// The barrier of this node: everybody is in it, or somebody never will be.
void PmiServer::settle_barrier() {
  if (!left_.empty()) {
    end_waiting(left_);
    // Other nodes wait as well. What they gave to an exchange under way comes first.
    if (place_.nodes > 1 && !exchanging_ && !told_left_) {
      told_left_ = true;
      puts_ = std::string(kLeft) + " " + left_ + "\n";
      contribute();
    }
    return;
  }
  const bool all = std::all_of(ranks_.begin(), ranks_.end(),
                               [](const Rank& rank) { return rank.state == State::kInBarrier; });
  if (!all || exchanging_) return;
  if (place_.nodes > 1) return contribute();
  puts_.clear();
  release();
}

void PmiServer::contribute() {
  exchanging_ = true;
  outputs_.emplace_back(pmi_output::Exchange{sequence_, std::exchange(puts_, {})});
}

void PmiServer::release() {
  for (int local_rank = 0; local_rank < place_.local_size; ++local_rank) {
    if (at(local_rank).state != State::kInBarrier) continue;
    at(local_rank).state = State::kReady;
    answer(local_rank, "barrier_out", {{"rc", "0"}});
  }
}

void PmiServer::on_exchanged(uint64_t sequence, const std::vector<std::string>& contributions) {
  if (!exchanging_ || sequence != sequence_) return;
  exchanging_ = false;
  ++sequence_;
  std::vector<int> sizes;
  for (size_t node = 0; node < contributions.size(); ++node) {
    if (const Status applied = apply(node, contributions[node], sizes); !applied)
      return end_waiting(applied.error().text);
  }
  if (sequence == 0) {
    const auto silent = std::count(contributions.begin(), contributions.end(), "");
    take_sizes(contributions.size() == sizes.size() + static_cast<size_t>(silent)
                   ? sizes
                   : std::vector<int>());
  } else if (left_.empty()) {
    release();
  }
  settle_barrier();
}

void PmiServer::on_exchange_failed(const std::string& reason) {
  left_ = reason;
  told_left_ = true;
  end_waiting(reason);
}

Status PmiServer::apply(size_t node, const std::string& contribution, std::vector<int>& sizes) {
  for (const std::string_view line : split(contribution, '\n')) {
    const auto [word, rest] = cut(line);
    if (word == kPut) {
      const auto [key, value] = cut(rest);
      if (!keep(key, value)) {
        return Error{
            Code::kLimit, 0,
            "PMI: the ranks put more than " + std::to_string(kMaxPmiStoreBytes) + " bytes"};
      }
    } else if (word == kSize) {
      const auto [number, space] = cut(rest);
      const auto size = parse_integer(number);
      if (sequence_ != 1 || !size || *size <= 0 || *size > place_.world_size || space.empty() ||
          space.size() > kMaxPmiKvsNameBytes)
        continue;
      if (sizes.empty()) place_.space = std::string(space);
      sizes.push_back(static_cast<int>(*size));
    } else if (word == kLeft) {
      if (left_.empty()) left_ = std::string(rest);
      told_left_ = true;  // they all hear it now
    } else if (!line.empty()) {
      return Error{Code::kProtocol, 0,
                   "node rank " + std::to_string(node) + " said '" +
                       std::string(clip_utf8(one_line(word), 16)) + "' to a PMI barrier"};
    }
  }
  return {};
}

// Ranks that asked before it was known wait for nothing else.
void PmiServer::take_sizes(const std::vector<int>& sizes) {
  mapping_known_ = true;
  const std::string mapping = sizes.empty() ? "" : process_mapping(sizes);
  if (!mapping.empty()) (void)keep(kMappingKey, mapping);  // there is room: it is the first
  for (int local_rank = 0; local_rank < place_.local_size; ++local_rank) {
    if (std::exchange(at(local_rank).wants_mapping, false))
      get(local_rank, {place_.space, std::string(kMappingKey)});
    if (std::exchange(at(local_rank).wants_name, false)) get_name(local_rank);
  }
}

std::optional<RankVerdict> PmiServer::on_success(int local_rank) {
  Rank& rank = at(local_rank);
  if (rank.verdict) return rank.verdict;
  const State before = std::exchange(rank.state, State::kGone);
  if (before == State::kFinalized || before == State::kGone) return std::nullopt;
  if (before != State::kSilent) {
    rank.verdict = RankVerdict{kFailed, "exit code 0 without MPI_Finalize"};
    return rank.verdict;
  }
  // A program without MPI may do that, if nobody waits for it.
  if (left_.empty()) left_ = "waits for " + name_of(local_rank) + ", which ended without MPI_Init";
  settle_barrier();
  return std::nullopt;
}

std::optional<RankVerdict> PmiServer::verdict(int local_rank) const {
  return ranks_.at(static_cast<size_t>(local_rank)).verdict;
}

void PmiServer::end(int local_rank, RankVerdict verdict) {
  at(local_rank).verdict = std::move(verdict);
  outputs_.emplace_back(pmi_output::End{local_rank});
}

void PmiServer::end_waiting(const std::string& reason) {
  for (int local_rank = 0; local_rank < place_.local_size; ++local_rank) {
    if (at(local_rank).state == State::kInBarrier && !at(local_rank).verdict)
      end(local_rank, {kFailed, reason});
  }
}

void PmiServer::answer(int local_rank, std::string_view name,
                       std::initializer_list<PmiField> fields) {
  outputs_.emplace_back(pmi_output::Answer{local_rank, encode_pmi(name, fields)});
}

std::string PmiServer::name_of(int local_rank) const {
  return "rank " + std::to_string(place_.first_rank + local_rank);
}

std::vector<PmiOutput> PmiServer::take_outputs() { return std::exchange(outputs_, {}); }

}  // namespace muster::mpi
