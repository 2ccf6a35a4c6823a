#include "rendezvous/agreement/exchange.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace muster::rendezvous {

namespace {

constexpr size_t kLengthBytes = 4;  // before each node's bytes in an answer, big-endian

void append(std::string& answer, const std::string& bytes) {
  const auto length = static_cast<uint32_t>(bytes.size());
  for (const int shift : {24, 16, 8, 0}) answer.push_back(static_cast<char>(length >> shift));
  answer += bytes;
}

Result<std::vector<std::string>> split_answer(std::string_view answer, size_t nodes) {
  std::vector<std::string> parts;
  while (answer.size() >= kLengthBytes && parts.size() < nodes) {
    uint32_t length = 0;
    for (size_t i = 0; i < kLengthBytes; ++i)
      length = (length << 8) | static_cast<unsigned char>(answer[i]);
    answer.remove_prefix(kLengthBytes);
    if (length > answer.size()) break;
    parts.emplace_back(answer.substr(0, length));
    answer.remove_prefix(length);
  }
  if (parts.size() != nodes || !answer.empty()) {
    return Error{Code::kProtocol, 0,
                 fmt::format("the answer to an exchange of {} nodes is broken", nodes)};
  }
  return parts;
}

}  // namespace

void ExchangeTable::begin(std::vector<bool> gives) {
  *this = ExchangeTable{};
  gives_ = std::move(gives);
  await_all();
}

void ExchangeTable::await_all() {
  given_.assign(gives_.size(), Given{});
  bytes_ = 0;
  missing_ = static_cast<size_t>(std::count(gives_.begin(), gives_.end(), true));
}

ExchangeTable::Outcome ExchangeTable::add(size_t node_rank, const Contribution& part) {
  if (node_rank >= given_.size() || !gives_[node_rank]) return Outcome::kNothing;
  const bool is_repeated = sequence_ > 0 && part.sequence == sequence_ - 1;
  if (is_repeated) return part.last ? Outcome::kRepeated : Outcome::kNothing;
  Given& given = given_[node_rank];
  if (part.sequence != sequence_ || part.offset > given.bytes.size()) return Outcome::kNothing;
  if (part.offset == 0) {
    bytes_ -= given.bytes.size();
    given.bytes.clear();
    if (std::exchange(given.complete, false)) ++missing_;
  }
  if (given.complete || part.offset != given.bytes.size()) return Outcome::kNothing;
  given.bytes += part.data;
  bytes_ += part.data.size();
  if (bytes_ > kMaxExchangeBytes) {
    complete(part.round,
             fmt::format("an exchange of {} bytes between the nodes, at most {} are taken", bytes_,
                         kMaxExchangeBytes));
    return Outcome::kComplete;
  }
  if (!part.last) return Outcome::kNothing;
  given.complete = true;
  if (--missing_ > 0) return Outcome::kNothing;
  complete(part.round, "");
  return Outcome::kComplete;
}

void ExchangeTable::complete(uint64_t round, std::string problem) {
  std::string all;
  for (const Given& given : given_) {
    if (problem.empty()) append(all, given.bytes);
  }
  await_all();
  auto chunks = in_chunks<Exchanged>(round, sequence_++, all, kAnswerChunkBytes);
  chunks.back().problem = std::move(problem);
  answer_ = std::make_shared<const std::vector<Exchanged>>(std::move(chunks));
}

const ExchangeAnswer& ExchangeTable::answer() const {
  MUSTER_CHECK(answer_ != nullptr);
  return answer_;
}

void PendingExchange::begin(uint64_t round, uint64_t sequence, std::string bytes) {
  pending_ = true;
  round_ = round;
  sequence_ = sequence;
  bytes_ = std::move(bytes);
  answer_.clear();
}

std::vector<Contribution> PendingExchange::messages() const {
  if (!pending_) return {};
  return in_chunks<Contribution>(round_, sequence_, bytes_, kMaxExchangeChunkBytes);
}

std::optional<Result<std::vector<std::string>>> PendingExchange::take(const Exchanged& part,
                                                                      size_t nodes) {
  if (!pending_ || part.round != round_ || part.sequence != sequence_) return std::nullopt;
  if (part.offset == 0) answer_.clear();
  if (part.offset != answer_.size()) return std::nullopt;
  // The leader keeps to the limit; who does not is no leader of ours.
  if (answer_.size() + part.data.size() > kMaxExchangeBytes + nodes * kLengthBytes) {
    pending_ = false;
    return Error{Code::kLimit, 0,
                 fmt::format("the answer to an exchange is longer than {} bytes",
                             kMaxExchangeBytes + nodes * kLengthBytes)};
  }
  answer_ += part.data;
  if (!part.last) return std::nullopt;
  pending_ = false;
  if (!part.problem.empty()) return Error{Code::kLimit, 0, part.problem};
  return split_answer(std::exchange(answer_, {}), nodes);
}

}  // namespace muster::rendezvous
