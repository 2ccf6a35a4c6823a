/* Communicators and windows of some of the ranks: each of them says what it saw. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, size, part_rank, sum, group_sum = 0, node_rank, node_size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  MPI_Comm part; /* even and odd ranks */
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
  MPI_Comm_rank(part, &part_rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, part);

  if (rank > 0) { /* called by its members alone */
    MPI_Group world, group;
    MPI_Comm others;
    const int without[] = {0};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_excl(world, 1, without, &group);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 7, &others);
    MPI_Allreduce(&rank, &group_sum, 1, MPI_INT, MPI_SUM, others);
    MPI_Comm_free(&others);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
  }

  MPI_Comm node;
  MPI_Win window;
  int* own;
  int* first;
  MPI_Aint bytes;
  int unit;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &node_rank);
  MPI_Comm_size(node, &node_size);
  MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, node, &own, &window);
  *own = rank;
  MPI_Win_fence(0, window);
  MPI_Win_shared_query(window, 0, &bytes, &unit, &first);
  printf("rank %d of %d: part %d sum %d, group %d, node %d of %d first %d\n", rank, size, part_rank, sum, group_sum,
         node_rank, node_size, *first);
  fflush(stdout);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  MPI_Comm_free(&node);
  MPI_Comm_free(&part);
  MPI_Finalize();
  return 0;
}
