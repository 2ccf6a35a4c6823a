/* floor_epoll.c - what one thread can do: a bare epoll server of the store's protocol. Reads what
 * is there and answers everything it held with one send per readiness event. floor_epoll PORT */
#define _GNU_SOURCE
#include "bench.h"
#include "kv.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* Memory per idle connection is this struct alone: buffers are shared between connections. */
struct connection {
  int fd;
  uint8_t *rest; /* of a command that has not wholly arrived */
  size_t rest_bytes;
};
static uint8_t in[1 << 18], *out;
static size_t out_bytes, out_room;

static void kv_emit(void *connection, const void *bytes, size_t n) {
  (void)connection; /* one connection is served at a time */
  if (out_bytes + n > out_room) out = realloc(out, out_room = (out_bytes + n) * 2);
  memcpy(out + out_bytes, bytes, n);
  out_bytes += n;
}

static void drop(struct connection *c) {
  close(c->fd);
  free(c->rest);
  free(c);
}

static void keep(struct connection *c, const uint8_t *bytes, size_t n) {
  c->rest_bytes = n;
  if (!n) return;
  c->rest = realloc(c->rest, n);
  memcpy(c->rest, bytes, n);
}

static void serve(struct connection *c) {
  if (c->rest_bytes) memcpy(in, c->rest, c->rest_bytes);
  ssize_t got = recv(c->fd, in + c->rest_bytes, sizeof in - c->rest_bytes, MSG_DONTWAIT);
  if (got <= 0) return drop(c);
  size_t have = c->rest_bytes + (size_t)got, used = 0;
  long n;
  while ((n = kv_command(c, in + used, have - used)) > 0) used += (size_t)n;
  keep(c, in + used, have - used);
  /* The socket blocks on sending: a floor may wait for a client that does not read. */
  if (out_bytes && send(c->fd, out, out_bytes, MSG_NOSIGNAL) < 0) n = kProtocolError;
  out_bytes = 0;
  if (n == kProtocolError) drop(c);
}

static void admit(int poll, int fd) {
  int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  struct connection *c = calloc(1, sizeof *c);
  c->fd = fd;
  epoll_ctl(poll, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN, .data.ptr = c});
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1, poll = epoll_create1(0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1]))};
  if (bind(listener, (struct sockaddr *)&a, sizeof a) || listen(listener, 65535)) die("listen");
  epoll_ctl(poll, EPOLL_CTL_ADD, listener, &(struct epoll_event){.events = EPOLLIN});
  for (;;) {
    struct epoll_event events[1024];
    int n = epoll_wait(poll, events, 1024, -1);
    for (int i = 0; i < n; i++) {
      if (events[i].data.ptr) {
        serve(events[i].data.ptr);
        continue;
      }
      for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0;) admit(poll, fd);
    }
  }
}
