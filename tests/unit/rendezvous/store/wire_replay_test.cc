// Replays recorded conversations of real PyTorch clients (tests/data/wire, format in its README)
// against our store: whole chunks as they came, and byte by byte.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "rendezvous/store/encoded_strings.h"
#include "rendezvous/store/store_server.h"
#include "tests/support/fake_clock.h"

namespace muster::rendezvous {
namespace {

struct Event {
  std::string what;  // "open", "close", ">" or "<"
  int connection = 0;
  std::string bytes;
  std::string line;
};

std::string from_hex(const std::string& text) {
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::vector<Event> read_recording(const std::filesystem::path& path) {
  std::vector<Event> events;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string first, second, third;
    words >> first >> second >> third;
    const bool named = first == "open" || first == "close";
    events.push_back({named ? first : second, std::stoi(named ? second : first),
                      named ? third : from_hex(third), line});
  }
  return events;
}

// The one answer without an order: sorted, it can be compared.
std::string sort_listed_keys(const std::string& answer) {
  std::multiset<std::string> keys;
  uint64_t count = 0;
  answer.copy(reinterpret_cast<char*>(&count), sizeof count);
  for (const auto key : EncodedStrings(count, std::string_view(answer).substr(sizeof count))) {
    keys.emplace(key);
  }
  std::string sorted;
  for (const auto& key : keys) sorted += key + "\n";
  return sorted;
}

class Replay {
 public:
  explicit Replay(size_t chunk_bytes) : chunk_bytes_(chunk_bytes) {}

  // True when everything so far was answered as recorded.
  void play(const std::vector<Event>& events) {
    for (size_t i = 0; i < events.size(); ++i) {
      SCOPED_TRACE(events[i].line);
      act(events[i]);
      std::map<int, std::string> expected;
      while (i + 1 < events.size() && events[i + 1].what == "<") {
        ++i;
        expected[events[i].connection] += events[i].bytes;
      }
      const bool lists_keys = events[i].what == "<" && asked_ == "\x11";
      auto actual = collect();
      if (lists_keys) {
        for (auto* answers : {&expected, &actual}) {
          for (auto& [connection, bytes] : *answers) bytes = sort_listed_keys(bytes);
        }
      }
      ASSERT_EQ(actual, expected);
    }
  }

  [[nodiscard]] StoreCounters counters() const { return server_.counters(); }

 private:
  void act(const Event& event) {
    asked_.clear();
    if (event.what == "open") {
      int ends[2] = {-1, -1};
      ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
      clients_[event.connection] = UniqueFd(ends[0]);
      server_.adopt(UniqueFd(ends[1]), "");
    } else if (event.what == "close") {
      ASSERT_EQ(event.bytes, "client");
      clients_.erase(event.connection);
      ASSERT_TRUE(loop_->run_until_idle());
    } else {
      asked_ = event.bytes;
      for (size_t at = 0; at < event.bytes.size(); at += chunk_bytes_) {
        const std::string part = event.bytes.substr(at, chunk_bytes_);
        ASSERT_EQ(send(clients_[event.connection].get(), part.data(), part.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(part.size()));
        ASSERT_TRUE(loop_->run_until_idle());
      }
    }
  }

  std::map<int, std::string> collect() {
    std::map<int, std::string> answers;
    std::string buffer(1 << 16, '\0');
    for (const auto& [number, client] : clients_) {
      const ssize_t got = recv(client.get(), buffer.data(), buffer.size(), 0);
      EXPECT_NE(got, 0) << "connection " << number << " was closed";
      if (got > 0) answers[number] = buffer.substr(0, static_cast<size_t>(got));
    }
    return answers;
  }

  size_t chunk_bytes_;
  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  StoreServer server_{*loop_};
  std::map<int, UniqueFd> clients_;
  std::string asked_;
};

std::vector<std::string> recordings() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(MUSTER_TEST_DATA "/wire")) {
    if (entry.path().extension() == ".txt") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class WireReplay : public ::testing::TestWithParam<std::string> {
 protected:
  std::vector<Event> events_ =
      read_recording(std::filesystem::path(MUSTER_TEST_DATA "/wire") / (GetParam() + ".txt"));
};

TEST_P(WireReplay, AnswersAsPyTorchsOwnServerDid) {
  ASSERT_GT(events_.size(), 50U);
  Replay replay(SIZE_MAX);
  replay.play(events_);
  EXPECT_EQ(replay.counters().connections, 0U);
  EXPECT_EQ(replay.counters().dropped, 0U);
}

TEST_P(WireReplay, AnswersTheSameByteByByte) {
  Replay replay(1);
  replay.play(events_);
  EXPECT_EQ(replay.counters().dropped, 0U);
}

std::string test_name(const ::testing::TestParamInfo<std::string>& recording) {
  std::string name = recording.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Recordings, WireReplay, ::testing::ValuesIn(recordings()), test_name);

}  // namespace
}  // namespace muster::rendezvous
