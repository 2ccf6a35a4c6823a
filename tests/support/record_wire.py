#!/usr/bin/env python3
"""Records what real PyTorch clients say to a real TCPStore server, for replay against ours.

usage: record_wire.py --python PYTHON --scenario store|gloo [--libuv 0|1] > FILE

Starts the server of that PyTorch, stands between it and the clients as a proxy, and prints the
conversation in the format of tests/data/wire/README.md. The proxy moves one chunk at a time and lets
the server come to rest before the next, so that the order in the file is the order of events.
"""
import argparse
import os
import selectors
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
REST_S = 0.004  # a server on this machine has answered by then
LIMIT_S = 120
SERVER = """
import sys, torch
from datetime import timedelta
import torch.distributed as dist
extra = {"use_libuv": sys.argv[1] == "1"} if hasattr(dist.TCPStore, "multi_get") else {}
store = dist.TCPStore("127.0.0.1", 0, None, True, timedelta(seconds=30), wait_for_workers=False, **extra)
print(store.port, torch.__version__, flush=True)
sys.stdin.read()
"""


class Recorder:
    """The proxy. Numbers connections in the order in which they came."""

    def __init__(self, server_port):
        self.server_port = server_port
        self.events = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.client_of = {}  # number -> socket to the client
        self.server_of = {}  # number -> socket to the server
        self.opened = 0
        self.silence = selectors.DefaultSelector()
        self.clients = selectors.DefaultSelector()
        self.clients.register(self.listener, selectors.EVENT_READ, None)

    def open(self):
        client, _ = self.listener.accept()
        number = self.opened
        self.opened += 1
        server = socket.create_connection(("127.0.0.1", self.server_port))
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.client_of[number], self.server_of[number] = client, server
        self.clients.register(client, selectors.EVENT_READ, number)
        self.silence.register(server, selectors.EVENT_READ, number)
        self.events.append("open %d" % number)

    def close(self, number, who):
        self.events.append("close %d %s" % (number, who))
        self.clients.unregister(self.client_of[number])
        self.silence.unregister(self.server_of[number])
        self.client_of.pop(number).close()
        self.server_of.pop(number).close()

    def drain_server(self):
        """Passes on everything the server has to say until it is quiet."""
        while True:
            ready = self.silence.select(REST_S)
            if not ready:
                return
            for key, _ in ready:
                self.pass_on(key.fileobj, self.client_of[key.data], key.data, "<", "server")

    def pass_on(self, source, target, number, direction, who):
        try:
            data = source.recv(65536)
        except ConnectionResetError:
            data = b""
        if not data:
            self.close(number, who)
            return
        self.events.append("%d %s %s" % (number, direction, data.hex()))
        target.sendall(data)

    def run(self, finished):
        """Until `finished()` and the last connection is closed."""
        deadline = time.monotonic() + LIMIT_S
        while not finished() or self.client_of:
            if time.monotonic() > deadline:
                raise SystemExit("record_wire: the clients did not finish in %d s" % LIMIT_S)
            # One event, then rest: two clients' chunks never reach the server together.
            for key, _ in self.clients.select(0.1)[:1]:
                if key.data is None:
                    self.open()
                else:
                    number = key.data
                    self.pass_on(key.fileobj, self.server_of[number], number, ">", "client")
            self.drain_server()


def client_commands(options, port, version):
    """[(arguments, environment)], one per client process."""
    if options.scenario == "store":
        return [(["torch_store.py", "127.0.0.1", str(port), "--libuv", str(options.libuv)], {})]
    common = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "TORCHELASTIC_RESTART_COUNT": "0",
              "TORCHELASTIC_USE_AGENT_STORE": "True", "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    arguments = ["torch_collectives.py", "--only", "init"]
    if options.libuv == 0 and not version.startswith("1."):
        arguments += ["--libuv", "0", "--store", "127.0.0.1:%d" % port]
    return [(arguments, dict(common, RANK=str(rank), LOCAL_RANK=str(rank))) for rank in range(2)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", required=True)
    parser.add_argument("--scenario", choices=["store", "gloo"], required=True)
    parser.add_argument("--libuv", type=int, default=1)
    options = parser.parse_args()

    server = subprocess.Popen([options.python, "-c", SERVER, str(options.libuv)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    clients = []
    try:
        port, version = server.stdout.readline().split()
        recorder = Recorder(int(port))
        for arguments, environment in client_commands(options, recorder.port, version):
            command = [options.python, os.path.join(HERE, arguments[0])] + arguments[1:]
            clients.append(subprocess.Popen(command, env=dict(os.environ, **environment), stdout=sys.stderr))
        recorder.run(lambda: all(client.poll() is not None for client in clients))
        if any(client.wait() != 0 for client in clients):
            raise SystemExit("record_wire: a client failed")
    finally:
        for process in clients + [server]:
            process.kill()
            process.wait()
    kind = "poll thread" if version.startswith("1.") else "libuv" if options.libuv else "legacy"
    print("# muster wire recording, format 1: see README.md")
    print("# scenario: %s" % options.scenario)
    print("# client and server: PyTorch %s, %s backend" % (version, kind))
    print("\n".join(recorder.events))


if __name__ == "__main__":
    main()
