"""XGBoost 2.1 and newer read no environment: a context without arguments gets the tracker of the job here. Older ones do, and are
left alone."""
import functools
import os

HANDLED = "_muster_tracker"  # on a RabitTracker that stands for Muster's


def _is_new(module):
    """By what is there: the distribution may have another name than the package (xgboost-cpu)."""
    try:
        with open(os.path.join(os.path.dirname(module.__file__), "VERSION")) as file:
            major, minor = file.read().strip().split(".")[:2]
        return (int(major), int(minor)) >= (2, 1)
    except (OSError, ValueError):
        return hasattr(module, "signal_error") or hasattr(getattr(module, "RabitTracker", None), "wait_for")


def _arguments():
    """What a context of this job needs."""
    found = {}
    host, _, port = os.environ.get("MUSTER_XGBOOST_TRACKER", "").rpartition(":")
    if not host:
        return found
    found["dmlc_tracker_uri"] = host.strip("[]")
    found["dmlc_tracker_port"] = int(port)
    if "MUSTER_XGBOOST_TASK_ID" in os.environ:
        found["dmlc_task_id"] = os.environ["MUSTER_XGBOOST_TASK_ID"]
    for key in ("dmlc_retry", "dmlc_timeout"):
        value = os.environ.get("MUSTER_XGBOOST_" + key[len("dmlc_"):].upper(), "")
        if value:
            found[key] = int(value)
    return found


def _filled(given):
    keys = {key.lower(): value for key, value in given.items()}
    ours = _arguments()
    port = keys.get("dmlc_tracker_port")
    # Another tracker, or another kind of communicator, is the script's own business.
    if keys.get("dmlc_communicator") not in (None, "rabit") or (port and str(port) != str(ours.get("dmlc_tracker_port"))):
        return given
    missing = {key: value for key, value in ours.items() if keys.get(key) is None}
    return dict({key: value for key, value in given.items() if key.lower() not in missing}, **missing)


def _change_collective(module):
    if not _is_new(module):
        return
    init = module.init

    @functools.wraps(init)
    def filled_init(**args):
        return init(**_filled(args))

    module.init = filled_init


def _change_tracker(module):
    if not _is_new(module):
        return
    tracker = module.RabitTracker
    originals = {name: getattr(tracker, name) for name in ("__init__", "start", "wait_for", "worker_args")}

    @functools.wraps(originals["__init__"])
    def init(self, *args, **kwargs):
        port = kwargs.get("port", args[2] if len(args) > 2 else 0)
        # Muster listens there already, for all workers: what the script would start stands for that tracker.
        if port and str(port) == os.environ.get("DMLC_TRACKER_PORT"):
            setattr(self, HANDLED, True)
            return None
        return originals["__init__"](self, *args, **kwargs)

    tracker.__init__ = init

    def stand_in(name, answer):
        original = originals[name]

        @functools.wraps(original)
        def method(self, *args, **kwargs):
            if getattr(self, HANDLED, False):
                return answer()
            return original(self, *args, **kwargs)

        setattr(tracker, name, method)

    stand_in("start", lambda: None)
    stand_in("wait_for", lambda: None)
    # As upstream's: the address, and no task id.
    stand_in("worker_args", lambda: {key: value for key, value in _arguments().items() if key.startswith("dmlc_tracker")})


def change(module):
    if module.__name__ == "xgboost.collective":
        _change_collective(module)
    else:
        _change_tracker(module)
