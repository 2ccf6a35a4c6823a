#!/usr/bin/env python3
"""A launcher that outlives changes of its nodes, as small as can be: what elastic Horovod's does to the nodes, without Horovod.

usage: elastic_launcher.py [--min N] [--discovery COMMAND] -- COMMAND...

Asks a discovery program for the hosts again and again, starts COMMAND over ssh once for each slot of each new host, with a rank, and
takes a host that fails off its own list. Ends with 0 when all that it started and that still counts has ended well, and with 4 when
less than --min is left. Prints what it sees, line by line: "hosts 1: a:1,b:1", "up 2: a,b", "ended b: 143".
"""
import argparse
import os
import shlex
import subprocess
import sys
import time

LOOK_EVERY_S = 0.1


def say(text):
    print(text, flush=True)


def discover(program):
    found = subprocess.run(program, shell=True, stdout=subprocess.PIPE, text=True, check=True).stdout
    return dict((host, int(slots)) for host, slots in (line.split(":") for line in found.split()))


def start(host, rank, size, words):
    variables = {"HOROVOD_RANK": rank, "HOROVOD_SIZE": size, **{name: os.environ[name] for name in ("MUSTER_RANK_REPORT", "OUT")}}
    given = " ".join("%s=%s" % (name, shlex.quote(str(value))) for name, value in variables.items())
    command = "cd %s > /dev/null 2>&1 ; env %s %s" % (shlex.quote(os.getcwd()), given, " ".join(shlex.quote(word) for word in words))
    # The words of horovodrun.
    return subprocess.Popen("ssh -o PasswordAuthentication=no -o StrictHostKeyChecking=no %s %s" % (host, shlex.quote(command)),
                            shell=True, stdin=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--min", type=int, default=1)
    parser.add_argument("--discovery", default="discover_hosts.sh")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    say("launcher %d" % os.getpid())
    seen, workers, failed, rank, lists = {}, {}, set(), 0, 0
    while True:
        hosts = discover(options.discovery)
        if hosts != seen:
            lists += 1
            say("hosts %d: %s" % (lists, ",".join("%s:%d" % item for item in hosts.items())))
            seen = hosts
        for host, slots in hosts.items():
            if host in failed or host in workers:
                continue
            workers[host] = [start(host, rank + slot, rank + slots, command) for slot in range(slots)]
            rank += slots
            say("up %d: %s" % (len(workers), ",".join(sorted(workers))))
        for host, processes in list(workers.items()):
            codes = [process.poll() for process in processes]
            if any(codes):
                say("ended %s: %s" % (host, max(code or 0 for code in codes)))
                failed.add(host)
                del workers[host]
        if workers and all(process.poll() == 0 for processes in workers.values() for process in processes):
            say("done")
            return 0
        if failed and len(workers) < options.min:
            say("too few")
            return 4
        time.sleep(LOOK_EVERY_S)


if __name__ == "__main__":
    sys.exit(main())
