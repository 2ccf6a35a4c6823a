/* logpass.c - the floor of log forwarding: starts N copies of PROGRAM with stdout on pipes and
 * writes what they say to our stdout with "[rank]: " before every line, a block at a time, waiting
 * in epoll. logpass N PROGRAM ARGS... */
#define _GNU_SOURCE
#include "bench.h"

#include <spawn.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>

enum { kMaxWorkers = 64, kPipeBytes = 1 << 20, kReadBytes = 1 << 18 };
extern char **environ;
static char out[1 << 20];
static struct source {
  int fd;
  char prefix[16];
  size_t have; /* of a line whose end has not arrived */
  char in[kReadBytes];
} sources[kMaxWorkers];

static void put(const char *p, size_t n) {
  while (n) {
    ssize_t w = write(1, p, n);
    if (w <= 0) die("write");
    p += w;
    n -= (size_t)w;
  }
}

static void start(struct source *s, int rank, char **program) {
  int ends[2];
  pid_t pid;
  if (pipe2(ends, O_CLOEXEC)) die("pipe2");
  fcntl(ends[0], F_SETPIPE_SZ, kPipeBytes);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  snprintf(s->prefix, sizeof s->prefix, "%d", rank);
  setenv("RANK", s->prefix, 1);
  if (posix_spawnp(&pid, program[0], &actions, NULL, program, environ)) die(program[0]);
  close(ends[1]);
  snprintf(s->prefix, sizeof s->prefix, "[%d]: ", rank);
  s->fd = ends[0];
}

/* False at the end of the input, whose last line needs no newline. A longer line than the buffer is
 * cut. */
static int pass(struct source *s) {
  ssize_t got = read(s->fd, s->in + s->have, sizeof s->in - s->have);
  size_t used = 0, prefix = strlen(s->prefix), have = s->have + (size_t)(got > 0 ? got : 0);
  char *p = s->in, *end = s->in + have;
  while (p < end) {
    char *newline = memchr(p, '\n', (size_t)(end - p));
    if (!newline && got > 0 && (p > s->in || have < sizeof s->in)) break;
    size_t n = (size_t)((newline ? newline + 1 : end) - p);
    if (used + n + prefix > sizeof out) {
      put(out, used);
      used = 0;
    }
    memcpy(out + used, s->prefix, prefix);
    memcpy(out + used + prefix, p, n);
    used += prefix + n;
    p += n;
  }
  put(out, used);
  memmove(s->in, p, s->have = (size_t)(end - p));
  return got > 0;
}

int main(int argc, char **argv) {
  if (argc < 3 || atoi(argv[1]) > kMaxWorkers) return 2;
  int live = atoi(argv[1]), poll = epoll_create1(EPOLL_CLOEXEC);
  for (int i = 0; i < live; i++) {
    start(&sources[i], i, argv + 2);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = &sources[i]};
    epoll_ctl(poll, EPOLL_CTL_ADD, sources[i].fd, &e);
  }
  while (live) {
    struct epoll_event events[kMaxWorkers];
    int n = epoll_wait(poll, events, kMaxWorkers, -1);
    for (int i = 0; i < n; i++) {
      struct source *s = events[i].data.ptr;
      if (pass(s)) continue;
      close(s->fd);
      live--;
    }
  }
  while (wait(NULL) > 0) {
  }
  return 0;
}
