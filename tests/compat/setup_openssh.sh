#!/bin/sh
# Gets OpenSSH 10 with its libraries from the Debian release after this one, outside the source tree, and prints its
# folder. It runs where that folder's `root` is mounted on /srv (test_mpi_openssh.py). Exit code 75: it cannot be had now.
set -eu
release=trixie
packages="openssh-server openssh-client libc6 libssl3t64 libcrypt1 libpam0g libselinux1 libpcre2-8-0 libaudit1 libcap-ng0
  libwrap0 libwtmpdb0 libsqlite3-0 libgssapi-krb5-2 libkrb5-3 libk5crypto3 libkrb5support0 libcom-err2 libkeyutils1 zlib1g
  libzstd1 libnsl2 libtirpc3t64 libedit2 libtinfo6 libbsd0 libmd0 libfido2-1 libcbor0.10 libudev1 libcap2 libgcc-s1"
folder="${XDG_CACHE_HOME:-$HOME/.cache}/muster/compat-openssh"

if [ -e "$folder/complete" ]; then
  echo "$folder"
  exit
fi
mkdir -p "$folder"
# A second run at the same time waits here.
exec 9>"$folder.lock"
flock 9
if [ ! -e "$folder/complete" ]; then
  echo "setting up OpenSSH of Debian's $release in $folder" >&2
  rm -rf "$folder/apt" "$folder/root"
  mkdir -p "$folder/apt/lists/partial" "$folder/apt/archives/partial" "$folder/root"
  : >"$folder/apt/status"
  mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' | awk '$2 == "bookworm" && $3 == "main" { print $1; exit }')
  echo "deb $mirror $release main" >"$folder/apt/sources.list"
  cat >"$folder/apt/apt.conf" <<END
Dir::Etc::sourcelist "$folder/apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State "$folder/apt";
Dir::State::status "$folder/apt/status";
Dir::Cache "$folder/apt";
APT::Sandbox::User "root";
END
  export APT_CONFIG="$folder/apt/apt.conf"
  cd "$folder/apt/archives"
  # shellcheck disable=SC2086
  if ! { timeout 300 apt-get update -q && timeout 300 apt-get download -q $packages; } >"$folder/apt/log" 2>&1; then
    tail -n 5 "$folder/apt/log" >&2
    echo "OpenSSH of $release cannot be had" >&2
    exit 75
  fi
  for package in *.deb; do dpkg-deb -x "$package" "$folder/root"; done
  cd "$folder/root/usr"
  libraries=$(dirname "$(find lib -name libc.so.6)")
  loader=$(find lib -name 'ld-linux*' | head -n 1)
  for program in bin/ssh bin/ssh-keygen sbin/sshd lib/openssh/sshd-session lib/openssh/sshd-auth; do
    patchelf --set-interpreter "/srv/usr/$loader" --force-rpath --set-rpath "/srv/usr/$libraries" "$program"
  done
  rm -rf "$folder/apt"
  : >"$folder/complete"
fi
echo "$folder"
