#include "launcher/sidecar/folder_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <utility>

namespace muster::launcher {

namespace {

// The end of an agent, however it comes, closes its lock.
constexpr uint32_t kWanted = IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_CLOSE_WRITE;

bool concerns_us(std::string_view name) {
  return name.empty() || name.starts_with("events.jsonl") || name == "agent.lock";
}

}  // namespace

FolderWatch::FolderWatch(Loop& loop, std::string folder, std::function<void()> changed)
    : loop_(loop), folder_(std::move(folder)), changed_(std::move(changed)) {}

void FolderWatch::begin() {
  notify_ = UniqueFd(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (notify_.is_open()) {
    auto watch = loop_.watch(notify_.get(), Interest::kRead, [this](Ready) { drain(); });
    if (watch) watch_ = *std::move(watch);
  }
  timer_ = loop_.soon([this] { look(); });
}

void FolderWatch::look() {
  watch_folder();
  timer_ = loop_.after(watched_ ? kLookAgain : kLookOften, [this] { look(); });
  changed_();
}

// Adding the same folder again changes nothing; another one of that name is watched from now on.
void FolderWatch::watch_folder() {
  watched_ = watch_.is_active() &&
             inotify_add_watch(notify_.get(), folder_.c_str(), kWanted | IN_ONLYDIR) >= 0;
}

void FolderWatch::drain() {
  alignas(inotify_event) std::array<char, 4096> bytes{};
  bool ours = false;
  for (;;) {
    const ssize_t count = ::read(notify_.get(), bytes.data(), bytes.size());
    if (count <= 0) break;
    for (size_t at = 0; at + sizeof(inotify_event) <= static_cast<size_t>(count);) {
      inotify_event event{};
      std::memcpy(&event, bytes.data() + at, sizeof event);
      const char* const name = bytes.data() + at + sizeof event;
      ours = ours || concerns_us(std::string_view(name, strnlen(name, event.len)));
      at += sizeof event + event.len;
    }
  }
  if (ours) changed_();
}

}  // namespace muster::launcher
