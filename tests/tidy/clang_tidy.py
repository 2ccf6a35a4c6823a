#!/usr/bin/env python3
"""clang-tidy over every source of a build folder, one process per CPU.

    tests/tidy/clang_tidy.py --build build/tidy [FILE...]

Most of its time goes into headers, so several sources are read as one text: that takes a third of the time. When a text is
not clean, its halves are read, and so on: the sources may only not go together, or one has a finding. A source that passed is
not read again until it, a header of ours that it includes, its compile command or a .clang-tidy changes (build/tidy-passed).
Ends with "N passed, N failed", one per source file.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import threading

from tree import ROOT, includes_of, read_text

CLANG_TIDY = "clang-tidy-14"
PASSED = ROOT / "build" / "tidy-passed"
TOGETHER = ROOT / "build" / "tidy-together"
CONFIGURATIONS = (ROOT / ".clang-tidy", ROOT / "tests" / ".clang-tidy")
# GCC's own warnings and options mean nothing to clang.
ARGUMENTS = [CLANG_TIDY, "--quiet", "--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-unused-command-line-argument"]
MOST_TOGETHER = 8  # more gain little, and a text that is not clean costs more


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
    for text in [*map(read_text, CONFIGURATIONS), json.dumps(ARGUMENTS), *entry["options"],
                 *texts_of(pathlib.Path(entry["file"]), {}).values()]:
        digest.update(text.encode() + b"\0")
    return PASSED / digest.hexdigest()


def options_of(entry):
    """What clang needs of a compile command: not the compiler, the files, nor GCC's precompiled header."""
    options, skip, keep = [], False, False
    for word in shlex.split(entry["command"]):
        if keep or word == "-isystem":
            options.append(word)
            keep = not keep
        elif skip:
            skip = False
        elif word in ("-o", "-c", "-include", "-MF", "-MT"):
            skip = True
        elif word.startswith(("-D", "-I", "-std", "-W", "-f")) and word not in ("-Winvalid-pch", "-Werror", "-fpch-preprocess"):
            options.append(word)
    return options


def names_within(text):
    """What may clash with another source: names in unnamed namespaces, and macros. More than there are does no harm."""
    names = set(re.findall(r"^#define (\w+)", text, re.M))
    for body in re.findall(r"^namespace \{$(.*?)^\}  // namespace$", text, re.M | re.S):
        for line in body.splitlines():
            declared = re.match(r"(?:struct|class|enum|enum class) (\w+)\b(?!.*\()|using (?:\w+::)|using (\w+) =|[A-Za-z].*?\b(\w+)(?=\s*(?:[({;=]|\[(?!\[)))", line)
            names.update(filter(None, declared.groups() if declared else ()))
    return names


def groups_of(entries):
    """Lists of entries of one folder that are compiled alike and do not seem to clash."""
    groups, open_groups = [], {}
    for entry in entries:
        path = pathlib.Path(entry["file"])
        names = names_within(read_text(path))
        candidates = open_groups.setdefault((path.parent, tuple(entry["options"])), [])
        for group, taken in candidates:
            if len(group) < MOST_TOGETHER and not names & taken:
                group.append(entry)
                taken |= names
                break
        else:
            group = [entry]
            groups.append(group)
            candidates.append((group, names))
    return groups


def read_alone(entry):
    return run_clang_tidy(pathlib.Path(entry["file"]), entry["options"])


def run_clang_tidy(path, options):
    """What it says, "" when nothing."""
    result = subprocess.run([*ARGUMENTS, str(path), "--", *options], stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, errors="replace", check=False)
    return "" if result.returncode == 0 else (result.stdout + result.stderr) or f"exit {result.returncode}"


def read_together(group):
    """Whether one text of all of them is clean. It lies in a folder like theirs, because that chooses the .clang-tidy."""
    folder = TOGETHER / str(pathlib.Path(group[0]["file"]).parent.relative_to(ROOT))
    folder.mkdir(parents=True, exist_ok=True)
    if "tests" in folder.parts and CONFIGURATIONS[1].is_file():
        (TOGETHER / "tests" / ".clang-tidy").write_text(read_text(CONFIGURATIONS[1]))
    path = folder / f"{os.getpid()}-{threading.get_ident()}.cc"
    path.write_text("".join(f'#line 1 "{entry["file"]}"\n{read_text(pathlib.Path(entry["file"]))}\n' for entry in group))
    try:
        return not run_clang_tidy(path, group[0]["options"])
    finally:
        path.unlink()


def check(group):
    """[(path, what clang-tidy says, "" when nothing)]."""
    if len(group) > 1 and not read_together(group):
        half = len(group) // 2
        return check(group[:half]) + check(group[half:])
    texts = [read_alone(group[0])] if len(group) == 1 else [""] * len(group)
    for entry, text in zip(group, texts):
        if not text:
            mark_of(entry).touch()
    return [(pathlib.Path(entry["file"]), text) for entry, text in zip(group, texts)]


def read_commands(build):
    """compile_commands.json, one entry per file of the repository, in the order of their names."""
    entries = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if not pathlib.Path(entry["file"]).is_relative_to(ROOT / "build"):
            entries[entry["file"]] = {"file": entry["file"], "options": options_of(entry)}
    return [entries[name] for name in sorted(entries)]


def main(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("files", nargs="*", help="default: all that the build folder compiles")
    options = parser.parse_args(words)
    wanted = {str(pathlib.Path(name).resolve()) for name in options.files}
    entries = [entry for entry in read_commands(options.build.resolve()) if not wanted or entry["file"] in wanted]
    PASSED.mkdir(parents=True, exist_ok=True)
    groups = groups_of([entry for entry in entries if not mark_of(entry).exists()])
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for answers in pool.map(check, groups):
            for path, text in answers:
                if text:
                    failed += 1
                    print(f"FAILED {path.relative_to(ROOT)}\n{text}", flush=True)
    print(f"{len(entries) - failed} passed, {failed} failed")
    return 1 if failed or not entries else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
