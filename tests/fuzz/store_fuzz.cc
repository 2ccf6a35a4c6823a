// The store's state under any sequence of commands: it agrees with a simple model of keys, queues
// and waits, answers each client exactly what it is owed, and its memory stays counted and bounded.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "rendezvous/store/store.h"

namespace {

using namespace muster::rendezvous;

constexpr size_t kMemoryBytes = 8192;  // so that the limit is met often
constexpr ClientId kClients = 4;
constexpr int kSteps = 60;
constexpr std::string_view kKeys[] = {"", "a", "b", "a longer key than most"};

// Reads numbers from the input and, when it is used up, from a generator that it seeds: a short
// input is a long conversation too.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {
    for (size_t i = 0; i < size; ++i) random_.seed(random_() + data[i]);
  }
  uint8_t byte() { return at_ < size_ ? data_[at_++] : static_cast<uint8_t>(random_() >> 8); }
  std::string_view key() { return kKeys[byte() % std::size(kKeys)]; }
  std::string value() {
    const uint8_t shape = byte();
    if (shape < 128) return std::to_string(static_cast<int8_t>(byte()));
    return std::string(size_t{byte()} * (shape % 16), static_cast<char>('a' + shape % 16));
  }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
  std::minstd_rand random_;
};

std::string encode_list(const std::vector<std::string>& strings) {
  std::string bytes;
  for (const std::string& text : strings) {
    const uint64_t size = text.size();
    bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
    bytes += text;
  }
  return bytes;
}

class Model {
 public:
  // Returns who must be woken by a write to `key`, in any order.
  std::vector<ClientId> write(const std::string& key, const std::string& value) {
    keys_[key] = value;
    return come(key);
  }
  std::vector<ClientId> come(const std::string& key) {
    std::vector<ClientId> woken;
    for (ClientId client = 0; client < kClients; ++client) {
      if (std::erase(waits_[client], key) > 0 && waits_[client].empty()) woken.push_back(client);
    }
    return woken;
  }
  std::map<std::string, std::string> keys_;
  std::map<std::string, std::deque<std::string>> queues_;
  std::map<ClientId, std::vector<std::string>> waits_;  // keys that have not come
};

class Checker {
 public:
  void run(Input& input) {
    for (int i = 0; i < kSteps; ++i) {
      step(input);
      check_memory();
    }
    store_.clear();
    MUSTER_CHECK(meter_.used_bytes() == 0);
  }

 private:
  void step(Input& input) {
    const ClientId client = input.byte() % kClients;
    const uint8_t choice = input.byte() % 22;
    if (choice == 20) return forget(client);
    Command command;
    command.op = static_cast<Op>(choice % 20);
    const std::string key(input.key());
    const std::string value = input.value();
    const std::string expected = input.value();
    std::vector<std::string> strings;
    for (uint8_t i = input.byte() % 4; i > 0; --i) strings.emplace_back(input.key());
    if (command.op == Op::kMultiSet && strings.size() % 2 == 1) strings.pop_back();
    const std::string encoded = encode_list(strings);
    command.key = key;
    command.value = value;
    command.expected = expected;
    command.number = int64_t{input.byte()} - 128;
    command.strings = EncodedStrings(strings.size(), encoded);
    command.encoded_bytes = 40 + key.size() + value.size() + expected.size() + encoded.size();
    apply(client, command, strings);
  }

  void apply(ClientId client, const Command& command, const std::vector<std::string>& strings) {
    ReplyBuffer reply(meter_);
    const auto woken = store_.apply(client, command, reply);
    if (!woken) {
      MUSTER_CHECK(reply.empty());
      return forget(client);  // the connection is closed
    }
    const std::string answer = read(reply);
    std::vector<ClientId> expected_wakes = follow(client, command, strings, answer);
    std::vector<ClientId> wakes(woken->begin(), woken->end());
    std::sort(wakes.begin(), wakes.end());
    if (command.op == Op::kQueuePush || command.op == Op::kCancelWait) {
      check_popper(wakes);
    } else {
      MUSTER_CHECK(wakes == expected_wakes);
    }
    MUSTER_CHECK(store_.key_count() == model_.keys_.size());
  }

