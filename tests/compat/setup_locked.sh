#!/bin/sh
# Makes a virtual environment with all that locks/NAME.txt names, outside the source tree, and prints its folder:
#   setup_locked.sh NAME [PYTHON]
# One for each NAME, because many of these libraries exclude each other. With PYTHON it also sees the packages of that
# interpreter: those of setup.sh have PyTorch. Exit code 75: the packages cannot be had now.
set -eu
lock="$(dirname "$0")/locks/$1.txt"
beside="${2:-}"
folder="${XDG_CACHE_HOME:-$HOME/.cache}/muster/compat-$1"
wanted="$(sha256sum <"$lock") $beside"
site='import site; print(site.getsitepackages()[0])'

installed() {
  [ -e "$folder/complete" ] && [ "$(cat "$folder/complete")" = "$wanted" ]
}

if ! installed; then
  mkdir -p "$folder"
  echo "setting up $(sed -n 's/^# By [^ ]* //p' "$lock") in $folder" >&2
  # A second run at the same time waits here instead of installing into the same folder.
  exec 9>"$folder.lock"
  flock 9
  if ! installed; then
    "${PYTHON:-python3}" -m venv --clear "$folder" >&2
    own="$folder/bin/python"
    [ -z "$beside" ] || "$beside" -c "$site" >"$("$own" -c "$site")/compat.pth"
    if ! timeout 900 "$own" -m pip install --quiet --retries 1 --no-deps --require-hashes --only-binary :all: -r "$lock" >&2; then
      echo "not all of $lock can be installed" >&2
      exit 75
    fi
    echo "$wanted" >"$folder/complete"
  fi
fi
echo "$folder"
