/* loggen.c - a worker that talks. Line: "<rank> <10 digits of sequence> <time ns> xxx...", 100
 * bytes with its newline, so that the sink can tell loss, mixing and delay. loggen flood LINES
 * BATCH   BATCH lines per write (1 is what a training loop's print does); notes "begin" and "end"
 *   loggen tick LINES          one line every 5 ms, each with the time it was written
 *   loggen pace FORM RATE SECONDS   so many lines a second, in bursts of 10 ms: words, bar (of
 *                              tqdm) or json, each with another step */
#include "bench.h"
#include "logline.h"

#include <string.h>

static void put(const char *p, size_t n) {
  while (n) {
    ssize_t w = write(1, p, n);
    if (w <= 0) die("write");
    p += w;
    n -= (size_t)w;
  }
}

static void format_line(char *line, int rank, long sequence, int64_t when) {
  int n = snprintf(line, kLineBytes, LINE_FORMAT, rank, sequence, (long long)when);
  memset(line + n, 'x', (size_t)(kLineBytes - 1 - n));
  line[kLineBytes - 1] = '\n';
}

static int pace(const char *form, long rate, long seconds) {
  const char *words = "2026-08-22 15:22:22 INFO trainer.py:123 loaded shard %ld of the data set, 45 ms, queue 7\n";
  const char *bar = "train:  50%%|#####     | %ld/1000000 [00:01<00:01, 1.00it/s, loss=0.5, lr=0.0001]\n";
  const char *json = "{\"step\": %ld, \"max_steps\": 1000000, \"epoch\": 1.5, \"loss\": 0.5, \"lr\": 0.0001, \"tag\": \"x\"}\n";
  const char *text = !strcmp(form, "bar") ? bar : !strcmp(form, "json") ? json : words;
  int64_t begin = now_ns();
  for (long sent = 0; sent < rate * seconds;) {
    char burst[1 << 16];
    size_t used = 0;
    long due = (long)((double)(now_ns() - begin) / 1e9 * (double)rate);
    for (; sent < due && used + 200 < sizeof burst; sent++) used += (size_t)snprintf(burst + used, 200, text, sent);
    put(burst, used);
    nanosleep(&(struct timespec){0, 10000000}, NULL);
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  if (!strcmp(argv[1], "pace")) return argc < 5 ? 2 : pace(argv[2], atol(argv[3]), atol(argv[4]));
  int flood = !strcmp(argv[1], "flood"), rank = atoi(rank_of_worker());
  long lines = atol(argv[2]), batch = flood && argc > 3 ? atol(argv[3]) : 1;
  char *block = malloc((size_t)batch * kLineBytes);
  for (long i = 0; i < batch; i++) format_line(block + i * kLineBytes, rank, i, 0);
  note("begin", now_ns());
  for (long i = 0; i < lines; i += batch) {
    long n = lines - i < batch ? lines - i : batch;
    for (long j = 0; j < n; j++) put_sequence(block + j * kLineBytes, i + j);
    if (!flood) {
      nanosleep(&(struct timespec){0, 5000000}, NULL);
      format_line(block, rank, i, now_ns());
    }
    put(block, (size_t)n * kLineBytes);
  }
  note("end", now_ns());
  return 0;
}
