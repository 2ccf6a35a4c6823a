#!/usr/bin/env python3
"""Plays a recording of tests/data/wire to a server and compares its answers.

usage: replay_wire.py HOST PORT FILE...        (a fresh server per file: keys would remain)

Also a module: `replay(host, port, path)` returns the differences as a list of lines, empty if none.
"""
import select
import socket
import struct
import sys

REST_S = 0.05     # with nothing more to expect, this long without a byte is silence
PATIENCE_S = 10   # for an answer that is expected
LIST_KEYS = b"\x11"


def read_events(path):
    """[(kind, number, payload)]; kind is open, close, > or <."""
    events = []
    with open(path) as file:
        for line in file:
            words = line.split()
            if not words or words[0] == "#":
                continue
            if words[0] in ("open", "close"):
                events.append((words[0], int(words[1]), words[2] if len(words) > 2 else ""))
            else:
                events.append((words[1], int(words[0]), bytes.fromhex(words[2])))
    return events


def key_set(answer):
    """A LIST_KEYS answer as a sorted list, so that order does not matter; None if it is not one."""
    if len(answer) < 8:
        return None
    count, offset, keys = struct.unpack_from("<q", answer)[0], 8, []
    for _ in range(count):
        if len(answer) < offset + 8:
            return None
        length = struct.unpack_from("<Q", answer, offset)[0]
        keys.append(answer[offset + 8:offset + 8 + length])
        offset += 8 + length
    return sorted(keys) if offset == len(answer) else None


def receive(sockets, wanted):
    """What each socket has to say: as much as `wanted` ({number: bytes}), then until silence."""
    got = {number: b"" for number in sockets}
    alive = dict(sockets)
    while True:
        missing = any(len(got[number]) < len(expected) for number, expected in wanted.items() if number in alive)
        ready, _, _ = select.select(list(alive.values()), [], [], PATIENCE_S if missing else REST_S)
        if not ready:
            return got
        for number in [n for n, s in alive.items() if s in ready]:
            data = alive[number].recv(65536)
            got[number] += data
            if not data:
                del alive[number]


def replay(host, port, path):
    """Plays `path` to the server at `host`:`port`."""
    sockets, differences = {}, []
    events = read_events(path)
    for index, (kind, number, payload) in enumerate(events):
        if kind == "open":
            sockets[number] = socket.create_connection((host, port))
        elif kind == "close":
            sockets.pop(number).close()
        elif kind == ">":
            sockets[number].sendall(payload)
            wanted = {}
            for later_kind, later_number, later_payload in events[index + 1:]:
                if later_kind == ">":
                    break
                if later_kind == "<":
                    wanted[later_number] = wanted.get(later_number, b"") + later_payload
            got = receive(sockets, wanted)
            for other in got:
                expected = wanted.get(other, b"")
                same = got[other] == expected or (payload == LIST_KEYS and key_set(got[other]) is not None
                                                  and key_set(got[other]) == key_set(expected))
                if not same:
                    differences.append("event %d, after `%d > %s`: connection %d got %s, recorded %s" % (
                        index, number, payload.hex(), other, got[other].hex() or "nothing", expected.hex() or "nothing"))
    for end in sockets.values():
        end.close()
    return differences


def main():
    host, port = sys.argv[1], int(sys.argv[2])
    failed = False
    for path in sys.argv[3:]:
        differences = replay(host, port, path)
        print("%s: %s" % (path, "same" if not differences else "%d differences" % len(differences)))
        print("\n".join(differences[:5]))
        failed = failed or bool(differences)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
