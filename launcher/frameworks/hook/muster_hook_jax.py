"""jax.distributed.initialize() takes the number of processes and its own number from arguments or a scheduler that it knows, and
its timeouts from arguments alone: what the script leaves out are those of the job. And a process that failed does not wait for
the others before it exits: JAX's barrier there takes 300 s, while they wait for that process."""
import atexit
import functools
import inspect
import json
import os
import sys
import threading
import time

NUMBERS = {
    "num_processes": "JAX_NUM_PROCESSES",
    "process_id": "JAX_PROCESS_ID",
    "heartbeat_timeout_seconds": "MUSTER_JAX_HEARTBEAT_TIMEOUT",
    "shutdown_timeout_seconds": "MUSTER_JAX_SHUTDOWN_TIMEOUT",
}
PLACES = ("coordinator_address", "num_processes", "process_id", "local_device_ids")

exit_code = 0  # of a SystemExit that nobody has caught
initialized = False


def _arguments():
    ours = {key: int(os.environ[name]) for key, name in NUMBERS.items() if os.environ.get(name)}
    if os.environ.get("JAX_COORDINATOR_ADDRESS"):
        ours["coordinator_address"] = os.environ["JAX_COORDINATOR_ADDRESS"]
    if os.environ.get("JAX_LOCAL_DEVICE_IDS"):
        ours["local_device_ids"] = [int(device) for device in os.environ["JAX_LOCAL_DEVICE_IDS"].split(",")]
    return ours


def _can_ask_nobody(module):
    try:
        return "'deactivate'" in inspect.getsource(module.State.initialize)
    except (AttributeError, OSError, TypeError):
        return False


def _filled(given, known, can_ask_nobody):
    """`known`: the parameters that this version has. `can_ask_nobody`: it has a word for it."""
    ours = _arguments()
    if given.get("cluster_detection_method") not in (None, "deactivate"):
        ours = {key: value for key, value in ours.items() if key not in PLACES}  # the script asks somebody else
    filled = dict(given, **{key: value for key, value in ours.items() if key in known and given.get(key) is None})
    # For the devices, which may be all, it would ask Kubernetes, whose answers need a package and rights.
    if can_ask_nobody and all(filled.get(key) is not None for key in PLACES[:3]):
        filled.setdefault("cluster_detection_method", "deactivate")
    return filled


def _failure():
    """The exit code of a process that ends because it failed; 0 = it does not."""
    error = getattr(sys, "last_type", None)  # of an exception that nobody caught
    if error is not None:
        return 1 if issubclass(error, Exception) else 0
    return exit_code


class ExitCode:
    """Goes with its SystemExit. If then no function runs, nobody caught that, and the process ends with the code."""

    def __init__(self, code):
        self.code = code & 0xFF if isinstance(code, int) else int(code is not None)

    def __del__(self):
        global exit_code
        if exit_code == 0 and sys is not None and sys._getframe().f_back is None:
            exit_code = self.code


def _first():
    """Of all functions that run at the exit: JAX's own would close connections long before the process ends, so that its peers'
    failures came first."""
    if _failure() != 0:
        atexit.unregister(getattr(sys.modules.get("jax._src.api"), "clean_up", None))


def _record():
    """The connections go a few milliseconds before the process, and whoever loses them may end sooner. An exception's traceback says
    which came first; of an exit code nothing does but this."""
    path = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if path and exit_code != 0 and not os.path.exists(path):
        extra = {"py_callstack": "", "timestamp": str(int(time.time()))}
        with open(path, "w") as file:
            json.dump({"message": {"message": "SystemExit: %d" % exit_code, "extraInfo": extra}}, file)


def last():
    """Without it the coordination service, of which process 0 is the host, is torn down below its own client, which aborts."""
    code = _failure()
    if code != 0 and initialized:
        for step in (_record, sys.stdout.flush, sys.stderr.flush):
            try:
                step()
            except Exception:
                pass  # nobody reads it any more
        os._exit(code)


def change(module):
    initialize, shutdown, leave = module.initialize, module.shutdown, sys.exit
    signature = inspect.signature(initialize)
    can_ask_nobody = _can_ask_nobody(module)

    @functools.wraps(initialize)
    def filled_initialize(*args, **kwargs):
        global initialized
        try:
            given = signature.bind_partial(*args, **kwargs).arguments
        except TypeError:
            return initialize(*args, **kwargs)  # its own words for what is wrong
        initialize(**_filled(given, signature.parameters, can_ask_nobody))
        initialized = True
        atexit.register(_first)

    @functools.wraps(shutdown)
    def quick_shutdown():
        # From a handler or a finally it comes again at the exit, where it is known whether the process fails.
        if _failure() == 0 and sys.exc_info()[0] is None:
            shutdown()

    @functools.wraps(leave)
    def noted_exit(code=None):
        error = SystemExit() if code is None else SystemExit(code)
        if threading.current_thread() is threading.main_thread():
            error.muster_code = ExitCode(code)
        try:
            raise error
        finally:
            del error  # its traceback has this frame, which would keep it

    module.initialize, module.shutdown, sys.exit = filled_initialize, quick_shutdown, noted_exit
