#include "launcher/sidecar/retry_policy.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

constexpr Duration kFirstBound = std::chrono::milliseconds(500);
constexpr Duration kLeast = std::chrono::milliseconds(20);  // not a loop that never rests
constexpr Duration kSpread = std::chrono::seconds(1);       // of all who were asked to wait as long
constexpr int kLongOutage = 6;  // an outage of a minute may last ten seconds more

// Of a date: what a WallTime can hold, in nanoseconds.
constexpr int kFirstYear = 1970;
constexpr int kLastYear = 2200;

constexpr int kTimedOut = 408;
constexpr int kNotThatEncoding = 415;
constexpr int kTooMany = 429;

Duration fraction_of(Duration bound, uint64_t& state) {
  return std::chrono::duration_cast<Duration>(bound * next_fraction(state));
}

std::optional<int> number(std::string_view text) {
  const auto parsed = parse_integer(text);
  if (!parsed || *parsed < 0 || *parsed > 9999) return std::nullopt;
  return static_cast<int>(*parsed);
}

// "08:49:37".
std::optional<Duration> parse_time(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() != 3) return std::nullopt;
  const auto hours = number(parts[0]);
  const auto minutes = number(parts[1]);
  const auto seconds = number(parts[2]);
  if (!hours || !minutes || !seconds) return std::nullopt;
  return std::chrono::hours(*hours) + std::chrono::minutes(*minutes) +
         std::chrono::seconds(*seconds);
}

// "Sun, 06 Nov 1994 08:49:37 GMT", the one form that is sent today.
std::optional<WallTime> parse_http_date(std::string_view text) {
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto words = words_of(text);
  if (words.size() != 6 || words[5] != "GMT") return std::nullopt;
  const auto day = number(words[1]);
  const auto month = std::ranges::find(kMonths, words[2]);
  const auto year = number(words[3]);
  const auto time = parse_time(words[4]);
  if (!day || month == kMonths.end() || !year || !time) return std::nullopt;
  const auto place = static_cast<unsigned>(month - kMonths.begin()) + 1;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(place),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  const bool fits = *year >= kFirstYear && *year <= kLastYear;
  if (!date.ok() || !fits) return std::nullopt;
  return WallTime(std::chrono::sys_days(date)) + *time;
}

}  // namespace

Verdict webhook_verdict(int status, size_t events, bool compressed) {
  if (status >= 200 && status < 300) return Verdict::kTaken;
  if (status == 401 || status == 403) return Verdict::kAnew;
  if (status == kNotThatEncoding && compressed) return Verdict::kPlain;
  const bool for_now = status == kTimedOut || status == kTooMany;
  // A redirect is not followed: the token would go wherever it leads.
  if (status < 400 || status >= 500 || for_now) return Verdict::kAgain;
  return events > 1 ? Verdict::kLess : Verdict::kDeadLetter;
}

std::optional<Duration> parse_retry_after(std::string_view value, WallTime now) {
  const std::string_view text = trim(value);
  if (const auto seconds = parse_integer(text)) {
    if (*seconds < 0) return std::nullopt;
    return std::chrono::seconds(std::min<int64_t>(*seconds, 24 * 3600));
  }
  const auto date = parse_http_date(text);
  if (!date) return std::nullopt;
  return std::max(*date - now, Duration::zero());
}

int Backoff::succeeded() { return std::exchange(failures_, 0); }

Duration Backoff::failed(TimePoint now, std::optional<Duration> asked) {
  if (failures_++ == 0) since_ = now;
  constexpr int kMostDoublings = 5;  // then it is above kShortRetryWait
  const Duration doubled = kFirstBound * (1 << std::min(failures_ - 1, kMostDoublings));
  const Duration short_bound = std::min(doubled, kShortRetryWait);
  const Duration bound = std::min(std::max(short_bound, (now - since_) / kLongOutage), most_);
  if (asked) return std::min(*asked + fraction_of(kSpread, state_), most_);
  return std::max(fraction_of(bound, state_), kLeast);
}

}  // namespace muster::launcher
