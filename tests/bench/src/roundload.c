/* roundload.c - N light agents in one process that go through two rounds, against the leader of a job or
 * against floor_barrier. They say word for word what real agents do when rounds.py starts their leader. Speaks frames of 4 bytes length and JSON; of an answer it looks at the type only.
 * roundload muster|barrier PORT N RUN_ID: one line of figures, then waits until its stdin ends. */
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

enum {
  kOwnWorkerEndsUs = 3000, /* the leader's, a sleep that is told to stop as all are: less than 2 ms. A longer rest would leave nothing in the caches */
  kConnecting = 512,  /* at once: what a listener takes without losing any */
  kPerAddress = 8192, /* agents that dial from one address of the loopback: half of its ports is quickly found, the other half not */
};

struct agent {
  int fd;
  char in[4096];     /* at least one frame of an answer */
  size_t have, skip; /* of a longer one, the bytes to come */
  long long clock_ms;
  bool joined, heard; /* heard: its first heartbeat was acknowledged */
};
static struct agent *agents;
static int count, begun, connecting, poll_fd, port, round_number;
static int assigned, stopped;
static long long bytes_in, bytes_out; /* of the rounds: heartbeats after an agent's first one come every second, however long these take */
static bool barrier;
static const char *run_id;

static double now_s(void) { return (double)now_ns() / 1e9; }

static void say(struct agent *a, const char *json) {
  uint32_t n = (uint32_t)strlen(json), wire = htonl(n);
  struct iovec parts[] = {{&wire, 4}, {(char *)json, n}};
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
  if (sendmsg(a->fd, &message, MSG_NOSIGNAL) != (ssize_t)n + 4) die("send");
  bytes_out += n + 4;
}

static void beat(struct agent *a) {
  static long long sequence;
  char json[160];
  snprintf(json, sizeof json, "{\"type\":\"heartbeat\",\"sequence\":%lld,\"round\":%d,\"echo_ms\":%lld}",
           ++sequence, round_number, a->clock_ms);
  say(a, json);
}

static void join(struct agent *a) {
  int i = (int)(a - agents);
  char json[512];
  snprintf(json, sizeof json,
           "{\"type\":\"join\",\"identity\":{\"name\":\"agent-%d\",\"incarnation\":%d},\"host\":\"127.0.0.1\","
           "\"port\":%d,\"local_world_size\":8,\"role\":\"default\",\"budget\":{}}",
           i, i + 1000, 1 + i % 60000);
  say(a, json);
  a->joined = true;
}

static void greet(struct agent *a) {
  connecting--;
  int one = 1;
  setsockopt(a->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  epoll_ctl(poll_fd, EPOLL_CTL_MOD, a->fd, &(struct epoll_event){.events = EPOLLIN, .data.ptr = a});
  if (barrier) return say(a, "{\"type\":\"ready\"}");
  char json[512];
  snprintf(json, sizeof json,
           "{\"type\":\"hello\",\"version\":1,\"run_id\":\"%s\",\"term\":0,\"node\":\"agent-%d\",\"agent\":%d,\"settings\":["
           "{\"flag\":\"--nnodes\",\"value\":\"%d\"},{\"flag\":\"--max-restarts\",\"value\":\"3\"}]}",
           run_id, (int)(a - agents), (int)(a - agents) + 1, count + 1);
  say(a, json);
}

static void begin_some(void) {
  for (; begun < count && connecting < kConnecting; begun++, connecting++) {
    struct agent *a = &agents[begun];
    a->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)(begun / kPerAddress))};
    const int one = 1;
    setsockopt(a->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
    if (a->fd < 0 || bind(a->fd, (struct sockaddr *)&from, sizeof from)) die("bind");
    if (connect(a->fd, (struct sockaddr *)&to, sizeof to) && errno != EINPROGRESS) die("connect");
    epoll_ctl(poll_fd, EPOLL_CTL_ADD, a->fd, &(struct epoll_event){.events = EPOLLOUT, .data.ptr = a});
  }
}

static bool is(const char *frame, const char *type) { return strstr(frame, type) != NULL; }

static void answer(struct agent *a, const char *frame) {
  if (is(frame, "\"type\":\"ack\"")) {
    if (a->heard) bytes_in -= (long long)strlen(frame) + 4;
    a->heard = true;
  }
  const char *clock = strstr(frame, "\"clock_ms\":");
  if (clock) a->clock_ms = atoll(clock + 11);
  if (is(frame, "\"type\":\"welcome\"")) {
    join(a);
    beat(a);
  } else if (is(frame, "\"type\":\"assign\"")) {
    assigned++;
  } else if (is(frame, "\"type\":\"stop\"")) {
    stopped++;
  } else if (is(frame, "\"type\":\"refuse\"") || is(frame, "\"type\":\"finish\"")) {
    fprintf(stderr, "%s\n", frame);
    exit(1);
  }
}

