// Whoever reaches the job port can send anything to XGBoost's tracker: cutting the input elsewhere
// changes nothing, what was printed can be shown, and a server that hears it keeps serving.
#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/log.h"
#include "base/text.h"
#include "rendezvous/xgboost/tracker_server.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_network.h"
#include "tests/support/tracker_wire.h"

namespace {

using namespace muster;
using namespace muster::rendezvous;
namespace wire = muster::testing::tracker_wire;

struct Heard {
  std::vector<size_t> kinds;
  std::string words;
  friend bool operator==(const Heard&, const Heard&) = default;
};

void note(const TrackerMessage& message, Heard& heard) {
  heard.kinds.push_back(message.index());
  if (const auto* header = std::get_if<tracker::Header>(&message)) {
    MUSTER_CHECK(header->task_id.size() <= kMaxTaskIdBytes);
    MUSTER_CHECK(header->rank >= -1 && header->rank < kMaxTrackerWorkers);
    heard.words += header->task_id;
  }
  if (const auto* print = std::get_if<tracker::Print>(&message)) {
    MUSTER_CHECK(printable_utf8(print->text) == print->text);
    heard.words += print->text;
  }
  if (const auto* good = std::get_if<tracker::GoodLinks>(&message))
    MUSTER_CHECK(good->ranks.size() <= kMaxGoodLinks);
}

Heard decoded(std::string_view bytes, size_t piece) {
  TrackerDecoder decoder;
  Heard heard;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    decoder.append(bytes.substr(at, piece));
    for (;;) {
      auto message = decoder.next();
      if (!message) {
        heard.words += "!" + message.error().text;
        return heard;
      }
      if (!*message) break;
      note(**message, heard);
    }
  }
  return heard;
}

// Three connections at once, which the input is dealt to; then a group that must form all the same.
class Server {
 public:
  void run(std::string_view bytes) {
    server_.begin(2);
    for (size_t at = 0; at < bytes.size(); at += 1 + kPiece) {
      const auto number = static_cast<uint8_t>(bytes[at]);
      UniqueFd& client = clients_[number % clients_.size()];
      if (!client.is_open() || number >= 250) client = connect("");
      const auto piece = bytes.substr(at + 1, kPiece);
      (void)send(client.get(), piece.data(), piece.size(), MSG_NOSIGNAL);
      turn();
      if (number == 249) (void)server_.worker_ended(1, false);
    }
    for (UniqueFd& client : clients_) client.reset();
    turn();
    MUSTER_CHECK(server_.clients() == 0);
    server_.begin(2);
    const UniqueFd first = connect(wire::json_start("0", 5000, 0));
    const UniqueFd second = connect(wire::json_start("1", 5001, 0));
    char answer[256];
    const ssize_t size = recv(first.get(), answer, sizeof answer, 0);
    MUSTER_CHECK(
        size > 0 &&
        std::string_view(answer, static_cast<size_t>(size)).find(R"("port":5001,"rank":1)") !=
            std::string_view::npos);
  }

 private:
  static constexpr size_t kPiece = 24;

  UniqueFd connect(std::string_view first_bytes) {
    int ends[2] = {-1, -1};
    MUSTER_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    server_.adopt({UniqueFd(ends[1]), std::string(first_bytes)});
    turn();
    return UniqueFd(ends[0]);
  }
  void turn() { MUSTER_CHECK(loop_->run_until_idle()); }

  muster::testing::FakeClock clock_;
  muster::testing::FakeNetwork network_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  TrackerServer server_{*loop_,
                        network_,
                        {.print = [](const std::string&) {},
                         .failed = [](const TrackerFailure&) {},
                         .host = [](const std::string&, const std::string&) { return "h"; }}};
  std::vector<UniqueFd> clients_ = std::vector<UniqueFd>(3);
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Heard whole = decoded(bytes, size + 1);
  MUSTER_CHECK(decoded(bytes, 7) == whole);
  MUSTER_CHECK(decoded(wire::kMagic + std::string(bytes), 5) ==
               decoded(wire::kMagic + std::string(bytes), size + 5));
  log::set_sink([](std::string_view) {});
  Server().run(bytes);
  log::set_sink({});
  return 0;
}
