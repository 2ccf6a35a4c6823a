#!/bin/sh
# The same with mpi4py; Debian's is built for Open MPI: allreduce.sh MUSTER
set -eu
muster=$1
here=$(dirname "$(readlink -f "$0")")
PYTHON_EXEC=/usr/bin/python3 exec "$muster" local --nodes 2 --framework mpi --mpi openmpi --nproc-per-node 2 "$here/allreduce.py"
