/* timed.c - runs a program and says when it was exec'd and what it took.
 *   timed FILE PROGRAM ARGS...          writes "exec_ns end_ns cpu_us status" to FILE
 *   timed FILE until-open PORT PROGRAM  the same, but ends the program as soon as PORT accepts
 * The exec time is taken in the child right before exec, so the cost of starting the child is in
 * no figure; cpu_us is that of the program and of every descendant it waited for. */
#define _GNU_SOURCE
#include "bench.h"

#include <arpa/inet.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

static int opened(int port) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int ok = connect(fd, (struct sockaddr *)&a, sizeof a) == 0;
  close(fd);
  return ok;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  int until_open = argc > 4 && !strcmp(argv[2], "until-open");
  char **command = argv + (until_open ? 4 : 2);
  volatile int64_t exec_ns = 0; /* written by the child: vfork shares the memory */
  pid_t pid = vfork();
  if (pid == 0) {
    exec_ns = now_ns();
    execvp(command[0], command);
    _exit(127);
  }
  int64_t end = 0;
  if (until_open) {
    while (!opened(atoi(argv[3])))
      if (now_ns() - exec_ns > 30ll * 1000000000) break;
    end = now_ns();
    kill(pid, SIGKILL);
  }
  int status;
  struct rusage use;
  if (wait4(pid, &status, 0, &use) != pid) die("wait4");
  if (!until_open) end = now_ns();
  FILE *out = fopen(argv[1], "w");
  if (!out) die(argv[1]);
  long long cpu_us = 1000000ll * (use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                     use.ru_utime.tv_usec + use.ru_stime.tv_usec;
  fprintf(out, "%lld %lld %lld %d\n", (long long)exec_ns, (long long)end, cpu_us,
          until_open ? 0 : status);
  return fclose(out) ? 9 : 0;
}
