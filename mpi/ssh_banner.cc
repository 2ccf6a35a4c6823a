#include "mpi/ssh_banner.h"

#include <algorithm>
#include <array>

namespace muster::mpi {

namespace {

constexpr std::string_view kVersion = "SSH-";
// Both without a line end in some versions.
constexpr std::array<std::string_view, 2> kRefusals = {"Not allowed at this time",
                                                       "Exceeded MaxStartups"};

constexpr Duration kFirstPause = std::chrono::seconds(1);
constexpr Duration kLongestPause = std::chrono::seconds(5);
constexpr Duration kForgiven = std::chrono::seconds(20);
constexpr double kSpread = 0.5;

}  // namespace

SshBanner classify_ssh_banner(std::string_view bytes) {
  const size_t all = bytes.size();
  for (;;) {
    if (bytes.starts_with(kVersion)) return SshBanner::kSsh;
    for (const std::string_view refusal : kRefusals) {
      if (bytes.starts_with(refusal)) return SshBanner::kLockedOut;
    }
    const size_t end = bytes.find('\n');
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + 1);
  }
  return all > kMaxSshBannerBytes ? SshBanner::kOther : SshBanner::kUndecided;
}

Duration ssh_retry_pause(SshBanner last, int failures, double jitter) {
  if (last == SshBanner::kLockedOut) return kForgiven;
  Duration pause = kFirstPause;
  for (int i = 1; i < failures && pause < kLongestPause; ++i) pause *= 2;
  pause = std::min(pause, kLongestPause);
  return pause + std::chrono::duration_cast<Duration>(pause * (kSpread * jitter));
}

}  // namespace muster::mpi
