"""A TCPStore client that speaks bytes, for tests that need to do what PyTorch's never does. No torch.

Also usable inside workers: `StoreClient.of_job()` dials MASTER_ADDR:MASTER_PORT.
"""
import os
import socket
import struct

VALIDATE = b"\x00\xce\xf7\x85\x3c"
SET, COMPARE_SET, GET, ADD, CHECK, WAIT, GETNUMKEYS, DELETE_KEY, APPEND, MULTI_GET, MULTI_SET, CANCEL_WAIT, PING = range(1, 14)
QUEUE_PUSH, QUEUE_POP, QUEUE_LEN, LIST_KEYS, BARRIER = range(14, 19)


def text(value):
    """A string on the wire: u64 length and the bytes."""
    value = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(value)) + value


def keys(*names):
    return struct.pack("<Q", len(names)) + b"".join(text(name) for name in names)


def number(value):
    return struct.pack("<q", value)


class Closed(Exception):
    """The server closed the connection."""


class StoreClient:
    """One connection. Methods are named after the operations and block until answered."""

    def __init__(self, host, port, validate=True, timeout_s=30):
        self.socket = socket.create_connection((host, port), timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if validate:
            self.send(VALIDATE)

    @classmethod
    def of_job(cls, **how):
        return cls(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), **how)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def receive(self, size):
        data = b""
        while len(data) < size:
            chunk = self.socket.recv(min(size - len(data), 1 << 20))
            if not chunk:
                raise Closed("after %d of %d bytes" % (len(data), size))
            data += chunk
        return data

    def request(self, op, *parts):
        self.send(bytes([op]) + b"".join(parts))

    def receive_number(self):
        return struct.unpack("<q", self.receive(8))[0]

    def receive_text(self):
        return self.receive(self.receive_number())

    def ping(self, nonce=4711):
        self.request(PING, struct.pack("<I", nonce))
        return struct.unpack("<I", self.receive(4))[0] == nonce

    def set(self, key, value):
        """SET has no answer; the PING behind it has."""
        self.request(SET, text(key), text(value))
        assert self.ping()

    def get(self, key):
        self.request(GET, text(key))
        return self.receive_text()

    def add(self, key, delta):
        self.request(ADD, text(key), number(delta))
        return self.receive_number()

    def check(self, *names):
        self.request(CHECK, keys(*names))
        return self.receive(1) == b"\0"

    def wait(self, *names):
        self.request(WAIT, keys(*names))
        return self.receive(1)

    def num_keys(self):
        self.request(GETNUMKEYS)
        return self.receive_number()

    def delete(self, key):
        self.request(DELETE_KEY, text(key))
        return self.receive_number()

    def is_closed_by_server(self):
        """Waits for the end of the connection; anything that still comes is ignored."""
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionResetError:
            pass
        except (TimeoutError, socket.timeout):
            return False
        return True