  // Applies the command to the model, checks the answer, returns who must wake, sorted.
  std::vector<ClientId> follow(ClientId client, const Command& command,
                               const std::vector<std::string>& strings, const std::string& answer) {
    const std::string key(command.key);
    const std::string value(command.value);
    switch (command.op) {
      case Op::kSet:
        MUSTER_CHECK(answer.empty());
        return model_.write(key, value);
      case Op::kAppend:
        MUSTER_CHECK(answer.empty());
        return model_.write(key, model_.keys_[key] + value);
      case Op::kGet:
        MUSTER_CHECK(answer == encode_list({value_of(key)}));
        return {};
      case Op::kMultiGet: {
        std::vector<std::string> values;
        for (const auto& name : strings) values.push_back(value_of(name));
        MUSTER_CHECK(answer == encode_list(values));
        return {};
      }
      case Op::kAdd: {
        MUSTER_CHECK(answer.size() == sizeof(int64_t));
        int64_t sum = 0;
        answer.copy(reinterpret_cast<char*>(&sum), sizeof sum);
        return model_.write(key, std::to_string(sum));
      }
      case Op::kCompareSet: {
        const bool known = model_.keys_.contains(key);
        if (value_of(key) != command.expected) {
          MUSTER_CHECK(answer ==
                       encode_list({known ? value_of(key) : std::string(command.expected)}));
          return {};
        }
        MUSTER_CHECK(answer == encode_list({value}));
        return model_.write(key, value);
      }
      case Op::kMultiSet: {
        std::vector<ClientId> woken;
        for (size_t i = 0; i + 1 < strings.size(); i += 2) {
          for (ClientId one : model_.write(strings[i], strings[i + 1])) woken.push_back(one);
        }
        std::sort(woken.begin(), woken.end());
        return woken;
      }
      case Op::kDeleteKey:
        MUSTER_CHECK(answer.size() == 8 && answer[0] == (model_.keys_.erase(key) > 0 ? 1 : 0));
        return {};
      case Op::kWait:
        model_.waits_[client].clear();
        for (const auto& name : strings) {
          if (!has(name)) model_.waits_[client].push_back(name);
        }
        MUSTER_CHECK(answer == (model_.waits_[client].empty() ? std::string(1, '\0') : ""));
        return {};
      case Op::kBarrier: {
        const bool opened = !answer.empty();
        MUSTER_CHECK(!opened || answer == std::string(1, '\0'));
        model_.keys_[key] = stored(key);
        if (opened) return model_.come(key);
        model_.waits_[client] = {key};
        return {};
      }
      case Op::kCancelWait:
        MUSTER_CHECK(answer == "\x01");
        model_.waits_[client].clear();
        return {};
      case Op::kQueuePush:
      case Op::kQueuePop:
      case Op::kQueueLength:
        follow_queue(command.op, model_.queues_[key], value, answer);
        return {};
      case Op::kCheck:
        MUSTER_CHECK(answer.size() == 1 &&
                     (answer[0] == 0) == std::all_of(strings.begin(), strings.end(), has_));
        return {};
      case Op::kGetNumKeys:
        MUSTER_CHECK(answer.size() == 8);
        return {};
      case Op::kPing:
        MUSTER_CHECK(answer.size() == 4);
        return {};
      case Op::kListKeys:
        MUSTER_CHECK(answer.size() >= 8 + 8 * model_.keys_.size());
        return {};
      case Op::kValidate:
      case Op::kWatchKey:
        MUSTER_CHECK(command.op != Op::kValidate && command.op != Op::kWatchKey);  // refused above
    }
    return {};
  }

