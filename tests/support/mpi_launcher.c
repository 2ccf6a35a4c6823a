/* In front of a real launcher on PATH, under its name: misbehaves as the variable FAKE says, else becomes that of REAL. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
  const char *what = getenv("FAKE");
  argv[0] = getenv("REAL");
  if (what == NULL) {
    execv(argv[0], argv);
    return 126;
  }
  if (!strncmp(what, "exit", 4)) return atoi(what + 4);
  if (!strcmp(what, "kill")) raise(SIGUSR1);
  if (!strcmp(what, "one")) { /* starts rank 0 of 2 alone, with the `muster rank` that stands before the program */
    int at = 1;
    while (at < argc && strcmp(argv[at], "rank")) ++at;
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    if (at < argc) execv(argv[at - 1], argv + at - 1);
    return 126;
  }
  if (!strcmp(what, "linger")) {
    const pid_t real = fork();
    if (real == 0) execv(argv[0], argv);
    waitpid(real, NULL, 0);
    puts("lingers");
    fflush(stdout);
    if (fork() == 0) setsid(); /* leaves something behind */
  }
  for (;;) pause();
}
