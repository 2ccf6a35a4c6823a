/* stamp.c - the trivial worker: notes "main" when it gets there, then does as told.
 *   stamp exit              exits 0
 *   stamp sleep             sleeps until it is stopped
 *   stamp untilstopped      the same, and notes "stop" then
 *   stamp failfirst SECONDS on the first attempt rank 0 notes "fail" and exits 1 after SECONDS
 * while the others sleep; on the next attempt all exit 0 */
#include "bench.h"

#include <signal.h>
#include <string.h>

int main(int argc, char **argv) {
  note("main", now_ns());
  if (argc < 2) return 2;
  if (!strcmp(argv[1], "exit")) return 0;
  const char *attempt = getenv("TORCHELASTIC_RESTART_COUNT");
  if (!strcmp(argv[1], "failfirst")) {
    if (attempt && atoi(attempt) > 0) return 0;
    if (argc > 2 && !strcmp(rank_of_worker(), "0")) {
      double s = atof(argv[2]);
      struct timespec t = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};
      nanosleep(&t, NULL);
      note("fail", now_ns());
      return 1;
    }
  }
  if (!strcmp(argv[1], "untilstopped")) {
    sigset_t told;
    int number;
    sigemptyset(&told);
    sigaddset(&told, SIGTERM);
    sigprocmask(SIG_BLOCK, &told, NULL);
    sigwait(&told, &number);
    note("stop", now_ns());
    return 0;
  }
  for (;;) pause();
}
