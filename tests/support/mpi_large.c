// Each rank sends a large message to the next one, five times.
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank, size, bytes = 1 << 20;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char* out = calloc(bytes, 1);
  char* in = calloc(bytes, 1);
  for (int i = 0; i < 5; ++i) {
    MPI_Sendrecv(out, bytes, MPI_CHAR, (rank + 1) % size, 0, in, bytes, MPI_CHAR, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}
