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
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/release"
SCRIPT = ROOT / "launcher/startup_order.ld"
MANY = 20  # so many that not all of them are told of each other
BEATS = "echo line; sleep 3"  # for heartbeats
FAILS_ONCE = 'sleep 0.3; echo line; test "$TORCHELASTIC_RESTART_COUNT" = 1'


def job(script, nodes=1):
    """The command line of an agent; --nnodes only where there are several."""
    several = ["--nnodes", str(nodes), "--rdzv-endpoint", "127.0.0.1:{port},127.0.0.2:{port}", "--local-addr", "127.0.0.{node}"]
    return ["run", *(several if nodes > 1 else []), "--nproc-per-node", str(2 if nodes == 1 else 1), "--max-restarts", "1", "--no-python",
            "sh", "-c", script]


JOBS = (  # (title, command line, stdin, how many agents, which is watched, which is there first); what most jobs need stands first
    ("the guardian", ["guard", "token", "folder"], b"d", 1, 1, 1),  # a process of its own
    ("a job that succeeds", job("echo line"), b"", 1, 1, 1),
    ("a node of two", job(BEATS, 2), b"", 2, 2, 1),  # it may lead, too: it does what any node does, and asks others
    ("a node that waits for its leader", job(BEATS, 2), b"", 2, 2, 2),
    ("the leader of two", job(BEATS, 2), b"", 2, 1, 1),
    ("a job that restarts", job(FAILS_ONCE), b"", 1, 1, 1),
    ("a node of many that start again", job(FAILS_ONCE, MANY), b"", MANY, 2, 1),
    ("the leader of such nodes", job(FAILS_ONCE, MANY), b"", MANY, 1, 1),
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


def functions_of(binary, folder, arguments, stdin, agents_wanted, watched, there_first):
    """Symbols of everything that ran in the watched agent, as callgrind saw it. Number 1 leads."""
    out, port = folder / "callgrind", free_port()
    watch = ["valgrind", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={out}"]
    agents = {}
    try:
        for each in sorted(range(1, agents_wanted + 1), key=lambda number: number != there_first):
            words = [binary, *(word.format(port=port, node=each) for word in arguments)]
            waited_for = each == there_first and agents_wanted > 1
            agents[each] = subprocess.Popen([*watch, *words] if each == watched else words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                            stderr=subprocess.PIPE if waited_for else subprocess.DEVNULL)
            if waited_for:
                wait_until_there(agents[each])
        agents[watched].communicate(stdin)
        codes = [agent.wait(60) for agent in agents.values()]
    finally:
        for agent in agents.values():
            agent.kill()
    if any(codes):
        raise SystemExit(f"{arguments[0]} ended with {codes}")
    return {re.sub(r"'\d+$", "", name) for name in re.findall(r"^c?fn=\(\d+\)\s+(\S+)", out.read_text(), re.M)}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def wait_until_there(agent):
    """Until it leads, or has found nobody who does. It logs little: the rest waits in the pipe."""
    if not any(b"leader.begin" in line or b"discovery.waiting" in line for line in agent.stderr):
        raise SystemExit("an agent ended before it had looked for a leader")


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
        member = re.search(r"lib(c|gcc|gcc_eh)\.a\((\S+\.o)\)$", source)
        if section == ".text" and member:
            return f"*lib{member[1]}.a:{member[2]}(.text)"
        # Sections named after one function. Libc's of one instruction set have many, and a machine chooses among the sets.
        of_one = section.startswith((".text._", ".text.startup.", ".text.unlikely._"))
        return f"*({section})" if of_one else None


def main():
    seen, text = set(), HEAD
    with tempfile.TemporaryDirectory(prefix="muster-order-") as folder:
        binary, link_map = link(Path(folder))
        layout = Layout(binary, link_map)
        for title, *what in JOBS:
            patterns = {layout.pattern(name) for name in functions_of(binary, Path(folder), *what)} - seen - {None}
            seen |= patterns
            text += f"    /* {title} */\n" + "".join(f"    {pattern}\n" for pattern in sorted(patterns))
    SCRIPT.write_text(text + TAIL)
    print(f"{SCRIPT.relative_to(ROOT)}: {len(seen)} sections")


if __name__ == "__main__":
    sys.exit(main())
