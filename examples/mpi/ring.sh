#!/bin/sh
# A ring of four ranks on two nodes of this machine: ring.sh MUSTER [openmpi|mpich]
set -eu
muster=$1
mpi=${2:-openmpi}
here=$(dirname "$(readlink -f "$0")")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"mpicc.$mpi" -o "$folder/ring" "$here/ring.c"
"$muster" local --nodes 2 --framework mpi --mpi "$mpi" --nproc-per-node 2 -- "$folder/ring"
