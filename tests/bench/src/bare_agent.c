/* bare_agent.c - the least that a remote shell can be: no names, no authentication, no encryption.
 *   bare_agent --serve PORT FILE            creates FILE as soon as it listens on loopback
 *   bare_agent [-x] HOST WORDS...           BARE_AGENT_PORT says where; HOST is not looked at
 * The command's stdout and stderr are the connection itself; the last byte on it is the exit code. */
#define _GNU_SOURCE
#include "bench.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { BACKLOG = 512, MOST_BYTES = 1 << 16 };

static struct sockaddr_in at(const char *port) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return a;
}

/* Runs what comes up to the first NUL and tells its exit code. */
static void run_one(int line) {
  static char command[MOST_BYTES];
  size_t have = 0;
  while (have == 0 || command[have - 1] != 0) {
    ssize_t got = have < sizeof command ? read(line, command + have, sizeof command - have) : -1;
    if (got <= 0) _exit(1);
    have += (size_t)got;
  }
  pid_t pid = vfork();
  if (pid == 0) {
    int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, 0);
    dup2(line, 1);
    dup2(line, 2);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  unsigned char code =
      (unsigned char)(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  _exit(write(line, &code, 1) != 1);
}

static void serve(const char *port, const char *ready) {
  struct sockaddr_in a = at(port);
  int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(listener, (struct sockaddr *)&a, sizeof a) || listen(listener, BACKLOG)) die("listen");
  signal(SIGCHLD, SIG_IGN); /* nobody asks how they ended */
  close(open(ready, O_WRONLY | O_CREAT, 0600));
  for (;;) {
    int line = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (line < 0) die("accept");
    setsockopt(line, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (fork() == 0) {
      signal(SIGCHLD, SIG_DFL);
      run_one(line);
    }
    close(line);
  }
}

int main(int argc, char **argv) {
  if (argc == 4 && !strcmp(argv[1], "--serve")) serve(argv[2], argv[3]);
  const char *port = getenv("BARE_AGENT_PORT");
  int word = 1;
  while (word < argc && argv[word][0] == '-') ++word;
  if (!port || word >= argc) return 255;
  static char text[MOST_BYTES];
  size_t length = 0;
  for (++word; word < argc; ++word) {
    if (length + strlen(argv[word]) + 2 > sizeof text) return 255;
    length += (size_t)sprintf(text + length, "%s ", argv[word]);
  }
  struct sockaddr_in a = at(port);
  int one = 1, line = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(line, (struct sockaddr *)&a, sizeof a)) return 255;
  setsockopt(line, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (write(line, text, length + 1) != (ssize_t)length + 1) return 255;
  /* All but the last byte is output. */
  static unsigned char bytes[MOST_BYTES];
  int last = -1;
  for (;;) {
    ssize_t got = read(line, bytes, sizeof bytes);
    if (got <= 0) return last < 0 ? 255 : last;
    unsigned char before = (unsigned char)last;
    if (last >= 0 && write(1, &before, 1) != 1) return 255;
    if (write(1, bytes, (size_t)got - 1) != got - 1) return 255;
    last = bytes[got - 1];
  }
}
