"""Rules for the rooms: which folder may include which. CMakeLists.txt has a row for each room; the rows are the permission.

    muster_room(rendezvous/wire base rendezvous/messages)

A row names only rooms of earlier rows, so that no arrow turns back, whatever is added. A permission that nobody uses is a
finding, too: it would be used one day without anybody deciding it.
"""

import posixpath
import re

from tree import LAYERS, includes_of

# Between the directories. No row may allow more than this.
DIRECTORIES = {
    "base": {"base"},
    "rendezvous": {"base", "rendezvous"},
    "elastic": {"base", "rendezvous", "elastic"},
    "mpi": {"base", "rendezvous", "elastic", "mpi"},
    "nccl": {"base", "nccl"},
    "launcher": set(LAYERS),
}
# Programs of their own, with a main: beside a room, and not part of it.
PROGRAMS = {"mpi/pmi/pmix_server": {"base", "mpi/pmi"}, "nccl/probe": {"base"}}


def rows_of(tree):
    """[(room, [rooms that it may include])] in the order of CMakeLists.txt."""
    text = re.sub(r"#[^\n]*", "", tree.files.get("CMakeLists.txt", ""))
    rows = [match[1].split() for match in re.finditer(r"^\s*muster_room\(([^)]*)\)", text, re.M)]
    return [(words[0], words[1:]) for words in rows if words]


def _used(tree, permitted):
    """Room -> rooms that its files do include."""
    used = {room: set() for room in permitted}
    for path, text in tree.cpp(*LAYERS).items():
        room = posixpath.dirname(path)
        used.setdefault(room, set()).update(posixpath.dirname(target) for _, target, quoted in includes_of(text) if quoted)
    return used


def includes_follow_the_rooms(tree):
    permitted = {room: set(others) for room, others in rows_of(tree)} | PROGRAMS
    found = []
    for path, text in tree.cpp(*LAYERS, "tests").items():
        room = posixpath.dirname(path)
        for line, target, quoted in includes_of(text):
            if quoted and target not in tree.files:
                found.append(f"{path}:{line}: \"{target}\" is no path from the root of the repository")
            elif not quoted and target in tree.files:
                found.append(f"{path}:{line}: our own {target} is included with \"\", not <>")
            elif quoted and not path.startswith("tests/") and posixpath.dirname(target) not in permitted.get(room, set()) | {room}:
                found.append(f"{path}:{line}: {room} may not include {posixpath.dirname(target)}")
    return found


def every_folder_is_a_room(tree):
    rooms = {room for room, _ in rows_of(tree)} | set(PROGRAMS)
    folders = {posixpath.dirname(path) for path in tree.cpp(*LAYERS)}
    return [f"{folder}: no row of CMakeLists.txt" for folder in sorted(folders - rooms)] + \
        [f"CMakeLists.txt: the room {room} has no files" for room in sorted(rooms - folders - set(PROGRAMS))]


def rooms_include_only_rooms_above(tree):
    found, above = [], []
    for room, others in rows_of(tree):
        for other in others:
            if other not in above:
                found.append(f"CMakeLists.txt: {room} includes {other}, which has no row above it")
            if other.split("/")[0] not in DIRECTORIES.get(room.split("/")[0], set()):
                found.append(f"CMakeLists.txt: {room.split('/')[0]} may not include {other.split('/')[0]}")
        above.append(room)
    return found


def permissions_are_used(tree):
    rows = rows_of(tree)
    used = _used(tree, [room for room, _ in rows])
    return [f"CMakeLists.txt: no file of {room} includes {other}" for room, others in rows for other in others
            if other not in used[room]]
