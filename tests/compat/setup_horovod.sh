#!/bin/sh
# Makes a virtual environment with Horovod, built from PyPI's source for the PyTorch of setup.sh, outside the source tree, and prints
# its folder:
#   setup_horovod.sh PYTHON_OF_SETUP_SH
# Gloo and PyTorch alone. The source is of 2023 and asks for C++14, which the headers of today's PyTorch are not any more; nothing else is
# changed. The build takes minutes, once. Exit code 75: the packages cannot be had now, or do not build. locks/ has their versions
# and hashes.
set -eu
python="$1"
locks="$(dirname "$(readlink -f "$0")")/locks"
wanted="$(sed -n 's/^\(horovod==[^ ]*\) .*/\1/p' "$locks/horovod.txt")"
folder="${XDG_CACHE_HOME:-$HOME/.cache}/muster/compat-horovod"
site='import site; print(site.getsitepackages()[0])'

installed() {
  [ -e "$folder/complete" ] && [ "$(cat "$folder/complete")" = "$wanted $python" ]
}

give_up() {
  echo "$wanted cannot be $1" >&2
  exit 75
}

if ! installed; then
  [ -x "$python" ] || give_up "built without the PyTorch of setup.sh"
  mkdir -p "$folder"
  echo "building $wanted in $folder (some minutes; log: $folder/build.log)" >&2
  # A second run at the same time waits here instead of building in the same folder.
  exec 9>"$folder.lock"
  flock 9
  if ! installed; then
    rm -rf "$folder/source"
    "$python" -m venv "$folder" >&2
    own="$folder/bin/python"
    "$python" -c "$site" >"$("$own" -c "$site")/compat.pth"
    timeout 300 "$own" -m pip install --quiet --retries 1 --require-hashes --only-binary :all: -r "$locks/horovod-build.txt" >&2 || give_up "installed"
    timeout 300 "$own" -m pip download --quiet --retries 1 --require-hashes --no-deps --no-binary :all: --no-build-isolation \
      --dest "$folder/source" -r "$locks/horovod.txt" >&2 || give_up "downloaded"
    tar -xzf "$folder"/source/*.tar.gz -C "$folder/source" --strip-components=1
    sed -i 's/CMAKE_CXX_STANDARD 14/CMAKE_CXX_STANDARD 20/' "$folder/source/CMakeLists.txt" "$folder/source/horovod/torch/CMakeLists.txt"
    # Nobody debugs it, and it is not measured.
    sed -i 's/^project(.*/&\nset(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -DNDEBUG")/' "$folder/source/CMakeLists.txt"
    MAKEFLAGS="-j$(nproc)" HOROVOD_WITH_PYTORCH=1 HOROVOD_WITH_GLOO=1 HOROVOD_WITHOUT_MPI=1 HOROVOD_WITHOUT_TENSORFLOW=1 \
      HOROVOD_WITHOUT_MXNET=1 timeout 1500 "$own" -m pip install --no-build-isolation --no-deps "$folder/source" \
      >"$folder/build.log" 2>&1 || give_up "built: $(grep -m 1 'error:' "$folder/build.log")"
    rm -rf "$folder/source"
    echo "$wanted $python" >"$folder/complete"
  fi
fi
echo "$folder"
