#!/usr/bin/env python3
"""Makes a folder of a .tree file: a machine's /sys, /proc and /dev as one text. The machines: tests/data/machines/fabric.

    machine_tree.py TREE FOLDER

FakeFiles::add_tree_text reads the same files into memory. After a comment each entry starts with its path:
    /a: text        a file of one line        /a -> target    a symbolic link
    /a:             a file of the lines that  /a ! EINVAL     a file whose read fails
                    follow, indented by 4     /a              an empty file
                                              /a/             a folder
A file whose read fails cannot be had on a disk: unpack() leaves it out. Standard library only.
"""

import os
import pathlib
import sys

INDENT = "    "
ERRNOS = ("EACCES", "EINVAL", "EIO", "ENODEV", "ENOENT", "ENXIO", "EOPNOTSUPP", "EPERM")  # fake_files.cc knows the same


class BadTree(Exception):
    """A line that is none of the above; the text names file and line."""


def entries_of(tree):
    """(path, kind, value) of each entry; kind: file, link, folder or unreadable (value: the name of the errno)."""
    lines = pathlib.Path(tree).read_text().split("\n")
    if lines.pop() != "":
        raise BadTree(f"{tree}:{len(lines) + 1}: no newline at the end")
    seen, at = set(), 0
    while at < len(lines):
        line, place = lines[at], f"{tree}:{at + 1}"
        at += 1
        if line.startswith("#") and not seen:
            continue
        path, _, rest = line.partition(" ")
        block = []
        while at < len(lines) and lines[at].startswith(INDENT):
            block.append(lines[at][len(INDENT):])
            at += 1
        path, kind, value = _entry(path, rest if line != path else None, block, place)
        if path in seen:
            raise BadTree(f"{place}: {path} is there twice")
        seen.add(path)
        yield path, kind, value


def _entry(path, rest, block, place):
    named = path.rstrip(":").removesuffix("/")
    if not path.startswith("/") or not named or any(part in ("", ".", "..") for part in named[1:].split("/")):
        raise BadTree(f"{place}: no path from the root: {path!r}")
    if block and (rest is not None or not path.endswith(":")):
        raise BadTree(f"{place}: lines belong only to a path that ends with ':'")
    if rest is None and path.endswith(":") and block:
        return path[:-1], "file", "".join(line + "\n" for line in block)
    if rest is None and path.endswith("/"):
        return path[:-1], "folder", ""
    if rest is None and not path.endswith(":"):
        return path, "file", ""
    if rest is not None and path.endswith(":"):
        return path[:-1], "file", rest + "\n"
    mark, _, value = (rest or "").partition(" ")
    if mark == "->" and value:
        return path, "link", value
    if mark == "!" and value in ERRNOS:
        return path, "unreadable", value
    raise BadTree(f"{place}: neither file nor link nor folder nor errno")


def unpack(tree, folder):
    """Writes the entries of `tree` below `folder`, which may exist and must be empty. Links are kept as they are."""
    made = set()
    for path, kind, value in entries_of(tree):
        place = str(folder) + path
        parent = place if kind == "folder" else os.path.dirname(place)
        if parent not in made:
            os.makedirs(parent, exist_ok=True)
            made.add(parent)
        if kind == "link":
            os.symlink(value, place)
        elif kind == "file":
            pathlib.Path(place).write_text(value)


def main(words):
    if len(words) != 2:
        sys.exit("usage: machine_tree.py TREE FOLDER")
    try:
        unpack(*words)
    except (BadTree, OSError) as wrong:
        sys.exit(f"machine_tree.py: {wrong}")


if __name__ == "__main__":
    main(sys.argv[1:])
