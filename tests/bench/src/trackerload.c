/* trackerload.c - N light workers of XGBoost in one process that join its tracker at the same time, and leave: the bytes that real
 * ones send, and their order. They dial no peers: all of that is between workers. Afterwards each says that it shuts down.
 * trackerload classic|json PORT N: waits for a line, then prints "join_ms=..."; ends when its stdin does. */
#define _GNU_SOURCE
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum { kMagic = 0xff99, kConnecting = 128 /* at once: fewer than the shortest backlog of a tracker */ };
enum step { kGreeted, kSized, kPlaced, kLinked, kDone };

struct worker {
  int fd;
  enum step step;
  char in[512];
  size_t have;
  bool connected;
};
static struct worker *workers;
static int count, port, poll_fd, begun, connecting, done;
static bool json, leaving;

static void put(char **at, int number) {
  memcpy(*at, &number, 4);
  *at += 4;
}

static void put_text(char **at, const char *text) {
  int size = (int)strlen(text);
  put(at, size);
  memcpy(*at, text, (size_t)size);
  *at += size;
}

static int number_at(const struct worker *w, size_t offset) {
  int number;
  memcpy(&number, w->in + offset, 4);
  return number;
}

static void say(struct worker *w, const char *bytes, const char *end) {
  if (send(w->fd, bytes, (size_t)(end - bytes), MSG_NOSIGNAL) != end - bytes) die("send");
}

static void say_number(struct worker *w, int first, int more) {
  char bytes[8], *at = bytes;
  put(&at, first);
  if (more >= 0) put(&at, more);
  say(w, bytes, at);
}

static void say_command(struct worker *w) {
  int rank = (int)(w - workers);
  char bytes[256], task[16], text[96], *at = bytes;
  snprintf(task, sizeof task, "%d", rank);
  if (json) {
    snprintf(text, sizeof text, "{\"rank\":%d,\"task_id\":\"%s\",\"world_size\":%d}", leaving ? rank : 0, task, leaving ? count : -1);
    put_text(&at, text);
    snprintf(text, sizeof text, leaving ? "{\"cmd\":2}" : "{\"cmd\":1,\"error_port\":%d,\"port\":%d}", 20000, 30000);
    put_text(&at, text);
  } else {
    put(&at, leaving ? rank : -1);
    put(&at, leaving ? count : -1);
    put_text(&at, task);
    put_text(&at, leaving ? "shutdown" : "start");
  }
  say(w, bytes, at);
}

static void end(struct worker *w) {
  close(w->fd);
  w->fd = -1;
  w->step = kDone;
  done++;
}

/* Takes one message off the front. False: it is not all there. */
static bool take(struct worker *w) {
  size_t size = 4;
  if (w->have < size) return false;
  if (w->step == kGreeted) {
    if (number_at(w, 0) != kMagic) die("magic");
  } else if (json) {
    size += (size_t)number_at(w, 0);
  } else if (w->step == kSized) { /* rank, parent, N, k, k neighbours, previous, next */
    if (w->have < 16) return false;
    size = 24 + 4 * (size_t)number_at(w, 12);
  } else { /* how many to dial, how many to accept, then host, port and rank of each */
    if (w->have < 8) return false;
    size = 8;
    for (int peer = number_at(w, 0); peer > 0; peer--) {
      if (w->have < size + 4) return false;
      size += 12 + (size_t)number_at(w, size);
    }
  }
  if (size > sizeof w->in) die("too long");
  if (w->have < size) return false;
  memmove(w->in, w->in + size, w->have -= size);
  return true;
}

static void act(struct worker *w) {
  switch (w->step) {
    case kGreeted:
      say_command(w);
      if (leaving) return end(w);
      w->step = kSized;
      return;
    case kSized:
      if (!json) say_number(w, 0, -1); /* no links yet */
      w->step = kPlaced;
      return;
    case kPlaced:
      if (!json) say_number(w, 0, 10000 + (int)(w - workers)); /* no link failed; the port */
      return end(w);
    default:
      return;
  }
}

static void hear(struct worker *w) {
  ssize_t got = recv(w->fd, w->in + w->have, sizeof w->in - w->have, 0);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) {
    fprintf(stderr, "worker %d was closed in step %d\n", (int)(w - workers), (int)w->step);
    exit(9);
  }
  w->have += (size_t)got;
  while (w->fd >= 0 && take(w)) act(w);
}

static void begin_some(void) {
  for (; begun < count && connecting < kConnecting; begun++, connecting++) {
    struct worker *w = &workers[begun];
    *w = (struct worker){.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    if (w->fd < 0) die("socket");
    int one = 1;
    setsockopt(w->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (connect(w->fd, (struct sockaddr *)&to, sizeof to) != 0 && errno != EINPROGRESS) die("connect");
    epoll_ctl(poll_fd, EPOLL_CTL_ADD, w->fd, &(struct epoll_event){.events = EPOLLOUT, .data.ptr = w});
  }
}

static void all(void) {
  begun = connecting = done = 0;
  begin_some();
  struct epoll_event events[256];
  while (done < count) {
    int n = epoll_wait(poll_fd, events, 256, -1);
    for (int i = 0; i < n; i++) {
      struct worker *w = events[i].data.ptr;
      if (w->connected) {
        hear(w);
        continue;
      }
      int error = 0;
      socklen_t size = sizeof error;
      getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &error, &size);
      if (error != 0) errno = error, die("connect");
      w->connected = true;
      connecting--;
      epoll_ctl(poll_fd, EPOLL_CTL_MOD, w->fd, &(struct epoll_event){.events = EPOLLIN, .data.ptr = w});
      say_number(w, kMagic, -1);
    }
    begin_some();
  }
}

int main(int argc, char **argv) {
  if (argc != 4) return 64;
  json = strcmp(argv[1], "json") == 0;
  port = atoi(argv[2]);
  count = atoi(argv[3]);
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  workers = calloc((size_t)count, sizeof *workers);
  poll_fd = epoll_create1(EPOLL_CLOEXEC);
  char line[16];
  if (!fgets(line, sizeof line, stdin)) return 0;
  int64_t start = now_ns();
  all();
  double join_ms = (double)(now_ns() - start) / 1e6;
  leaving = true;
  all();
  printf("join_ms=%.3f\n", join_ms);
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) continue;
  return 0;
}
