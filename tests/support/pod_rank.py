"""A rank of a recorded pod's job: writes down its place, then meets all others at the job's store.

One line per rank in $OUT/places: rank, world size, node rank, host name, and NAME=VALUE of what its framework is told of ranks.
"""
import json
import os
import socket

from store_client import StoreClient

RANKS = ("DMLC_TASK_ID", "DMLC_NUM_WORKER", "JAX_PROCESS_ID", "JAX_NUM_PROCESSES", "PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM")


def told():
    words = ["%s=%s" % (name, os.environ[name]) for name in RANKS if name in os.environ]
    if "TF_CONFIG" in os.environ:
        task = json.loads(os.environ["TF_CONFIG"])["task"]
        words.append("task=%s:%d" % (task["type"], task["index"]))
    return words


def main():
    place = [os.environ[name] for name in ("RANK", "WORLD_SIZE", "GROUP_RANK")] + [socket.gethostname()] + told()
    with open(os.path.join(os.environ["OUT"], "places"), "a") as file:
        file.write(" ".join(place) + "\n")
    with StoreClient.of_job(timeout_s=60) as store:
        store.set("here/" + os.environ["RANK"], "yes")
        for rank in range(int(os.environ["WORLD_SIZE"])):
            store.wait("here/%d" % rank)


if __name__ == "__main__":
    main()
