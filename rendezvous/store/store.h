// Store: the state behind the TCPStore protocol, without any I/O: keys, queues, barriers and the
// clients that wait for them. Commands come from store_protocol.h, answers go into a ReplyBuffer;
// what each command means, and where PyTorch's own servers differ, is in STORE_PROTOCOL.md.
#pragma once

#include <cstddef>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "rendezvous/store/key_table.h"
#include "rendezvous/store/reply_buffer.h"
#include "rendezvous/store/store_protocol.h"
#include "rendezvous/store/store_value.h"
#include "rendezvous/store/waiting_lines.h"

namespace muster::rendezvous {

/// A value may grow beyond kMaxValueBytes by APPEND (as with libuv's server), but not beyond this:
/// sizes inside the store are 32 bits.
inline constexpr size_t kMaxAppendedValueBytes = 1U << 30;

/// Single-threaded. Each command is applied whole or not at all.
class Store {
 public:
  /// `meter` is borrowed for the life of the store. Its limit bounds everything clients can make us
  /// keep.
  explicit Store(MemoryMeter& meter) : meter_(meter), table_(meter), lines_(meter) {}
  ~Store() { clear(); }
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Applies `command` of `client` and appends its answer, if it has one now, to `reply`. Returns
  /// the clients whose WAIT or BARRIER it ended, in the order in which they began to wait: each is
  /// owed the one byte kStopWaiting, behind everything else (`client` may be among them). The span
  /// is valid until the next call. After an error no key and no queue has changed; the connection
  /// must be closed. kLimit: no room; the text names limit and value. kProtocol: ADD or BARRIER on
  /// a value that is no number, or an op we do not serve. Cost: O(bytes of request and answer),
  /// plus O(woken).
  Result<std::span<const ClientId>> apply(ClientId client, const Command& command,
                                          ReplyBuffer& reply);

  /// The client is gone: ends its waiting. Returns clients that this wakes (the next popper in
  /// line, when the gone client was woken for a queue and never popped), as apply() does.
  std::span<const ClientId> forget(ClientId client);

  /// Back to empty: keys, queues and waiters. Nobody is woken.
  void clear();

  [[nodiscard]] size_t key_count() const { return table_.size(); }
  [[nodiscard]] size_t waiting_clients() const { return lines_.waiting_clients(); }

 private:
  using Queue = std::list<Value>;

  [[nodiscard]] size_t growth_bytes(const Command& command) const;
  Status run(ClientId client, const Command& command, ReplyBuffer& reply);

  void set(std::string_view key, std::string_view value);
  void compare_set(const Command& command, ReplyBuffer& reply);
  void get(std::string_view key, ReplyBuffer& reply) const;
  Result<int64_t> count_up(const Command& command, int64_t delta);
  Status add(const Command& command, ReplyBuffer& reply);
  Status append(const Command& command);
  void multi_set(const EncodedStrings& pairs);
  void list_keys(ReplyBuffer& reply) const;
  Status barrier(ClientId client, const Command& command, ReplyBuffer& reply);
  void wait_for_keys(ClientId client, const EncodedStrings& keys, ReplyBuffer& reply);
  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] bool has_all(const EncodedStrings& keys) const;
  void wake_line(std::string_view key);

  void queue_push(const Command& command);
  void queue_pop(std::string_view key, ReplyBuffer& reply);
  [[nodiscard]] int64_t queue_length(std::string_view key) const;
  void drop_front(Queue& queue);
  void wake_popper(const std::string& queue);
  void end_pop_turn(ClientId client, bool popped);

  MemoryMeter& meter_;
  KeyTable table_;
  WaitingLines lines_;
  ByKey<Queue> queues_;                                  // no empty ones
  std::unordered_map<ClientId, std::string> pop_turns_;  // woken for this queue, not popped yet
  std::vector<ClientId> woken_;
};

}  // namespace muster::rendezvous
