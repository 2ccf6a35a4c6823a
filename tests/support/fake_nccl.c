/* A libnccl.so.2 for the test of `muster-probe nccl`: version 2.28.9, and a unique id that says where NCCL_SOCKET_IFNAME, here a
   numeric IPv4 address, would listen. "none" finds no interface, "hang" never comes back. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int ncclGetVersion(int *version) {
  *version = 22809;
  return 0;
}

int ncclGetUniqueId(char *id) {
  const char *wanted = getenv("NCCL_SOCKET_IFNAME");
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(43210)};
  printf("NCCL INFO to stdout, as NCCL_DEBUG does\n");
  fflush(stdout);
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
