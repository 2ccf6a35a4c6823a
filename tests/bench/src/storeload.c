/* storeload.c - one load generator for every store, so that the ratio between two rows is the ratio
 * of the servers and not of their client libraries. PROTOCOL: torch1 (PyTorch 1.x command numbers),
 * torch2 (2.x, with VALIDATE) or redis. Prints one line of name=value pairs.
 *
 *   storeload PROTOCOL PORT bench OP CLIENTS WINDOW SECONDS SERVER_PID
 *       OP: set, get, add, wait (for a key that is there; redis: EXISTS). WINDOW requests go out in
 * one write and the next window when all are answered. SET has no answer in TCPStore: a NUMKEYS
 *       closes each window of SETs there, so "set, 1 in flight" costs that server two commands.
 *       server_cpu_s covers exactly the measured time, read from /proc/SERVER_PID.
 *   storeload PROTOCOL PORT keys COUNT
 *       stores COUNT keys of 20 bytes with values of 32, then waits for the end of stdin
 *   storeload PROTOCOL PORT hold CLIENTS SECONDS
 *       connects CLIENTS from 64 addresses, 64 at a time, each with one answered ADD, gives up
 * after SECONDS, says how many were answered, then holds the connections until the end of stdin */
#define _GNU_SOURCE
#include "bench.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum { kTorch1, kTorch2, kRedis };
enum { kSet, kGet, kAdd, kWait, kNumKeys };
enum { kSourceAddresses = 64, kRequestRoom = 160, kMaxLatencies = 1 << 20 };
static const char *const kOps[] = {"set", "get", "add", "wait"};
static const char kValue[33] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
static int protocol, port;

struct client {
  int fd;
  uint8_t *request;
  size_t request_bytes, awaited;
  int64_t sent_ns;
};

/* ---- the two protocols ---- */
static size_t put_string(uint8_t *out, const char *s, uint64_t n) {
  memcpy(out, &n, 8);
  memcpy(out + 8, s, n);
  return 8 + n;
}

static size_t encode_torch(uint8_t *out, int op, const char *key, size_t value_bytes) {
  static const uint8_t codes[2][5] = {{0, 2, 3, 5, 6}, {1, 3, 4, 6, 7}};
  const uint64_t one = 1;
  size_t n = 1;
  out[0] = codes[protocol][op];
  if (op == kWait) memcpy(out + n, &one, 8), n += 8;
  if (op != kNumKeys) n += put_string(out + n, key, strlen(key));
  if (op == kSet) n += put_string(out + n, kValue, value_bytes);
  if (op == kAdd) memcpy(out + n, &one, 8), n += 8;
  return n;
}

static size_t encode(uint8_t *out, int op, const char *key, size_t value_bytes) {
  static const char *const words[] = {"SET", "GET", "INCR", "EXISTS", "DBSIZE"};
  if (protocol != kRedis) return encode_torch(out, op, key, value_bytes);
  int parts = op == kSet ? 3 : op == kNumKeys ? 1 : 2;
  size_t n =
      (size_t)sprintf((char *)out, "*%d\r\n$%zu\r\n%s\r\n", parts, strlen(words[op]), words[op]);
  if (parts > 1) n += (size_t)sprintf((char *)out + n, "$%zu\r\n%s\r\n", strlen(key), key);
  if (parts > 2)
    n +=
        (size_t)sprintf((char *)out + n, "$%zu\r\n%.*s\r\n", value_bytes, (int)value_bytes, kValue);
  return n;
}

/* How much answer a request has: bytes in TCPStore, lines in redis, whose numbers vary in length.
 */
static size_t answer_size(int op, size_t value_bytes) {
  if (protocol == kRedis) return op == kGet ? 2 : 1;
  return op == kSet ? 0 : op == kGet ? 8 + value_bytes : op == kWait ? 1 : 8;
}

static size_t answer_units(const uint8_t *bytes, size_t n) {
  if (protocol != kRedis) return n;
  size_t lines = 0;
  for (size_t i = 0; i < n; i++) lines += bytes[i] == '\n';
  return lines;
}

