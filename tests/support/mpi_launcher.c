/* In front of a real launcher on PATH, under its name: misbehaves as the variable FAKE says, else becomes that of REAL. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
  const char *what = getenv("FAKE");
  char bytes[100];
  ssize_t count;
  (void)argc;
  argv[0] = getenv("REAL");
  if (what == NULL) {
    execv(argv[0], argv);
    return 126;
  }
  if (!strncmp(what, "exit", 4)) return atoi(what + 4);
  if (!strcmp(what, "kill")) raise(SIGUSR1);
  if (!strcmp(what, "inherit")) { /* its group, and what stands in descriptor 7 */
    printf("group %d ", (int)getpgrp());
    fflush(stdout);
    while ((count = read(7, bytes, sizeof bytes)) > 0)
      if (write(1, bytes, (size_t)count) != count) return 1;
    return 0;
  }
  if (!strcmp(what, "count")) { /* how often it is told to end, in the second after the first time */
    const struct timespec second = {1, 0};
    int times = 1, came;
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, NULL);
    printf("counts\n");
    fflush(stdout);
    sigwait(&term, &came);
    while (sigtimedwait(&term, NULL, &second) == SIGTERM) ++times;
    printf("told %d times\n", times);
    return 0;
  }
  if (!strcmp(what, "linger")) {
    const pid_t real = fork();
    if (real == 0) execv(argv[0], argv);
    waitpid(real, NULL, 0);
    if (fork() == 0) setsid(); /* leaves something behind */
  }
  for (;;) pause();
}
