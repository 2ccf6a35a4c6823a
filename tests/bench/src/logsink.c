/* logsink.c - reads forwarded log lines from stdin and judges them: the last kLineBytes of every
 * line must be a line of loggen, and each rank's sequence must go up by one. A prefix of any length
 * is allowed. Prints "last_ns=... lines=... damaged=... prefixed=... p50_us=... p99_us=...";
 * damaged counts lines that are cut, mixed or out of order, and what is missing shows in lines. */
#include "bench.h"
#include "logline.h"

#include <string.h>

enum { kMaxRanks = 10, kMaxDelays = 1 << 16 };
static long next[kMaxRanks], lines, damaged, prefixed, delays;
static double delay_us[kMaxDelays];
static char filler[kLineBytes];
static const char kNoTime[] = "00000000000000000000"; /* a flooding worker's lines carry no time */

static void judge(const char *start, size_t n, int64_t when) {
  const char *line = start + n - kLineBytes;
  int rank = n < kLineBytes ? -1 : line[0] - '0';
  size_t head = (size_t)snprintf(NULL, 0, LINE_FORMAT, 0, 0l, 0ll);
  lines++;
  if (rank < 0 || rank >= kMaxRanks || memcmp(line + head, filler, kLineBytes - 1 - head)) {
    damaged++;
    return;
  }
  long sequence = get_sequence(line);
  damaged += sequence != next[rank];
  next[rank] = sequence + 1;
  prefixed += n > kLineBytes;
  long long written =
      memcmp(line + kTimeAt, kNoTime, sizeof kNoTime - 1) ? atoll(line + kTimeAt) : 0;
  if (written && delays < kMaxDelays) delay_us[delays++] = (double)(when - written) / 1e3;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(void) {
  static char buffer[1 << 21];
  size_t have = 0;
  int64_t last = now_ns();
  memset(filler, 'x', sizeof filler);
  for (;;) {
    ssize_t got = read(0, buffer + have, sizeof buffer - have);
    if (got <= 0) break;
    last = now_ns();
    have += (size_t)got;
    char *p = buffer, *end = buffer + have;
    for (char *newline; (newline = memchr(p, '\n', (size_t)(end - p))); p = newline + 1)
      judge(p, (size_t)(newline + 1 - p), last);
    have = (size_t)(end - p);
    if (have == sizeof buffer) have = 0, damaged++;
    memmove(buffer, p, have);
  }
  damaged += have > 0;
  qsort(delay_us, (size_t)delays, sizeof *delay_us, by_value);
  printf("last_ns=%lld lines=%ld damaged=%ld prefixed=%ld p50_us=%.1f p99_us=%.1f\n",
         (long long)last, lines, damaged, prefixed, delays ? delay_us[delays / 2] : 0,
         delays ? delay_us[delays * 99 / 100] : 0);
  return 0;
}