static int connect_from(int index) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
  struct sockaddr_in from = {.sin_family = AF_INET},
                     to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  from.sin_addr.s_addr = htonl(0x7f000002u + (uint32_t)(index % kSourceAddresses));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(fd, (struct sockaddr *)&from, sizeof from)) die("bind");
  if (connect(fd, (struct sockaddr *)&to, sizeof to)) die("connect");
  const uint8_t validate[] = {0, 0xCE, 0xF7, 0x85, 0x3C};
  if (protocol == kTorch2 && send(fd, validate, sizeof validate, 0) < 0) die("send");
  return fd;
}

/* Sends and waits for `units` of answer; false when the receive timeout strikes first. */
static int receive(int fd, size_t units) {
  uint8_t buffer[4096];
  for (size_t have = 0; have < units;) {
    ssize_t got = recv(fd, buffer, sizeof buffer, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (got <= 0) die("server closed the connection");
    have += answer_units(buffer, (size_t)got);
  }
  return 1;
}

static void send_all(int fd, const uint8_t *bytes, size_t n) {
  if (send(fd, bytes, n, MSG_NOSIGNAL) != (ssize_t)n) die("send");
}

/* ---- bench ---- */
static double cpu_seconds(const char *pid) {
  char path[128];
  double total = 0;
  snprintf(path, sizeof path, "/proc/%s/task", pid);
  DIR *tasks = opendir(path);
  for (struct dirent *task; tasks && (task = readdir(tasks));) {
    if (task->d_name[0] == '.') continue;
    long long ns = 0;
    snprintf(path, sizeof path, "/proc/%s/task/%.20s/schedstat", pid, task->d_name);
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%lld", &ns) == 1) total += (double)ns / 1e9;
    if (f) fclose(f);
  }
  if (tasks) closedir(tasks);
  return total;
}

static void open_client(struct client *c, int index, int op, int window) {
  char key[32], counter[32];
  snprintf(key, sizeof key, "/bench/key/%04d", index);
  snprintf(counter, sizeof counter, "/bench/sum/%04d", index);
  c->fd = connect_from(index);
  c->request = malloc((size_t)(window + 1) * kRequestRoom);
  size_t n = encode(c->request, kSet, key, 16);
  n += encode(c->request + n, kNumKeys, NULL, 0);
  send_all(c->fd, c->request, n);
  receive(c->fd, answer_size(kSet, 16) + answer_size(kNumKeys, 0));
  for (int i = 0; i < window; i++) {
    c->request_bytes += encode(c->request + c->request_bytes, op, op == kAdd ? counter : key, 16);
    c->awaited += answer_size(op, 16);
  }
  if (c->awaited) return;
  c->request_bytes += encode(c->request + c->request_bytes, kNumKeys, NULL, 0);
  c->awaited = answer_size(kNumKeys, 0);
}

static int by_value(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

static int bench(const char *op_name, int count, int window, double seconds,
                 const char *server_pid) {
  int op = 0, poll = epoll_create1(0);
  while (op < kNumKeys && strcmp(kOps[op], op_name)) op++;
  struct client *clients = calloc((size_t)count, sizeof *clients);
  size_t *have = calloc((size_t)count, sizeof *have);
  uint32_t *latency_ns = malloc(kMaxLatencies * sizeof *latency_ns);
  for (int i = 0; i < count; i++) {
    open_client(&clients[i], i, op, window);
    epoll_ctl(poll, EPOLL_CTL_ADD, clients[i].fd,
              &(struct epoll_event){.events = EPOLLIN, .data.u32 = (uint32_t)i});
  }
  double cpu = cpu_seconds(server_pid);
  int64_t start = now_ns(), now = start, windows = 0, limit = (int64_t)(seconds * 1e9);
  for (int i = 0; i < count; i++) {
    clients[i].sent_ns = now_ns();
    send_all(clients[i].fd, clients[i].request, clients[i].request_bytes);
  }
  while (now - start < limit) {
    static uint8_t buffer[1 << 17];
    struct epoll_event events[256];
    int n = epoll_wait(poll, events, 256, 100);
    now = now_ns();
    for (int i = 0; i < n; i++) {
      uint32_t k = events[i].data.u32;
      struct client *c = &clients[k];
      ssize_t got = recv(c->fd, buffer, sizeof buffer, MSG_DONTWAIT);
      if (got <= 0) die("server closed the connection");
      have[k] += answer_units(buffer, (size_t)got);
      if (have[k] < c->awaited) continue;
      now = now_ns();
      if (windows < kMaxLatencies) latency_ns[windows] = (uint32_t)(now - c->sent_ns);
      windows++;
      have[k] = 0;
      c->sent_ns = now;
      send_all(c->fd, c->request, c->request_bytes);
    }
  }
  double elapsed = (double)(now_ns() - start) / 1e9;
  cpu = cpu_seconds(server_pid) - cpu;
  size_t kept = (size_t)(windows < kMaxLatencies ? windows : kMaxLatencies);
  if (!kept) die("no answer at all");
  qsort(latency_ns, kept, sizeof *latency_ns, by_value);
  printf("per_s=%.1f server_cpu_s=%.6f requests=%lld p50_us=%.2f p99_us=%.2f\n",
         (double)(windows * window) / elapsed, cpu, (long long)windows * window,
         latency_ns[kept / 2] / 1e3, latency_ns[kept * 99 / 100] / 1e3);
  return 0;
}

/* ---- keys and hold ---- */
static int until_stdin_ends(void) {
  fflush(stdout);
  char c;
  while (read(0, &c, 1) > 0) {
  }
  return 0;
}

static int keys(int count) {
  int fd = connect_from(0);
  uint8_t block[64 * kRequestRoom + kRequestRoom];
  for (int i = 0; i < count;) {
    size_t n = 0, units = 0;
    for (int j = 0; j < 64 && i < count; j++, i++) {
      char key[32];
      snprintf(key, sizeof key, "/bench/mem/%09d", i);
      n += encode(block + n, kSet, key, 32);
      units += answer_size(kSet, 32);
    }
    n += encode(block + n, kNumKeys, NULL, 0);
    send_all(fd, block, n);
    receive(fd, units + answer_size(kNumKeys, 0));
  }
  printf("keys=%d\n", count);
  return until_stdin_ends();
}

static int hold(int count, double seconds) {
  int64_t start = now_ns(), end = start + (int64_t)(seconds * 1e9), last = start;
  int answered = 0, fds[kSourceAddresses];
  while (answered < count && now_ns() < end) {
    int group = count - answered < kSourceAddresses ? count - answered : kSourceAddresses;
    for (int i = 0; i < group; i++) {
      uint8_t request[kRequestRoom];
      fds[i] = connect_from(answered + i);
      send_all(fds[i], request, encode(request, kAdd, "/bench/held", 0));
    }
    for (int i = 0; i < group; i++, answered++, last = now_ns()) {
      int64_t left = end - now_ns();
      if (left <= 0) break;
      struct timeval timeout = {left / 1000000000, left % 1000000000 / 1000 + 1};
      setsockopt(fds[i], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
      if (!receive(fds[i], answer_size(kAdd, 0))) break;
    }
  }
  printf("answered=%d last_s=%.4f\n", answered, (double)(last - start) / 1e9);
  return until_stdin_ends();
}

int main(int argc, char **argv) {
  if (argc < 5) return 2;
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  protocol = !strcmp(argv[1], "torch1") ? kTorch1 : !strcmp(argv[1], "torch2") ? kTorch2 : kRedis;
  port = atoi(argv[2]);
  if (!strcmp(argv[3], "bench") && argc == 9)
    return bench(argv[4], atoi(argv[5]), atoi(argv[6]), atof(argv[7]), argv[8]);
  if (!strcmp(argv[3], "keys")) return keys(atoi(argv[4]));
  if (!strcmp(argv[3], "hold") && argc == 6) return hold(atoi(argv[4]), atof(argv[5]));
  return 2;
}
