"""Posts the journals of a job that has ended to a dashboard: post.py URL FOLDER, the --run-dir of `muster local`. A sidecar does it while
the job runs, and never loses an event; this is for what is left of old jobs."""
import glob
import json
import os
import sys
import urllib.request

BATCH = 500  # events; 1 MiB is the limit of a body


def post(url, node, lines):
    events = [json.loads(line) for line in lines]
    body = {"version": 1, "job": events[0]["job"], "node": node, "events": events}
    request = urllib.request.Request(url + "webhook", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        answer.read()


url, folder = sys.argv[1:]
for journal in sorted(glob.glob(os.path.join(folder, "**", "events.jsonl"), recursive=True)):
    with open(journal) as file:
        lines = file.read().splitlines()
    for first in range(0, len(lines), BATCH):
        post(url, json.loads(lines[first])["node"], lines[first:first + BATCH])
