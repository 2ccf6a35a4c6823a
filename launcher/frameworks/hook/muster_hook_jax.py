"""jax.distributed.initialize() takes the number of processes and its own number from arguments or a scheduler that it knows, and
its timeouts from arguments alone: what the script leaves out are those of the job. And a process that failed does not wait for
the others before it exits: JAX's barrier there takes 300 s, while they wait for that process."""
import atexit
import functools
import inspect
import os
import sys

NUMBERS = {
    "num_processes": "JAX_NUM_PROCESSES",
    "process_id": "JAX_PROCESS_ID",
    "heartbeat_timeout_seconds": "MUSTER_JAX_HEARTBEAT_TIMEOUT",
    "shutdown_timeout_seconds": "MUSTER_JAX_SHUTDOWN_TIMEOUT",
}
PLACES = ("coordinator_address", "num_processes", "process_id", "local_device_ids")

exit_code = 0  # what the script gave to sys.exit() at last
initialized = False


def _arguments():
    ours = {key: int(os.environ[name]) for key, name in NUMBERS.items() if os.environ.get(name)}
    if os.environ.get("JAX_COORDINATOR_ADDRESS"):
        ours["coordinator_address"] = os.environ["JAX_COORDINATOR_ADDRESS"]
    if os.environ.get("JAX_LOCAL_DEVICE_IDS"):
        ours["local_device_ids"] = [int(device) for device in os.environ["JAX_LOCAL_DEVICE_IDS"].split(",")]
    return ours


def _filled(given, known):
    """`known`: the parameters that this version has."""
    ours = _arguments()
    if given.get("cluster_detection_method") not in (None, "deactivate"):
        ours = {key: value for key, value in ours.items() if key not in PLACES}  # the script asks somebody else
    return dict(given, **{key: value for key, value in ours.items() if key in known and given.get(key) is None})


def _failure():
    """The exit code of a process that ends because it failed; 0 = it does not."""
    error = getattr(sys, "last_type", None)  # of an exception that nobody caught
    if error is not None:
        return 1 if issubclass(error, Exception) else 0
    return exit_code


def _note_exit(code):
    global exit_code
    exit_code = code & 0xFF if isinstance(code, int) else int(code is not None)


def _first():
    """Of all functions that run at the exit: JAX's own would close connections long before the process ends, so that its peers'
    failures came first."""
    if _failure() != 0:
        atexit.unregister(getattr(sys.modules.get("jax._src.api"), "clean_up", None))


def last():
    """Without it the coordination service, of which process 0 is the host, is torn down below its own client, which aborts."""
    code = _failure()
    if code != 0 and initialized:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass  # nobody reads it any more
        os._exit(code)


def change(module):
    initialize, shutdown, leave = module.initialize, module.shutdown, sys.exit
    signature = inspect.signature(initialize)

    @functools.wraps(initialize)
    def filled_initialize(*args, **kwargs):
        global initialized
        try:
            given = signature.bind_partial(*args, **kwargs).arguments
        except TypeError:
            return initialize(*args, **kwargs)  # its own words for what is wrong
        initialize(**_filled(given, signature.parameters))
        initialized = True
        atexit.register(_first)

    @functools.wraps(shutdown)
    def quick_shutdown():
        # From a handler or a finally it comes again at the exit, where it is known whether the process fails.
        if _failure() == 0 and sys.exc_info()[0] is None:
            shutdown()

    @functools.wraps(leave)
    def noted_exit(*args):
        _note_exit(*(args or (None,)))
        leave(*args)

    module.initialize, module.shutdown, sys.exit = filled_initialize, quick_shutdown, noted_exit
