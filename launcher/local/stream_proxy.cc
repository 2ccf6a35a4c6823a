#include "launcher/local/stream_proxy.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <functional>
#include <string>
#include <utility>

namespace muster::launcher {

// Two sockets; what one sends, the other gets.
class StreamProxy::Pair {
 public:
  Pair(Loop& loop, UniqueFd client, UniqueFd server, std::function<void()> ended)
      : loop_(loop),
        ends_{End{std::move(client)}, End{std::move(server)}},
        ended_(std::move(ended)) {}
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  ~Pair() = default;

  Status watch() {
    for (const size_t side : {size_t{0}, size_t{1}}) {
      auto watch = loop_.watch(ends_[side].fd.get(), Interest::kRead,
                               [this, side](Ready ready) { on_ready(side, ready); });
      if (!watch) return std::move(watch).error();
      ends_[side].watch = std::move(*watch);
    }
    update();
    return {};
  }

  // Not even the end of a connection is seen while it is cut, and a watch always tells that.
  Status set_cut(bool cut) {
    if (over_) return {};
    if (!cut) return watch();
    for (End& each : ends_) each.watch.reset();
    return {};
  }
  [[nodiscard]] bool is_over() const { return over_; }

 private:
  struct End {
    UniqueFd fd;
    Watch watch = {};
    std::string unsent = {};  // to this end
    bool read_all = false;    // it has closed its direction
    bool told_end = false;    // that the other one has
  };

  void on_ready(size_t side, Ready ready) {
    if (over_) return;
    if (ready.readable) receive(side);
    if (ready.writable) send_to(side);
    update();
  }

  void receive(size_t side) {
    End& from = ends_[side];
    std::string& buffer = ends_[1 - side].unsent;
    if (from.read_all || !buffer.empty()) return;
    buffer.resize(kProxyBufferBytes);
    const ssize_t got = read(from.fd.get(), buffer.data(), buffer.size());
    buffer.resize(got > 0 ? static_cast<size_t>(got) : 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got < 0) return end();
    if (got == 0) from.read_all = true;
    send_to(1 - side);
  }

  void send_to(size_t side) {
    End& to = ends_[side];
    if (!send_some(to.fd.get(), to.unsent)) return end();
    if (to.unsent.empty() && ends_[1 - side].read_all && !std::exchange(to.told_end, true)) {
      // Gone already is as good.
      (void)shutdown(to.fd.get(), SHUT_WR);
      if (ends_[1 - side].told_end) end();
    }
  }

  void update() {
    if (over_) return;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const bool reads = !ends_[side].read_all && ends_[1 - side].unsent.empty();
      const bool writes = !ends_[side].unsent.empty();
      ends_[side].watch.set_interest(reads && writes ? Interest::kReadWrite
                                     : reads         ? Interest::kRead
                                     : writes        ? Interest::kWrite
                                                     : Interest::kNothing);
    }
  }

  void end() {
    if (std::exchange(over_, true)) return;
    for (End& each : ends_) each.watch.reset();
    ended_();
  }

  Loop& loop_;
  std::array<End, 2> ends_;
  std::function<void()> ended_;
  bool over_ = false;
};

StreamProxy::StreamProxy(Loop& loop, Network& network, Address from, Address to)
    : loop_(loop), network_(network), from_(std::move(from)), to_(std::move(to)) {}

StreamProxy::~StreamProxy() = default;

Status StreamProxy::set_alive(bool alive) {
  alive_ = alive;
  return listen();
}

Status StreamProxy::set_cut(bool cut) {
  if (cut == cut_) return {};
  cut_ = cut;
  for (const auto& pair : pairs_) MUSTER_RETURN_IF_ERROR(pair->set_cut(cut));
  return listen();
}

// Behind a cut nobody is refused either: who dials is taken into the kernel's queue and waits.
Status StreamProxy::listen() {
  if (!alive_ && !cut_) {
    watch_.reset();
    listener_.reset();
    return {};
  }
  if (!listener_.is_open()) {
    auto listener = network_.listen(from_);
    if (!listener) return std::move(listener).error().with_context(from_.to_string());
    listener_ = std::move(*listener);
  }
  watch_.reset();
  if (cut_) return {};
  auto watch = loop_.watch(listener_.get(), Interest::kRead, [this](Ready) { accept_all(); });
  if (!watch) return std::move(watch).error();
  watch_ = std::move(*watch);
  return {};
}

void StreamProxy::accept_all() {
  for (;;) {
    auto client = network_.accept(listener_.get());
    if (!client) return;  // none waits, or no descriptors: the next turn tries again
    auto server = network_.connect(to_);
    if (!server) continue;  // refused: the client's connection ends, too
    auto pair =
        std::make_unique<Pair>(loop_, std::move(*client), std::move(*server), [this] { bury(); });
    if (!pair->watch()) continue;  // as if refused
    pairs_.push_back(std::move(pair));
  }
}

void StreamProxy::bury() {
  burial_ = loop_.soon(
      [this] { std::erase_if(pairs_, [](const auto& pair) { return pair->is_over(); }); });
}

}  // namespace muster::launcher