static void receive(struct agent *a) {
  ssize_t got = recv(a->fd, a->in + a->have, sizeof a->in - 1 - a->have, MSG_DONTWAIT);
  if (got <= 0) {
    if (got < 0 && errno == EAGAIN) return;
    fprintf(stderr, "agent %td: the connection ended\n", a - agents);
    exit(1);
  }
  bytes_in += got;
  if (a->skip) {
    size_t passed = a->skip < (size_t)got ? a->skip : (size_t)got;
    a->skip -= passed;
    got -= (ssize_t)passed;
    memmove(a->in, a->in + passed, (size_t)got);
  }
  a->have += (size_t)got;
  while (a->have >= 4) {
    uint32_t n;
    memcpy(&n, a->in, 4);
    n = ntohl(n);
    if (n + 4 > sizeof a->in - 1) { /* the list of all nodes, which rank 0 gets: the type comes first */
      static const char kAssign[] = "{\"type\":\"assign\"";
      if (a->have < 4 + sizeof kAssign) return;
      if (strncmp(a->in + 4, kAssign, sizeof kAssign - 1) == 0) assigned++;
      a->skip = n + 4 - a->have;
      a->have = 0;
      return;
    }
    if (a->have < n + 4) return;
    char saved = a->in[n + 4];
    a->in[n + 4] = 0;
    answer(a, a->in + 4);
    a->in[n + 4] = saved;
    a->have -= n + 4;
    memmove(a->in, a->in + n + 4, a->have);
  }
}

/* Every agent beats once a second, each at its own time. Uncounted: how many of them a round sees depends on how long it takes. */
static void beat_those_due(void) {
  static double began;
  static long long beaten;
  if (began == 0) began = now_s();
  const long long due = (long long)((now_s() - began) * count), before = bytes_out;
  for (; beaten < due; beaten++) {
    struct agent *a = &agents[beaten % count];
    if (a->joined) beat(a);
  }
  bytes_out = before;
}

/* Serves everybody until `counter` has come to all. */
static void until_all(const int *counter) {
  while (*counter < count) {
    struct epoll_event events[1024];
    int n = epoll_wait(poll_fd, events, 1024, 200);
    for (int i = 0; i < n; i++) {
      struct agent *a = events[i].data.ptr;
      if (events[i].events & EPOLLOUT) greet(a);
      if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(a);
    }
    begin_some();
    if (!barrier) beat_those_due();
  }
}

static void say_all(const char *json) {
  for (int i = 0; i < count; i++) say(&agents[i], json);
}

static double second_round(void) {
  assigned = 0;
  if (barrier) {
    double start = now_s();
    say_all("{\"type\":\"ready\"}");
    until_all(&assigned);
    return now_s() - start;
  }
  say_all("{\"type\":\"started\",\"round\":1}");
  say(agents, "{\"type\":\"failed\",\"round\":1,\"failures\":[{\"rank\":8,\"local_rank\":0,\"node\":\"agent-0\",\"pid\":1,"
              "\"exit_code\":1,\"signal\":0,\"class\":\"user error\",\"reason\":\"exit code 1\",\"message\":\"\",\"last_lines\":\"\","
              "\"age_ms\":0,\"alive_ms\":1,\"attempt\":0}]}");
  until_all(&stopped);
  usleep(kOwnWorkerEndsUs);
  double start = now_s();
  say_all("{\"type\":\"stopped\",\"round\":1}");
  until_all(&assigned);
  return now_s() - start;
}

int main(int argc, char **argv) {
  if (argc < 5) return 2;
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  barrier = !strcmp(argv[1], "barrier");
  port = atoi(argv[2]);
  count = atoi(argv[3]);
  run_id = argv[4];
  poll_fd = epoll_create1(EPOLL_CLOEXEC);
  agents = calloc((size_t)count, sizeof *agents);
  round_number = 1;
  double start = now_s();
  begin_some();
  until_all(&assigned);
  double first = now_s() - start;
  double second = second_round();
  printf("first_s=%.6f second_s=%.6f bytes=%.1f\n", first, second, (double)(bytes_in + bytes_out) / count);
  fflush(stdout);
  while (getchar() != EOF) {
  }
  return 0;
}
