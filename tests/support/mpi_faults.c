/* An MPI program that misbehaves as it is told: `mpi_faults WHAT [RANK]`. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  int who = argc > 2 ? atoi(argv[2]) : 1, rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == who) {
    if (!strcmp(what, "exit")) exit(3);
    if (!strcmp(what, "leave")) _exit(0);
    if (!strcmp(what, "kill")) raise(SIGKILL);
    if (!strcmp(what, "crash")) raise(SIGSEGV);
    if (!strcmp(what, "abort")) MPI_Abort(MPI_COMM_WORLD, 7);
    if (!strcmp(what, "abort256")) MPI_Abort(MPI_COMM_WORLD, 256);
  }
  printf("rank=%d waits\n", rank);
  fflush(stdout);
  if (!strcmp(what, "once") && access("broken", F_OK) != 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == who) fclose(fopen("broken", "w"));
    if (rank == who) raise(SIGKILL);
  }
  if (!strcmp(what, "wait")) sleep(600);
  // Talks with all others until the test's folder has a file "go".
  int seen = 0, rounds = 0;
  for (int go = 0; !strcmp(what, "talk") && !go; ++rounds) {
    usleep(50000);
    seen = chdir(getenv("OUT")) == 0 && access("go", F_OK) == 0;
    MPI_Allreduce(&seen, &go, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
  if (rounds > 0) printf("rank=%d went on\n", rank);
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return !strcmp(what, "code") && rank == who ? 9 : 0;
}
