import os, sys, time, signal
from torch.distributed.elastic.multiprocessing.errors import record

def load(path):
    raise ValueError(f"no shard at {path}: größe = 0 \u2713")

@record
def main():
    case = sys.argv[1]
    rank = int(os.environ["RANK"])
    if rank != int(os.environ["WORLD_SIZE"]) - 1:
        time.sleep(30)
        return
    if case == "value_error":
        load("/data/shard-0003")
    if case == "chained":
        try:
            {}["learning_rate"]
        except KeyError as error:
            raise RuntimeError("bad configuration\nsecond line of the message") from error
    if case == "empty_message":
        raise AssertionError
    if case == "exit":
        sys.exit(3)
    if case == "exit_text":
        sys.exit("fatal: no data")
    if case == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if case == "segv":
        os.kill(os.getpid(), signal.SIGSEGV)
    if case == "surrogate":
        raise OSError("cannot open " + os.fsdecode(b"/data/\xff\xfe"))

main()
