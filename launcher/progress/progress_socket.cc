#include "launcher/progress/progress_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <utility>

#include "launcher/progress/progress_report.h"

namespace muster::launcher {

namespace {
constexpr int kMaxMessagesPerTurn = 64;    // of one worker: others and the job's own work come, too
constexpr int kMaxMessagesWaiting = 4096;  // more than net.unix.max_dgram_qlen is anywhere
}  // namespace

Result<std::unique_ptr<ProgressSocket>> ProgressSocket::create(
    Loop& loop, std::string path, std::function<void(std::string_view message)> came) {
  if (path.size() > kMaxSocketPathBytes) {
    return Error{Code::kLimit, 0,
                 "'" + path + "' is too long for a socket: " + std::to_string(path.size()) +
                     " bytes, at most " + std::to_string(kMaxSocketPathBytes)};
  }
  UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.is_open()) return os_error("socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.data(), path.size());
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): as the sockets API has it.
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return os_error("bind '" + path + "'");
  std::unique_ptr<ProgressSocket> made(new ProgressSocket(std::move(path), std::move(came)));
  made->socket_ = std::move(fd);
  auto watch = loop.watch(made->socket_.get(), Interest::kRead,
                          [raw = made.get()](Ready) { raw->read(kMaxMessagesPerTurn); });
  if (!watch) return std::move(watch).error();
  made->watch_ = std::move(*watch);
  return made;
}

ProgressSocket::~ProgressSocket() {
  // One that is gone already is what we want.
  (void)unlink(path_.c_str());
}

void ProgressSocket::read_rest() { read(kMaxMessagesWaiting); }

void ProgressSocket::read(int most) {
  std::array<char, kMaxProgressMessageBytes + 1> buffer{};
  for (int i = 0; i < most; ++i) {
    const ssize_t got = recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0) return;  // nothing more; a datagram socket has no other end that could be gone
    came_(std::string_view(buffer.data(), static_cast<size_t>(got)));
  }
}

}  // namespace muster::launcher
