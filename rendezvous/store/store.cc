#include "rendezvous/store/store.h"

#include <array>
#include <charconv>
#include <optional>

namespace muster::rendezvous {

namespace {

// What the containers cost per element, for the meter: node, hash bucket and allocator, rounded up.
constexpr size_t kQueueBytes = 128;
constexpr size_t kQueueItemBytes = 48;
constexpr size_t kPopTurnBytes = 96;
constexpr size_t kNumberBytes = 24;  // the longest 64-bit decimal
constexpr size_t kRoomPerByte = 8;   // a Value keeps room for an eighth more

/// How PyTorch's servers read a counter: white space, a sign, digits, then whatever. All of them
/// close the connection for a value without digits or beyond 64 bits.
std::optional<int64_t> parse_counter(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t\n\v\f\r");
  if (start == std::string_view::npos) return std::nullopt;
  text.remove_prefix(start);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

/// Wraps around at 2^63, as theirs do.
int64_t add_wrapping(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

/// Keys and values as they came, the slack of a Value, and what the containers add.
size_t cost_of_keeping(const Command& command) {
  constexpr size_t kPerCommand = 512;
  constexpr size_t kPerString = 320;  // a waiter in a line of its own is the dearest
  return command.encoded_bytes + command.encoded_bytes / kRoomPerByte + kPerCommand +
         command.strings.size() * kPerString;
}

Error not_a_number(Op op, std::string_view key) {
  return {Code::kProtocol, 0,
          std::string(to_string(op)) + " on key '" + std::string(key) +
              "', whose value is no 64-bit number"};
}

}  // namespace

Result<std::span<const ClientId>> Store::apply(ClientId client, const Command& command,
                                               ReplyBuffer& reply) {
  woken_.clear();
  const size_t growth = growth_bytes(command);
  if (growth > 0 && !meter_.fits(growth)) {
    return Error{Code::kLimit, 0,
                 std::string(to_string(command.op)) + " needs " + std::to_string(growth) +
                     " bytes more than the " + std::to_string(meter_.used_bytes()) +
                     " in use; the store's memory limit is " +
                     std::to_string(meter_.limit_bytes())};
  }
  if (auto ran = run(client, command, reply); !ran) return std::move(ran).error();
  const bool popped = command.op == Op::kQueuePop;
  if (popped || command.op == Op::kCancelWait) end_pop_turn(client, popped);
  return std::span<const ClientId>(woken_);
}

// An upper bound of what the command will take from the meter, so that it is refused before it
// begins. Answers of one value are not counted: whoever sends them holds back at a far lower limit.
size_t Store::growth_bytes(const Command& command) const {
  switch (command.op) {
    case Op::kSet:
    case Op::kCompareSet:
    case Op::kAdd:
    case Op::kWait:
    case Op::kMultiSet:
    case Op::kQueuePush:
    case Op::kBarrier:
      return cost_of_keeping(command);
    case Op::kAppend: {
      const Value* old = table_.find(command.key);
      return cost_of_keeping(command) + (old == nullptr ? 0 : old->size() / kRoomPerByte);
    }
    case Op::kMultiGet: {
      size_t bytes = 0;
      for (const std::string_view key : command.strings) {
        const Value* value = table_.find(key);
        const bool copied = value != nullptr && value->size() < kSharedValueBytes;
        bytes += sizeof(uint64_t) + (copied ? value->size() : 0);
      }
      return bytes;
    }
    case Op::kListKeys: {
      size_t bytes = sizeof(uint64_t);
      table_.for_each_key(
          [&bytes](std::string_view key) { bytes += sizeof(uint64_t) + key.size(); });
      return bytes;
    }
    case Op::kValidate:
    case Op::kGet:
    case Op::kCheck:
    case Op::kGetNumKeys:
    case Op::kDeleteKey:
    case Op::kCancelWait:
    case Op::kPing:
    case Op::kQueuePop:
    case Op::kQueueLength:
    case Op::kWatchKey:
      return 0;
  }
  return 0;
}

Status Store::run(ClientId client, const Command& command, ReplyBuffer& reply) {
  switch (command.op) {
    case Op::kSet:
      set(command.key, command.value);
      return {};
    case Op::kCompareSet:
      compare_set(command, reply);
      return {};
    case Op::kGet:
      get(command.key, reply);
      return {};
    case Op::kAdd:
      return add(command, reply);
    case Op::kCheck:
      reply.append_u8(has_all(command.strings) ? kReady : kNotReady);
      return {};
    case Op::kWait:
      wait_for_keys(client, command.strings, reply);
      return {};
    case Op::kGetNumKeys:
      reply.append_i64(static_cast<int64_t>(table_.size()));
      return {};
    case Op::kDeleteKey:
      reply.append_i64(table_.erase(command.key) ? 1 : 0);
      return {};
    case Op::kAppend:
      return append(command);
    case Op::kMultiGet:
      for (const std::string_view key : command.strings) get(key, reply);
      return {};
    case Op::kMultiSet:
      multi_set(command.strings);
      return {};
    case Op::kCancelWait:
      lines_.leave(client);
      reply.append_u8(kWaitCanceled);
      return {};
    case Op::kPing:
      reply.append_u32(static_cast<uint32_t>(command.number));
      return {};
    case Op::kQueuePush:
      queue_push(command);
      return {};
    case Op::kQueuePop:
      queue_pop(command.key, reply);
      return {};
    case Op::kQueueLength:
      reply.append_i64(queue_length(command.key));
      return {};
    case Op::kListKeys:
      list_keys(reply);
      return {};
    case Op::kBarrier:
      return barrier(client, command, reply);
    case Op::kValidate:
    case Op::kWatchKey:
      break;
  }
  return Error{Code::kProtocol, 0, std::string(to_string(command.op)) + " is not served"};
}

void Store::set(std::string_view key, std::string_view value) {
  table_.find_or_create(key).set(value, meter_);
  wake_line(key);
}

// The answer is the value afterwards, except where nothing is stored although nothing was there:
// then it is the value that was expected (PyTorch cannot say "absent").
void Store::compare_set(const Command& command, ReplyBuffer& reply) {
  Value* current = table_.find(command.key);
  const bool matches =
      current == nullptr ? command.expected.empty() : current->view() == command.expected;
  if (!matches && current == nullptr) return reply.append_vector(command.expected);
  if (matches) set(command.key, command.value);
  get(command.key, reply);
}

void Store::get(std::string_view key, ReplyBuffer& reply) const {
  const Value* value = table_.find(key);
  if (value == nullptr) return reply.append_vector({});
  reply.append_value(*value);
}

Result<int64_t> Store::count_up(const Command& command, int64_t delta) {
  Value* value = table_.find(command.key);
  const auto before = value == nullptr ? 0 : parse_counter(value->view());
  if (!before) return not_a_number(command.op, command.key);
  const int64_t after = add_wrapping(*before, delta);
  std::array<char, kNumberBytes> text;
  const auto written = std::to_chars(text.data(), text.data() + text.size(), after);
  if (value == nullptr) value = &table_.find_or_create(command.key);
  value->set({text.data(), static_cast<size_t>(written.ptr - text.data())}, meter_);
  return after;
}

Status Store::add(const Command& command, ReplyBuffer& reply) {
  const auto sum = count_up(command, command.number);
  if (!sum) return Error(sum.error());
  reply.append_i64(*sum);
  wake_line(command.key);
  return {};
}

Status Store::append(const Command& command) {
  const Value* current = table_.find(command.key);
  const size_t size = command.value.size() + (current == nullptr ? 0 : current->size());
  if (size > kMaxAppendedValueBytes) {
    return Error{Code::kLimit, 0,
                 "APPEND makes a value of " + std::to_string(size) + " bytes; the limit is " +
                     std::to_string(kMaxAppendedValueBytes)};
  }
  table_.find_or_create(command.key).append(command.value, meter_);
  wake_line(command.key);
  return {};
}

void Store::multi_set(const EncodedStrings& pairs) {
  for (auto part = pairs.begin(); part != pairs.end(); ++part) {
    const std::string_view key = *part;
    set(key, *++part);
  }
}

void Store::list_keys(ReplyBuffer& reply) const {
  reply.append_i64(static_cast<int64_t>(table_.size()));
  table_.for_each_key([&reply](std::string_view key) { reply.append_vector(key); });
}

// The counter is an ordinary key and is never reset. A call that does not open the barrier wakes
// nobody, not even a plain WAIT for the key it may have created: libuv's server behaves so.
Status Store::barrier(ClientId client, const Command& command, ReplyBuffer& reply) {
  const auto arrived = count_up(command, 1);
  if (!arrived) return Error(arrived.error());
  if (*arrived >= command.number) {
    reply.append_u8(kStopWaiting);
    wake_line(command.key);
    return {};
  }
  lines_.leave(client);
  lines_.join(client, command.key);
  return {};
}

void Store::queue_push(const Command& command) {
  auto found = queues_.find(command.key);
  if (found == queues_.end()) {
    found = queues_.try_emplace(std::string(command.key)).first;
    meter_.take(kQueueBytes + command.key.size());
  }
  found->second.push_back(Value::of(command.value, meter_));
  meter_.take(kQueueItemBytes);
  wake_popper(found->first);
}

void Store::queue_pop(std::string_view key, ReplyBuffer& reply) {
  reply.append_i64(queue_length(key));
  const auto found = queues_.find(key);
  if (found == queues_.end()) return;
  reply.append_value(found->second.front());
  drop_front(found->second);
  if (!found->second.empty()) return;
  meter_.give_back(kQueueBytes + key.size());
  queues_.erase(found);
}

void Store::drop_front(Queue& queue) {
  queue.front().reset(meter_);
  queue.pop_front();
  meter_.give_back(kQueueItemBytes);
}

int64_t Store::queue_length(std::string_view key) const {
  const auto found = queues_.find(key);
  return found == queues_.end() ? 0 : static_cast<int64_t>(found->second.size());
}

// A queue with something in it counts as present, for a blocking pop is WAIT and then QUEUE_POP.
bool Store::has(std::string_view key) const {
  return table_.find(key) != nullptr || (!queues_.empty() && queues_.contains(key));
}

bool Store::has_all(const EncodedStrings& keys) const {
  for (const std::string_view key : keys) {
    if (!has(key)) return false;
  }
  return true;
}

// Only the later of two WAITs counts: the protocol has no way to tell their answers apart.
void Store::wait_for_keys(ClientId client, const EncodedStrings& keys, ReplyBuffer& reply) {
  lines_.leave(client);
  if (has_all(keys)) return reply.append_u8(kStopWaiting);
  for (const std::string_view key : keys) {
    if (!has(key)) lines_.join(client, key);
  }
}

void Store::wake_line(std::string_view key) {
  if (lines_.waiting_clients() == 0) return;
  const auto woken = lines_.wake_all(key);
  woken_.insert(woken_.end(), woken.begin(), woken.end());
}

void Store::wake_popper(const std::string& queue) {
  for (const ClientId client : lines_.wake_one(queue)) {
    woken_.push_back(client);
    end_pop_turn(client, true);
    pop_turns_.emplace(client, queue);
    meter_.take(kPopTurnBytes + queue.size());
  }
}

// A popper that was woken and then cancels or goes away instead of popping would take the push with
// it, while others sleep in front of a full queue: the next in line gets its turn. libuv's server
// loses it.
void Store::end_pop_turn(ClientId client, bool popped) {
  const auto turn = pop_turns_.find(client);
  if (turn == pop_turns_.end()) return;
  const std::string queue = std::move(turn->second);
  pop_turns_.erase(turn);
  meter_.give_back(kPopTurnBytes + queue.size());
  if (!popped && queue_length(queue) > 0) wake_popper(queue);
}

std::span<const ClientId> Store::forget(ClientId client) {
  woken_.clear();
  lines_.leave(client);
  end_pop_turn(client, false);
  return woken_;
}

void Store::clear() {
  table_.clear();
  lines_.clear();
  for (auto& [key, queue] : queues_) {
    while (!queue.empty()) drop_front(queue);
    meter_.give_back(kQueueBytes + key.size());
  }
  queues_.clear();
  while (!pop_turns_.empty()) end_pop_turn(pop_turns_.begin()->first, true);
  woken_.clear();
}

}  // namespace muster::rendezvous
