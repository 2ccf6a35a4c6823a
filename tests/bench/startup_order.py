#!/usr/bin/env python3
"""Writes launcher/startup_order.ld: which functions run when a plain job starts and when nodes form rounds, so that the
linker puts them side by side. The kernel maps a binary in blocks of 64 KiB around each page that is touched; strewn over
5 MB of code, a start touches forty of them, side by side twenty. Needs valgrind and a build of the preset release.

    tests/bench/startup_order.py

An old list does no harm: a name that is gone is ignored, a function that is missing lies where it would have."""
import bisect
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/release"
SCRIPT = ROOT / "launcher/startup_order.ld"
NODES = 20  # so many that not all of them are told of each other
FAILS_ONCE = 'sleep 0.3; echo line; test "$TORCHELASTIC_RESTART_COUNT" = 1'
JOBS = (  # the guardian first: it is a process of its own and needs only what stands first
    ("the guardian", ["guard", "token", "folder"], b"d"),
    ("a job that succeeds", ["run", "--nproc-per-node", "2", "--no-python", "sh", "-c", "echo line"], b""),
    ("a job that restarts", ["run", "--nproc-per-node", "2", "--max-restarts", "1", "--no-python", "sh", "-c", FAILS_ONCE], b""),
    ("the leader of nodes that start again", ["run", "--nnodes", str(NODES), "--rdzv-endpoint", "127.0.0.1:{port}", "--nproc-per-node", "1",
                                              "--max-restarts", "1", "--no-python", "sh", "-c", FAILS_ONCE], b""),
)
HEAD = """/* Made by tests/bench/startup_order.py, which says why: the functions of a start and of rounds, in front of all others. */
SECTIONS
{
  .text_startup :
  {
"""
TAIL = "  }\n}\nINSERT BEFORE .text;\n"


def link(folder):
    """The binary with its symbols, and the linker's map of it."""
    command = subprocess.run(["ninja", "-t", "commands", "muster"], cwd=BUILD, capture_output=True, text=True, check=True).stdout
    words = shlex.split(command.strip().splitlines()[-1])
    words = words[words.index("&&") + 1:]
    words = words[:words.index("&&")]
    words[words.index("-o") + 1] = str(folder / "muster")
    subprocess.run([*words, f"-Wl,-Map={folder / 'map'}"], cwd=BUILD, check=True)
    return folder / "muster", (folder / "map").read_text()


def functions_of(binary, arguments, stdin, folder):
    """Symbols of everything that ran, as callgrind saw it; of the one that leads, if the job has nodes."""
    out = folder / "callgrind"
    port = free_port()
    arguments = [word.format(port=port) for word in arguments]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    watched = ["valgrind", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={out}", binary, *arguments]
    agents = [subprocess.Popen(watched, stdin=subprocess.PIPE, **quiet)]
    try:
        if "--nnodes" in arguments:
            wait_for(port)
            agents += [subprocess.Popen([binary, *arguments], stdin=subprocess.DEVNULL, **quiet) for _ in range(NODES - 1)]
        agents[0].communicate(stdin)
        codes = [agent.wait(60) for agent in agents]
    finally:
        for agent in agents:
            agent.kill()
    if any(codes):
        raise SystemExit(f"{arguments[0]} ended with {codes}")
    return {re.sub(r"'\d+$", "", name) for name in re.findall(r"^c?fn=\(\d+\)\s+(\S+)", out.read_text(), re.M)}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def wait_for(port):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"nobody listens on port {port}")


class Layout:
    """Which input section a symbol lies in."""

    def __init__(self, binary, link_map):
        placed = link_map.split("Linker script and memory map")[1]
        found = re.findall(r"^ (\.text\S*)\s+0x([0-9a-f]+)\s+0x([0-9a-f]+) (\S+)$", placed, re.M)
        self.sections = sorted((int(start, 16), name, source) for name, start, size, source in found if int(size, 16))
        self.symbols = {}
        for line in subprocess.run(["nm", binary], capture_output=True, text=True, check=True).stdout.splitlines():
            address, kind, name = line.split() if line[0] != " " else ("0", "U", "")
            if kind in "tTwWiV":
                self.symbols[name] = int(address, 16)

    def pattern(self, symbol):
        """The linker script's word for it; None for what must not be moved by name."""
        if symbol not in self.symbols:
            return None
        _, section, source = self.sections[bisect.bisect(self.sections, (self.symbols[symbol], "\x7f")) - 1]
        member = re.search(r"libc\.a\((\S+\.o)\)$", source)
        if section == ".text" and member:
            return f"*libc.a:{member[1]}(.text)"
        # In the sections of one instruction set libc has many functions, and a machine chooses among the sets.
        return f"*({section})" if section.startswith(".text._Z") else None


def main():
    seen, text = set(), HEAD
    with tempfile.TemporaryDirectory(prefix="muster-order-") as folder:
        binary, link_map = link(Path(folder))
        layout = Layout(binary, link_map)
        for title, arguments, stdin in JOBS:
            patterns = {layout.pattern(name) for name in functions_of(binary, arguments, stdin, Path(folder))} - seen - {None}
            seen |= patterns
            text += f"    /* {title} */\n" + "".join(f"    {pattern}\n" for pattern in sorted(patterns))
    SCRIPT.write_text(text + TAIL)
    print(f"{SCRIPT.relative_to(ROOT)}: {len(seen)} sections")


if __name__ == "__main__":
    sys.exit(main())
