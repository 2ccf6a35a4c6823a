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
  if (!strcmp(what, "one")) { /* starts rank 0 of 2 alone, below the `muster rank` that stands before the program or in Open MPI's variable */
    int at = 1;
    while (at < argc && strcmp(argv[at], "rank")) ++at;
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    if (at < argc) execv(argv[at - 1], argv + at - 1);
    setenv("PMIX_NAMESPACE", "prterun-fake-1@1", 1); /* by which ranks know their launcher */
    char *words[64] = {NULL};
    int count = 0;
    for (char *word = strtok(getenv("OMPI_MCA_orte_fork_agent"), " "); word != NULL; word = strtok(NULL, " ")) words[count++] = word;
    for (at = 3; at < argc && count < 63; ++at) words[count++] = argv[at]; /* behind "-n 2" */
    execv(words[0], words);
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
