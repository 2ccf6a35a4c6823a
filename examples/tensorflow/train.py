"""One model, trained by all workers together. Nothing here says how many there are or where: TF_CONFIG does."""
import json
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

strategy = tf.distribute.MultiWorkerMirroredStrategy()
task = json.loads(os.environ.get("TF_CONFIG", '{"task": {"type": "worker", "index": 0}}'))["task"]
folder = os.environ.get("MODEL_DIR", "/tmp/muster-tensorflow")

features = np.linspace(-1, 1, 256, dtype="float32").reshape(-1, 1)
labels = 3 * features + 0.5
data = tf.data.Dataset.from_tensor_slices((features, labels)).batch(64)
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
data = strategy.experimental_distribute_dataset(data.with_options(options))

with strategy.scope():
    weight = tf.Variable(0.0)
    bias = tf.Variable(0.0)
    epoch = tf.Variable(0, dtype=tf.int64)

# Every worker saves, because saving may need all of them; each in a folder of its own. All begin where worker 0 was.
state = tf.train.Checkpoint(weight=weight, bias=bias, epoch=epoch)
saver = tf.train.CheckpointManager(state, os.path.join(folder, "%s-%d" % (task["type"], task["index"])), max_to_keep=2)
state.restore(tf.train.latest_checkpoint(os.path.join(folder, "worker-0")))


@tf.function
def step(batch):
    def of_one(x, y):
        error = weight * x + bias - y
        return tf.reduce_sum(error * error), tf.reduce_sum(2 * error * x), tf.reduce_sum(2 * error)

    parts = strategy.run(of_one, args=batch)
    return [strategy.reduce(tf.distribute.ReduceOp.SUM, part, axis=None) for part in parts]


while epoch < 30:
    sums = [0.0, 0.0, 0.0]
    for batch in data:
        sums = [a + b for a, b in zip(sums, step(batch))]
    weight.assign_sub(0.4 * sums[1] / 256)
    bias.assign_sub(0.4 * sums[2] / 256)
    epoch.assign_add(1)
    saver.save()
    if epoch % 10 == 0 and task["index"] == 0:
        print("epoch %d replicas %d loss %.6f" % (epoch.numpy(), strategy.num_replicas_in_sync, sums[0] / 256), flush=True)
if task["index"] == 0:
    print("model %.3f %.3f" % (weight.numpy(), bias.numpy()), flush=True)
