// A rank of an MPI program that tells what it got, or ends as no rank should:
//   mpi_rank [HOW RANK [ATTEMPT]]   RANK does HOW in ATTEMPT (default: in every one)
//   HOW: exit3, exit0, kill, abortCODE (after MPI_Init), noinit (instead of it), stay (before MPI_Finalize),
//   lateCODE: exits with 3 when the file "go" is there; the others, that missed it, have aborted with CODE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int number_in(const char* text) { return text == NULL ? 0 : atoi(text); }

static int number(const char* name) { return number_in(getenv(name)); }

static void abort_as_told(const char* how, const char* word) {
  const size_t length = strlen(word);
  if (strncmp(how, word, length) == 0) MPI_Abort(MPI_COMM_WORLD, number_in(how + length));
}

static void misbehave(const char* how) {
  if (strcmp(how, "exit3") == 0) _exit(3);
  if (strcmp(how, "exit0") == 0) _exit(0);
  if (strcmp(how, "kill") == 0) raise(SIGKILL);
  abort_as_told(how, "abort");
  if (strncmp(how, "late", 4) == 0) {
    while (access("go", F_OK) != 0) usleep(10000);
    _exit(3);
  }
}

int main(int argc, char** argv) {
  int attempt_counts = argc < 4 || number_in(argv[3]) == number("TORCHELASTIC_RESTART_COUNT");
  const char* how = argc > 2 && attempt_counts && number_in(argv[2]) == number("RANK") ? argv[1] : "";
  if (strcmp(how, "noinit") == 0) return 0;
  MPI_Init(&argc, &argv);
  int rank, size, sum = 0, token = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  misbehave(how);
  if (argc > 2) abort_as_told(argv[1], "late");
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Sendrecv(&rank, 1, MPI_INT, right, 0, &token, 1, MPI_INT, left, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  printf("rank %d of %d: sum %d, from %d\n", rank, size, sum, token);
  fflush(stdout);
  if (strcmp(how, "stay") == 0) pause();
  MPI_Finalize();
  return 0;
}