  static void follow_queue(Op op, std::deque<std::string>& queue, const std::string& value,
                           const std::string& answer) {
    if (op == Op::kQueuePush) {
      MUSTER_CHECK(answer.empty());
      queue.push_back(value);
      return;
    }
    const uint64_t length = queue.size();
    std::string expected(reinterpret_cast<const char*>(&length), sizeof length);
    if (op == Op::kQueuePop && length > 0) {
      expected += encode_list({queue.front()});
      queue.pop_front();
    }
    MUSTER_CHECK(answer == expected);
  }

  // A push wakes at most one, who waited for this; which one is the store's choice.
  void check_popper(const std::vector<ClientId>& wakes) {
    MUSTER_CHECK(wakes.size() <= 1);
    for (ClientId client = 0; client < kClients; ++client) {
      auto& waits = model_.waits_[client];
      const bool woken = std::find(wakes.begin(), wakes.end(), client) != wakes.end();
      MUSTER_CHECK(!woken || !waits.empty());
      if (woken) waits.clear();
    }
    resynchronize();
  }

  // The store may have credited a push to one who waits for more; the model cannot know to whom, so
  // those waits are ended.
  void resynchronize() {
    for (ClientId client = 0; client < kClients; ++client) {
      const auto& waits = model_.waits_[client];
      if (std::none_of(waits.begin(), waits.end(), queued_)) continue;
      Command cancel;
      cancel.op = Op::kCancelWait;
      ReplyBuffer reply(meter_);
      const auto woken = store_.apply(client, cancel, reply);
      MUSTER_CHECK(woken);
      const std::vector<ClientId> others(woken->begin(), woken->end());
      model_.waits_[client].clear();
      for (ClientId other : others) model_.waits_[other].clear();
    }
  }

  void forget(ClientId client) {
    const auto woken = store_.forget(client);
    const std::vector<ClientId> wakes(woken.begin(), woken.end());
    model_.waits_[client].clear();
    check_popper(wakes);
  }

  void check_memory() const {
    MUSTER_CHECK(meter_.used_bytes() <=
                 kMemoryBytes + 4096);  // the first hash table is not asked for
    size_t content = 0;
    for (const auto& [key, value] : model_.keys_) content += key.size() + value.size();
    for (const auto& [key, queue] : model_.queues_) {
      for (const auto& item : queue) content += item.size();
    }
    MUSTER_CHECK(meter_.used_bytes() >= content);
  }

  std::string read(ReplyBuffer& reply) {
    std::string bytes;
    iovec pieces[4];
    while (!reply.empty()) {
      const size_t used = reply.gather(pieces);
      size_t total = 0;
      for (size_t i = 0; i < used; ++i) {
        bytes.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
        total += pieces[i].iov_len;
      }
      reply.consume(total);
    }
    return bytes;
  }

  std::string value_of(const std::string& key) const {
    const auto found = model_.keys_.find(key);
    return found == model_.keys_.end() ? "" : found->second;
  }
  // What the store itself holds, for counters that the model does not compute.
  std::string stored(const std::string& key) {
    Command get;
    get.op = Op::kGet;
    get.key = key;
    ReplyBuffer reply(meter_);
    MUSTER_CHECK(store_.apply(kClients, get, reply));
    return read(reply).substr(sizeof(uint64_t));
  }
  bool queued(const std::string& key) const {
    const auto found = model_.queues_.find(key);
    return found != model_.queues_.end() && !found->second.empty();
  }
  bool has(const std::string& key) const { return model_.keys_.contains(key) || queued(key); }

  MemoryMeter meter_{kMemoryBytes};
  Store store_{meter_};
  Model model_;
  std::function<bool(const std::string&)> queued_ = [this](const std::string& key) {
    return queued(key);
  };
  std::function<bool(const std::string&)> has_ = [this](const std::string& key) {
    return has(key);
  };
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  Checker checker;
  checker.run(input);
  return 0;
}
