/* bench.h - what the helpers share: the clock and the notes.
 * A note is one line "<CLOCK_MONOTONIC ns> <word> <rank>" appended to the file $BENCH_NOTES in one
 * write, so that the lines of several workers do not mix. */
#ifndef BENCH_H
#define BENCH_H
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static inline int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void die(const char *what) {
  perror(what);
  exit(9);
}

/* The rank every launcher of the comparison tells its workers under one of these names. */
static inline const char *rank_of_worker(void) {
  const char *names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"};
  for (int i = 0; i < 3; i++)
    if (getenv(names[i])) return getenv(names[i]);
  return "0";
}

static inline void note(const char *word, int64_t when) {
  char line[128];
  int n = snprintf(line, sizeof line, "%lld %s %s\n", (long long)when, word, rank_of_worker());
  int fd = open(getenv("BENCH_NOTES"), O_WRONLY | O_APPEND | O_CREAT, 0644);
  if (fd < 0 || write(fd, line, (size_t)n) != n) die("note");
  close(fd);
}
#endif
