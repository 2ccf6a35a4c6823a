#!/bin/sh
# Makes a virtual environment with DeepSpeed, built from PyPI's source beside the PyTorch of setup.sh, outside the source tree, and
# prints its folder:
#   setup_deepspeed.sh PYTHON_OF_SETUP_SH
# No operator is built with it. The only one that it needs on CPUs is built here, into `extensions`, lest the first test wait for a
# compiler. Takes a minute, once. Exit code 75: the packages cannot be had now, or do not build. locks/ has their versions and hashes.
set -eu
python="$1"
locks="$(dirname "$(readlink -f "$0")")/locks"
wanted="$(cat "$locks/deepspeed.txt" "$locks/deepspeed-build.txt" | sha256sum) $python"
folder="${XDG_CACHE_HOME:-$HOME/.cache}/muster/compat-deepspeed"
site='import site; print(site.getsitepackages()[0])'

installed() {
  [ -e "$folder/complete" ] && [ "$(cat "$folder/complete")" = "$wanted" ]
}

give_up() {
  echo "deepspeed cannot be $1" >&2
  exit 75
}

if ! installed; then
  [ -x "$python" ] || give_up "built without the PyTorch of setup.sh"
  mkdir -p "$folder"
  echo "building deepspeed in $folder (a minute; log: $folder/build.log)" >&2
  # A second run at the same time waits here instead of building in the same folder.
  exec 9>"$folder.lock"
  flock 9
  if ! installed; then
    "$python" -m venv --clear "$folder" >&2
    own="$folder/bin/python"
    "$python" -c "$site" >"$("$own" -c "$site")/compat.pth"
    timeout 300 "$own" -m pip install --quiet --retries 1 --no-deps --require-hashes --only-binary :all: -r "$locks/deepspeed-build.txt" >&2 ||
      give_up "installed"
    DS_BUILD_OPS=0 timeout 300 "$own" -m pip install --retries 1 --no-deps --require-hashes --no-binary deepspeed --no-build-isolation \
      -r "$locks/deepspeed.txt" >"$folder/build.log" 2>&1 || give_up "built: $(grep -m 1 'error:' "$folder/build.log")"
    PATH="$folder/bin:$PATH" TORCH_EXTENSIONS_DIR="$folder/extensions" timeout 300 "$own" -c \
      'from deepspeed.ops.op_builder.cpu import ShareMemCommBuilder; ShareMemCommBuilder().load()' >>"$folder/build.log" 2>&1 ||
      give_up "used: $(tail -n 1 "$folder/build.log")"
    echo "$wanted" >"$folder/complete"
  fi
fi
echo "$folder"
