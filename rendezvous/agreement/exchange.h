// Exchange: every node of a round gives bytes, and when all have, everyone gets all of them: what
// barriers with data of frameworks (PMI, PMIx) need between nodes. Pure; the messages are
// Contribution and Exchanged. Nothing here knows what the bytes mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "rendezvous/messages/exchange_messages.h"

namespace muster::rendezvous {

/// Of one exchange, all nodes together; some unread answers must fit a link's queue
/// (kMaxLinkQueueBytes). Ranks give some hundred bytes each.
inline constexpr size_t kMaxExchangeBytes = 2U << 20;
/// Of one frame: as text well below kMaxFrameBytes.
inline constexpr size_t kMaxExchangeChunkBytes = 512U << 10;
/// Of one part of an answer: what the leader holds for each of thousands of nodes that do not read.
inline constexpr size_t kAnswerChunkBytes = 32U << 10;

/// `bytes` as messages of at most `chunk_bytes`, at least one. T is Contribution or Exchanged.
template <typename T>
std::vector<T> in_chunks(uint64_t round, uint64_t sequence, std::string_view bytes,
                         size_t chunk_bytes) {
  std::vector<T> chunks;
  do {
    const size_t offset = chunks.size() * chunk_bytes;
    T chunk;
    chunk.round = round;
    chunk.sequence = sequence;
    chunk.offset = offset;
    chunk.data = bytes.substr(offset, chunk_bytes);
    chunk.last = offset + chunk.data.size() == bytes.size();
    chunks.push_back(std::move(chunk));
  } while (!chunks.back().last);
  return chunks;
}

/// The leader's side, of one round. Exchanges are numbered from 0, one after the other: nobody can
/// give to the next one before it has all of the last.
class ExchangeTable {
 public:
  /// `gives`: by node rank, who takes part. Of the others nobody waits for anything; they stand as
  /// "" in the answer.
  void begin(std::vector<bool> gives);

  enum class Outcome {
    kNothing,   ///< more is awaited, or it was out of place
    kComplete,  ///< answer() is for every node
    kRepeated,  ///< that exchange is over, this node missed the answer: answer() is for it alone
  };
  /// A contribution that comes again, from its beginning on, replaces what was there.
  Outcome add(size_t node_rank, const Contribution& part);
  /// Of the last exchange that was completed.
  [[nodiscard]] const ExchangeAnswer& answer() const;

 private:
  struct Given {
    std::string bytes;
    bool complete = false;
  };
  void complete(uint64_t round, std::string problem);
  void await_all();

  std::vector<bool> gives_;
  std::vector<Given> given_;  // by node rank
  size_t bytes_ = 0;
  size_t missing_ = 0;
  uint64_t sequence_ = 0;
  ExchangeAnswer answer_;  // of sequence_ - 1; null before the first
};

/// A node's side: what it gave, until it has the answer.
class PendingExchange {
 public:
  void begin(uint64_t round, uint64_t sequence, std::string bytes);
  void forget() { pending_ = false; }
  /// What is to be sent, now and after every change of the link; empty: nothing is pending.
  [[nodiscard]] std::vector<Contribution> messages() const;
  /// The answer once its last part is there: by node rank, or why there is none. Others than the
  /// awaited ones are ignored.
  std::optional<Result<std::vector<std::string>>> take(const Exchanged& part, size_t nodes);

 private:
  bool pending_ = false;
  uint64_t round_ = 0;
  uint64_t sequence_ = 0;
  std::string bytes_;
  std::string answer_;
};

}  // namespace muster::rendezvous
