#!/usr/bin/env python3
"""clang-tidy over every source of a build folder, one per CPU at a time.

    tests/tidy/clang_tidy.py --build build/debug [FILE...]

A file that passed is not read again until it, a header of ours that it includes, its compile command
or a .clang-tidy changes (build/tidy-passed). Ends with "N passed, N failed", one per source file.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

from tree import ROOT, includes_of, read_text

CLANG_TIDY = "clang-tidy-14"
PASSED = ROOT / "build" / "tidy-passed"
CONFIGURATIONS = (ROOT / ".clang-tidy", ROOT / "tests" / ".clang-tidy")
# GCC's own warnings mean nothing to clang.
ARGUMENTS = [CLANG_TIDY, "--quiet", "--extra-arg=-Wno-unknown-warning-option"]


def texts_of(path, seen):
    """`path` and every header of ours that it includes, directly or not, in a fixed order."""
    if path in seen or not path.is_file():
        return seen
    seen[path] = read_text(path)
    for _, target, quoted in includes_of(seen[path]):
        if quoted:
            texts_of(ROOT / target, seen)
    return seen


def mark_of(entry):
    """The file that says: this text, compiled so, has passed."""
    digest = hashlib.sha256()
    for text in [*map(read_text, CONFIGURATIONS), json.dumps(ARGUMENTS), *entry["arguments"],
                 *texts_of(pathlib.Path(entry["file"]), {}).values()]:
        digest.update(text.encode() + b"\0")
    return PASSED / digest.hexdigest()


def check(entry, build):
    """(path, what clang-tidy says, "" when nothing)."""
    path = pathlib.Path(entry["file"])
    mark = mark_of(entry)
    if mark.exists():
        return path, ""
    result = subprocess.run([*ARGUMENTS, "-p", str(build), str(path)], stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, errors="replace", check=False)
    if result.returncode == 0:
        mark.touch()
        return path, ""
    return path, result.stdout + result.stderr


def read_commands(build):
    """compile_commands.json, one entry per file, in the order of their names."""
    entries = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        entry["arguments"] = shlex.split(entry.get("command", ""))
        entries[entry["file"]] = entry
    return [entries[name] for name in sorted(entries)]


def main(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("files", nargs="*", help="default: all that the build folder compiles")
    options = parser.parse_args(words)
    wanted = {str(pathlib.Path(name).resolve()) for name in options.files}
    entries = [entry for entry in read_commands(options.build) if not wanted or entry["file"] in wanted]
    PASSED.mkdir(parents=True, exist_ok=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, text in pool.map(lambda entry: check(entry, options.build), entries):
            if text:
                failed += 1
                print(f"FAILED {path.relative_to(ROOT)}\n{text}", flush=True)
    print(f"{len(entries) - failed} passed, {failed} failed")
    return 1 if failed or not entries else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
