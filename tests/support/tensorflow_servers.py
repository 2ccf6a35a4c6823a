"""A job with parameter servers: the chief adds up what workers compute. Worker 0 kills itself once, after its first answer.

usage: tensorflow_servers.py FOLDER"""
import json
import os
import sys
import threading

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import tensorflow as tf  # noqa: E402

FOLDER = sys.argv[1]
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
task = json.loads(os.environ["TF_CONFIG"])["task"]


def kill_once():
    """When the chief says so, which hears of the second start, too."""
    if os.path.exists(os.path.join(FOLDER, "killed")):
        with open(os.path.join(FOLDER, "again"), "w") as pipe:
            pipe.write("again")
        return
    os.mkfifo(os.path.join(FOLDER, "kill"))
    with open(os.path.join(FOLDER, "kill")) as pipe:
        pipe.read()
    open(os.path.join(FOLDER, "killed"), "w").close()
    os.kill(os.getpid(), 9)


if task["type"] in ("worker", "ps"):
    print("serves %s %d" % (task["type"], task["index"]), flush=True)
    if task["type"] == "worker" and task["index"] == 0:
        threading.Thread(target=kill_once, daemon=True).start()
    tf.distribute.Server(resolver.cluster_spec(), job_name=task["type"], task_index=task["index"], protocol="grpc").join()

strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    total = tf.Variable(0.0)


@tf.function
def add():
    total.assign_add(1.0)
    return total.read_value()


os.mkfifo(os.path.join(FOLDER, "again"))
for _ in range(10):
    coordinator.schedule(add)
coordinator.join()
with open(os.path.join(FOLDER, "kill"), "w") as pipe:
    pipe.write("now")
with open(os.path.join(FOLDER, "again")) as pipe:
    pipe.read()
for _ in range(10):
    coordinator.schedule(add)
coordinator.join()
print("total %g" % total.numpy(), flush=True)
os._exit(0)  # TensorFlow 2.21 may wait here for ever, since a worker was gone
