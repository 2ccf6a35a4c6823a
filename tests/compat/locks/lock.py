#!/usr/bin/env python3
"""Prints a lock file: the named requirements and all that they need, each with its version and the hash of its file.

usage: PYTHON lock.py REQUIREMENT... >NAME.txt

PYTHON is the one that will install them (CPython 3.11 for what is here): the files are those that its pip would take now, from
the indexes that it is configured with. Installs nothing. What is printed is as good as these indexes are today; from then on
`pip install --require-hashes` takes nothing else. PIP_NO_BINARY=NAME for a source.
"""
import hashlib
import json
import subprocess
import sys
import urllib.request


def hash_of(download):
    """pip tells none of a file that it found in a folder (PIP_FIND_LINKS)."""
    hashes = download["archive_info"].get("hashes")
    if hashes:
        return hashes["sha256"]
    with urllib.request.urlopen(download["url"]) as file:
        return hashlib.sha256(file.read()).hexdigest()


def main(requirements):
    report = subprocess.run([sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--no-build-isolation",
                             "--report", "-"] + requirements, check=True, stdout=subprocess.PIPE, text=True).stdout
    print("# By tests/compat/locks/lock.py %s" % " ".join(requirements))
    for entry in sorted(json.loads(report)["install"], key=lambda entry: entry["metadata"]["name"].lower()):
        version = entry["metadata"]["version"].split("+")[0]  # a build for CPUs alone has the same name on no index but its own
        print("%s==%s --hash=sha256:%s" % (entry["metadata"]["name"].lower().replace("_", "-"), version, hash_of(entry["download_info"])))


if __name__ == "__main__":
    main(sys.argv[1:])
