"""What a dashboard knows of a job, in a few lines: show.py URL JOB."""
import json
import sys
import urllib.parse
import urllib.request

url, name = sys.argv[1:]
with urllib.request.urlopen("%sapi/jobs/%s" % (url, urllib.parse.quote(name, safe=""))) as answer:
    job = json.load(answer)["job"]
print("%s: %s, step %d of %d" % (name, job["state"], job["progress"]["step"], job["progress"]["total"]))
for row in job["rows"]:
    print("  %s: %s" % (row["name"], ", ".join(span["state"] for span in row["spans"])))
for restart in job["restart_list"]:
    print("  restart after %s: %s" % (restart["cause"], restart["reason"]))
print("  last lines of rank %d: %s" % (job["failure"]["rank"], job["failure"]["last_lines"][-1]))
