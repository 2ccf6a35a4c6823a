/* floor_launch.c - the least a launcher and a supervisor can do: posix_spawn N copies, wait for
 * them; when one fails, kill the rest, reap them, and start all N again, at most RESTARTS times.
 *   floor_launch RESTARTS N PROGRAM ARGS...        (linked static) */
#include "bench.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

enum { kMaxWorkers = 1024 };
extern char **environ;
static pid_t workers[kMaxWorkers];

static void put_number(const char *name, int value) {
  char text[16];
  snprintf(text, sizeof text, "%d", value);
  setenv(name, text, 1);
}

int main(int argc, char **argv) {
  if (argc < 4 || atoi(argv[2]) > kMaxWorkers) return 2;
  int restarts = atoi(argv[1]), count = atoi(argv[2]);
  for (int attempt = 0;; attempt++) {
    put_number("TORCHELASTIC_RESTART_COUNT", attempt);
    for (int i = 0; i < count; i++) {
      put_number("RANK", i);
      if (posix_spawnp(&workers[i], argv[3], NULL, NULL, argv + 3, environ)) die(argv[3]);
    }
    int status, failed = 0;
    for (int live = count; live && waitpid(-1, &status, 0) > 0; live--) {
      if (status && !failed)
        for (int i = 0; i < count; i++) kill(workers[i], SIGKILL);
      failed |= status;
    }
    if (!failed || attempt == restarts) return failed ? 1 : 0;
  }
}
