#!/bin/sh
# Makes the virtual environment of the compatibility tests, outside the source tree, and prints the path of
# its interpreter. Does nothing when it is there already. Exit code 75: the packages cannot be had now.
#
# pip's own configuration decides where packages come from (PIP_EXTRA_INDEX_URL, PIP_FIND_LINKS). What is taken is decided by
# locks/pytorch.txt: names, versions and hashes (locks/lock.py writes it). It has PyTorch's build for CPUs, which PyPI has not:
# PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu. It is some gigabytes smaller.
set -eu
lock="$(dirname "$0")/locks/pytorch.txt"
folder="${XDG_CACHE_HOME:-$HOME/.cache}/muster/compat"
python="$folder/bin/python"
wanted="2.13.0"

installed() {
  [ -x "$python" ] && [ "$("$python" -c 'import importlib.metadata as m; print(m.version("torch").split("+")[0])' 2>/dev/null)" = "$wanted" ]
}

if ! installed; then
  mkdir -p "$folder"
  echo "setting up PyTorch $wanted in $folder" >&2
  # A second run at the same time waits here instead of installing into the same folder.
  exec 9>"$folder.lock"
  flock 9
  if ! installed; then
    "${PYTHON:-python3}" -m venv "$folder" >&2
    if ! timeout 900 "$python" -m pip install --quiet --retries 1 --require-hashes --only-binary :all: -r "$lock" >&2; then
      echo "PyTorch $wanted cannot be installed as $lock has it" >&2
      exit 75
    fi
  fi
fi
echo "$python"
