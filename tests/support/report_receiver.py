"""A receiver of reports, as a controller has one: HTTP or HTTPS, with answers on demand. Also a journal that a test writes
itself, in place of an agent."""
import collections
import fcntl
import gzip
import http.server
import json
import os
import socket
import ssl
import struct
import subprocess
import threading
import time


class Request:
    def __init__(self, method, path, headers, body):
        self.method, self.path, self.headers, self.raw = method, path, headers, body
        self.packed = headers.get("Content-Encoding") == "gzip"
        self.body = json.loads(gzip.decompress(body) if self.packed else body)
        self.at = time.monotonic()

    @property
    def token(self):
        return self.headers.get("Authorization")


class Receiver:
    """Answers 200 to all, except the next requests for which `script` has something: a status, (status, headers, body), or a
    function of (handler, request) that answers itself. `always` comes after the script."""

    def __init__(self, port=0, context=None):
        self.script = collections.deque()
        self.always = 200
        self.requests = []  # that were complete, whatever the answer
        self.taken = []     # (request, event) of those that were answered with 2xx
        self.changed = threading.Condition()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 30

            def setup(self):
                if context is not None:
                    self.request = context.wrap_socket(self.request, server_side=True)
                super().setup()

            def answer(self):
                length = int(self.headers.get("Content-Length", 0))
                body = self.rfile.read(length)
                if len(body) == length:
                    receiver._answer(self, Request(self.command, self.path, self.headers, body))

            do_POST = do_PATCH = do_GET = answer

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 64
            allow_reuse_address = True

            def handle_error(self, *_):
                pass  # who hangs up, or does not trust us

        self.server = Server(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        self.scheme = "http" if context is None else "https"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    def url(self, path="/webhook"):
        return "%s://localhost:%d%s" % (self.scheme, self.port, path)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def _answer(self, handler, request):
        with self.changed:
            behaviour = self.script.popleft() if self.script else self.always
            if not callable(behaviour):
                status, headers, body = behaviour if isinstance(behaviour, tuple) else (behaviour, {}, b"")
                self.note(request, status)
        if callable(behaviour):
            return behaviour(handler, request)
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def note(self, request, status):
        with self.changed:
            self.requests.append(request)
            if 200 <= status < 300:
                self.taken += [(request, event) for event in request.body.get("events", [])]
            self.changed.notify_all()

    def wait_until(self, condition, what, timeout_s=30):
        deadline = time.monotonic() + timeout_s
        with self.changed:
            while not condition():
                left = deadline - time.monotonic()
                if left <= 0:
                    raise AssertionError("%s did not happen; %d requests, %d events" % (what, len(self.requests), len(self.taken)))
                self.changed.wait(min(left, 0.2))

    def events(self):
        """Each event once, by id, in the order in which it came first."""
        with self.changed:
            seen = {}
            for _, event in self.taken:
                seen.setdefault(event["id"], event)
            return list(seen.values())

    def wait_for_event(self, name, count=1, timeout_s=30):
        self.wait_until(lambda: sum(event["event"] == name for event in self.events()) >= count, name, timeout_s)


def half_an_answer(handler, request):
    """Promises more than comes, and hangs up."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
    handler.wfile.flush()
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.close_connection = True


class Journal:
    """Writes DIR/events.jsonl as an agent does, and holds its lock."""

    def __init__(self, folder, mark="agent1", first=1, node="node-0"):
        self.folder, self.mark, self.seq, self.node = folder, mark, first - 1, node
        os.makedirs(folder, exist_ok=True)
        self.lock = os.open(os.path.join(folder, "agent.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.written = []

    def line(self, event, **fields):
        self.seq += 1
        head = {"id": "%s-%d" % (self.mark, self.seq), "seq": self.seq, "time": "2026-11-27T21:07:51.192Z", "monotonic_ms": 1,
                "level": "info", "event": event, "job": "bert", "run_id": "bert", "node": self.node}
        head.update(fields)
        self.written.append(head)
        return json.dumps(head, separators=(",", ":")) + "\n"

    def say(self, event, **fields):
        self.say_all([(event, fields)])

    def say_all(self, events):
        text = "".join(self.line(name, **fields) for name, fields in events)
        with open(os.path.join(self.folder, "events.jsonl"), "a") as file:
            file.write(text)

    def end(self, result="succeeded"):
        self.say("job.end", result=result, exit_code=0 if result == "succeeded" else 1)
        self.let_go()

    def let_go(self):
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None


class Authority:
    """A certificate authority of openssl(1), and certificates for localhost that it has signed."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.path = os.path.join(folder, name + ".crt")
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                      "-subj", "/CN=" + name, "-keyout", name + ".key", "-out", name + ".crt")

    def _openssl(self, *words):
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)

    def sign(self, name, subject="localhost"):
        """(certificate, key) as paths."""
        with open(os.path.join(self.folder, name + ".ext"), "w") as file:
            file.write("subjectAltName=DNS:%s,IP:127.0.0.1\n" % subject)
        self._openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=" + subject,
                      "-keyout", name + ".key", "-out", name + ".csr")
        self._openssl("x509", "-req", "-in", name + ".csr", "-CA", self.name + ".crt", "-CAkey", self.name + ".key",
                      "-CAcreateserial", "-days", "2", "-extfile", name + ".ext", "-out", name + ".crt")
        return os.path.join(self.folder, name + ".crt"), os.path.join(self.folder, name + ".key")

    def context(self, server="server", clients=None):
        """Of a server. `clients`: the path of an authority that has signed those of its clients."""
        certificate, key = self.sign(server)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        if clients is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(clients)
        return context
