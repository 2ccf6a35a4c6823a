#!/bin/sh
# Makes a virtual environment with one XGBoost from PyPI, outside the source tree, and prints its interpreter:
#   setup_xgboost.sh 1.7|3.2
# The newer one is the build for CPUs, which has another name. Exit code 75: the packages cannot be had now. locks/ has their
# versions and hashes.
set -eu
case "$1" in
  1.7 | 3.2) ;;
  *) exit 64 ;;
esac
lock="$(dirname "$0")/locks/xgboost-$1.txt"
wanted="$(sed -n 's/^\(xgboost[^ ]*\) .*/\1/p' "$lock")"
folder="${XDG_CACHE_HOME:-$HOME/.cache}/muster/compat-xgboost-$1"

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
echo "$folder/bin/python"
