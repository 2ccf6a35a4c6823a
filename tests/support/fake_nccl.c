/* A libnccl.so.2 for the tests of `muster-probe nccl` and `allreduce`: version 2.28.9 or -DVERSION, and a unique id that says where NCCL_SOCKET_IFNAME, here a
   numeric IPv4 address, would listen. "none" finds no interface, "hang" never comes back. All-reduces of int32 are really
   added, at the first words and the last one. $FAKE_SUM is added to each. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef VERSION
#define VERSION 22809
#endif

int ncclGetVersion(int *version) {
  *version = VERSION;
  return 0;
}

int ncclGetUniqueId(char *id) {
  const char *wanted = getenv("NCCL_SOCKET_IFNAME");
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(43210)};
  printf("NCCL INFO to stdout, as NCCL_DEBUG does\n");
  if (wanted && strcmp(wanted, "none") == 0) return 5;
  while (wanted && strcmp(wanted, "hang") == 0) pause();
  inet_pton(AF_INET, wanted ? wanted : "127.0.0.1", &address.sin_addr);
  memset(id, 0x5a, 128);
  memcpy(id + 8, &address, sizeof address);
  return 0;
}

const char *ncclGetErrorString(int code) { return code == 5 ? "invalid usage" : "other"; }

const char *ncclGetLastError(void *communicator) {
  (void)communicator;
  return "no socket interface found";
}

/* By value, as nccl.h has it. */
typedef struct { char bytes[128]; } Id;
typedef struct { int rank, ranks; } Communicator;
static Communicator communicators[8];
static struct { const int32_t *from; int32_t *to; size_t count; } waiting[8];
static int in_group, calls;

int ncclGroupStart(void) { return in_group++ ? 5 : (calls = 0); }

int ncclCommInitRank(Communicator **communicator, int ranks, Id id, int rank) {
  if (!in_group || id.bytes[0] != 0x5a || id.bytes[127] != 0x5a) return 4;
  *communicator = &communicators[rank];
  **communicator = (Communicator){rank, ranks};
  return 0;
}

int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, Communicator *communicator, void *stream) {
  if (!in_group || type != 2 || op != 0 || !stream || communicator->rank != calls) return 4;
  waiting[calls].from = from;
  waiting[calls].to = to;
  waiting[calls++].count = count;
  return 0;
}

int ncclGroupEnd(void) {
  const char *more = getenv("FAKE_SUM");
  in_group = 0;
  for (int to = 0; to < calls; ++to) {
    size_t places[3] = {0, 1, waiting[to].count - 1};
    for (int i = 0; i < 3; ++i) {
      int32_t sum = more ? more[0] - '0' : 0;
      for (int from = 0; from < calls; ++from) sum += waiting[from].from[places[i]];
      waiting[to].to[places[i]] = sum;
    }
  }
  return calls && communicators[0].ranks != calls ? 5 : 0;
}
