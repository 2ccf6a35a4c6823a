"""LightGBM reads no environment: training without a network of its own is training of the job, all workers together."""
import functools
import os
import sys

# A script that gives any of these, or one of its other names, has a network of its own.
NETWORK = ("machines", "machine_list_filename", "num_machines", "local_listen_port")


class Network:
    """One for the life of the process: its port could not be bound a second time for a second model."""

    def __init__(self):
        self.machines = os.environ.get("LIGHTGBM_MACHINES", "")
        self.size = len(self.machines.split(",")) if self.machines else 0
        self.begun = False

    def begin(self, basic, minutes):
        if self.begun:
            return
        import ctypes

        basic._safe_call(basic._LIB.LGBM_NetworkInit(
            basic._c_str(self.machines), ctypes.c_int(int(os.environ["LIGHTGBM_LOCAL_LISTEN_PORT"])), ctypes.c_int(minutes),
            ctypes.c_int(self.size)))
        self.begun = True


network = Network()


def _filled(basic, params):
    """What train() gets; the same if the script has a network of its own."""
    given = dict(params or {})
    if network.size < 2 or any(alias in given for name in NETWORK for alias in basic._ConfigAliases.get(name)):
        return given
    times = [given[alias] for alias in basic._ConfigAliases.get("time_out") if alias in given]
    network.begin(basic, int(times[0]) if times else 120)
    given["num_machines"] = network.size
    learners = basic._ConfigAliases.get("tree_learner")
    # Serial, which is the default, would be a model of each worker's own.
    if all(given[alias] in (None, "serial") for alias in learners if alias in given):
        given = {key: value for key, value in given.items() if key not in learners}
        given["tree_learner"] = "data"
    return given


def _change_engine(module):
    import lightgbm.basic as basic

    train = module.train

    @functools.wraps(train)
    def joint_train(params, train_set, *args, **kwargs):
        filled = _filled(basic, params)
        if network.begun and getattr(train_set, "_handle", None) is not None:
            sys.stderr.write("muster: the Dataset was constructed before train(): its bins are those of this worker's rows alone\n")
        return train(filled, train_set, *args, **kwargs)

    module.train = joint_train


def _change_sklearn(module):
    """Its default is a thread for each core of the machine, whatever OMP_NUM_THREADS says: with several workers there, many times
    slower than one."""
    threads = os.environ.get("OMP_NUM_THREADS", "")
    count = getattr(module.LGBMModel, "_process_n_jobs", None)
    if not threads.isdigit() or count is None:
        return

    @functools.wraps(count)
    def process_n_jobs(self, n_jobs):
        return int(threads) if n_jobs is None else count(self, n_jobs)

    module.LGBMModel._process_n_jobs = process_n_jobs


def change(module):
    if module.__name__ == "lightgbm.sklearn":
        _change_sklearn(module)
    else:
        _change_engine(module)  # the scikit-learn classes call its train(), too
