/* floor_barrier.c - a plain barrier: waits until N connections have each sent a frame, then answers every
 * one of them with a frame as long as an assignment; again and again. floor_barrier PORT N */
#define _GNU_SOURCE
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

static const char kAnswer[] = "{\"type\":\"assign\",\"round\":1,\"term\":16,\"attempt\":0,\"node_rank\":1,\"node_count\":1000,"
                              "\"rank_offset\":8,\"world_size\":8000,\"role_rank_offset\":8,\"role_world_size\":8000,"
                              "\"leader_rank\":0,\"master_host\":\"127.0.0.1\",\"master_port\":29400}";

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  int wanted = atoi(argv[2]), here = 0, open = 0, one = 1, poll = epoll_create1(EPOLL_CLOEXEC);
  int *all = calloc((size_t)wanted, sizeof *all);
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1]))};
  if (bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, 65535)) die("listen");
  epoll_ctl(poll, EPOLL_CTL_ADD, listener, &(struct epoll_event){.events = EPOLLIN, .data.fd = listener});
  char answer[4 + sizeof kAnswer];
  uint32_t length = htonl(sizeof kAnswer - 1);
  memcpy(answer, &length, 4);
  memcpy(answer + 4, kAnswer, sizeof kAnswer - 1);
  for (;;) {
    struct epoll_event events[1024];
    int n = epoll_wait(poll, events, 1024, -1);
    for (int i = 0; i < n; i++) {
      int fd = events[i].data.fd;
      if (fd == listener) {
        while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
          setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
          epoll_ctl(poll, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN, .data.fd = fd});
        }
        continue;
      }
      char in[256];
      ssize_t got = recv(fd, in, sizeof in, MSG_DONTWAIT);
      if (got < 0 && errno == EAGAIN) continue;
      if (got <= 0) {
        close(fd);
        continue;
      }
      if (open < wanted) all[open++] = fd; /* its first frame; a probe of the port sends none */
      if (++here < wanted) continue;
      for (here = 0; here < wanted; here++)
        if (send(all[here], answer, sizeof kAnswer + 3, MSG_NOSIGNAL) < 0) die("send");
      here = 0;
    }
  }
}
