#!/usr/bin/env python3
"""A controller that only listens: prints its port, takes POST, and tells at GET what it knows."""
import collections
import gzip
import http.server
import json

events = collections.defaultdict(dict)  # by node, then by id: what comes twice counts once


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        report = json.loads(body)
        for event in report["events"]:
            events[report["node"]][event["id"]] = event
        self.answer("")

    def do_GET(self):
        lines = []
        for node, known in sorted(events.items()):
            numbers = sorted(event["seq"] for event in known.values())
            missing = len(set(range(1, numbers[-1] + 1)) - set(numbers))
            ends = [event["result"] for event in known.values() if event["event"] == "job.end"]
            failures = sum(event["event"] == "worker.exit" and event["level"] == "error" for event in known.values())
            lines.append("%s: missing %d, failures %d, end %s\n" % (node, missing, failures, ",".join(ends)))
        self.answer("".join(lines))

    def answer(self, text):
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
