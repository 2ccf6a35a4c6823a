/* floor_barrier.c - a barrier: waits until N connections have each said that they are there, then answers every
 * one of them with a frame as long as an assignment; again and again. floor_barrier PORT N one|all: with one frame
 * from and to each of them, or with all the frames of the control protocol, as long as the leader's. */
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

#define BUDGET "\"budget\":{}"
static const char kWelcome[] = "{\"type\":\"welcome\",\"version\":1,\"run_id\":\"bench\",\"term\":16,\"leader\":\"node-0\","
                               "\"lease_ms\":30000,\"clock_ms\":590}";
static const char kAck[] = "{\"type\":\"ack\",\"sequence\":1,\"confirmed\":0,\"clock_ms\":590}";
static const char kWaiting[] = "{\"type\":\"waiting\",\"last\":{\"term\":0," BUDGET "},"
                               "\"reason\":\"520 of 1001 nodes\"}";
#define PLACE "\"node_rank\":50,\"node_count\":1001,\"rank_offset\":400,\"world_size\":8001,\"role_rank_offset\":400," \
              "\"role_world_size\":8001,\"leader_rank\":1000,\"master_host\":\"127.0.0.1\",\"master_port\":29400,"
static const char kAssign[] = "{\"type\":\"assign\",\"round\":1,\"term\":16," PLACE BUDGET "}";
static const char kAssignAgain[] = "{\"type\":\"assign\",\"round\":2,\"term\":16,\"attempt\":1," PLACE
                                   "\"budget\":{\"used\":1,\"charged\":1,\"last_failure\":\"user error 1 0 \",\"same\":1,"
                                   "\"judged_round\":1,\"pause_ms\":6}}";
static const char kStop[] = "{\"type\":\"stop\",\"round\":1,\"grace_ms\":2000,\"reason\":\"rank 8 on agent-0 failed: exit code 1\"}";

struct peer {
  int fd;
  char in[2048];
  size_t have;
  bool told; /* what it waits for: said once */
};
static struct peer **all;
static int wanted, here, known;
static bool one_frame;

/* Appends a frame to what goes out in one write. */
static size_t put(char *out, size_t at, const char *json) {
  uint32_t length = (uint32_t)strlen(json), wire = htonl(length);
  memcpy(out + at, &wire, 4);
  memcpy(out + at + 4, json, length);
  return at + 4 + length;
}

static void say(const struct peer *p, const char *json, const char *more) {
  char out[2048];
  size_t length = put(out, 0, json);
  if (more) length = put(out, length, more);
  if (send(p->fd, out, length, MSG_NOSIGNAL) < 0) die("send");
}

static void say_all(const char *json) {
  for (int i = 0; i < known; i++) say(all[i], json, NULL);
}

static void arrive(void) {
  if (++here < wanted) return;
  here = 0;
  static bool began;
  say_all(began ? kAssignAgain : kAssign);
  began = true;
}

static void take(struct peer *p, const char *frame) {
  const bool is_new = one_frame ? known < wanted : !strncmp(frame, "{\"type\":\"join\"", 14);
  if (is_new) all[known++] = p; /* its first frame; a probe of the port sends none */
  if (one_frame) return arrive();
  if (!strncmp(frame, "{\"type\":\"hello\"", 15)) say(p, kWelcome, NULL);
  if (!strncmp(frame, "{\"type\":\"heartbeat\"", 19)) {
    say(p, kAck, here > 0 && !p->told ? kWaiting : NULL);
    p->told = true;
  }
  if (!strncmp(frame, "{\"type\":\"failed\"", 16)) say_all(kStop);
  if (is_new || !strncmp(frame, "{\"type\":\"stopped\"", 17)) arrive();
}

static void receive(struct peer *p) {
  ssize_t got = recv(p->fd, p->in + p->have, sizeof p->in - 1 - p->have, MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) {
    close(p->fd);
    return;
  }
  p->have += (size_t)got;
  uint32_t length;
  while (p->have >= 4) {
    memcpy(&length, p->in, 4);
    length = ntohl(length);
    if (p->have < length + 4) return;
    take(p, p->in + 4);
    p->have -= length + 4;
    memmove(p->in, p->in + length + 4, p->have);
  }
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  one_frame = !strcmp(argv[3], "one");
  wanted = atoi(argv[2]);
  all = calloc((size_t)wanted, sizeof *all);
  int one = 1, poll = epoll_create1(EPOLL_CLOEXEC);
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1]))};
  if (bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, 65535)) die("listen");
  epoll_ctl(poll, EPOLL_CTL_ADD, listener, &(struct epoll_event){.events = EPOLLIN, .data.ptr = NULL});
  for (;;) {
    struct epoll_event events[1024];
    int n = epoll_wait(poll, events, 1024, -1), fd;
    for (int i = 0; i < n; i++) {
      if (events[i].data.ptr) {
        receive(events[i].data.ptr);
        continue;
      }
      while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct peer *p = calloc(1, sizeof *p);
        p->fd = fd;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        epoll_ctl(poll, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN, .data.ptr = p});
      }
    }
  }
}
