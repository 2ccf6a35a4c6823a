/* A ring and an allreduce: every rank passes a number to the next one, then all add up their ranks.
 * `ring SECONDS` stays for a while between the two, so that there is time to break something.
 * Rank 0 tells how long MPI_Init and MPI_Finalize took. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

int main(int argc, char **argv) {
  int rank, size, token = 0, sum = 0, length;
  char host[MPI_MAX_PROCESSOR_NAME];
  double began = now_ms();
  MPI_Init(&argc, &argv);
  double init_ms = now_ms() - began;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Get_processor_name(host, &length);

  int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  if (rank == 0) {
    token = 1;
    if (size > 1) {
      MPI_Send(&token, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
      MPI_Recv(&token, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    printf("ring: %d of %d ranks\n", token, size);
    fflush(stdout);
  } else {
    MPI_Recv(&token, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ++token;
    MPI_Send(&token, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
  }

  if (argc > 1) sleep((unsigned)atoi(argv[1]));
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("allreduce: %d on %s\n", sum, host);
  began = now_ms();
  MPI_Finalize();
  if (rank == 0) printf("MPI_Init: %.1f ms, MPI_Finalize: %.1f ms\n", init_ms, now_ms() - began);
  return sum == size * (size - 1) / 2 ? 0 : 1;
}
