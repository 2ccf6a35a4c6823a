"""The hook in a launcher that ends in torchrun inside its own Python (accelerate launch, fabric run, tune run, ...).

It was started as a front end: it reads its options and files, prepares the environment and calls torchrun's functions. In
their place this process becomes `muster run`, with the environment as it is then. MUSTER_FRONT_END says how: the path of the
binary and the flags that stood before the launcher, as JSON.
"""
import json
import os
import shutil
import signal
import sys

_VARIABLES = ("MUSTER_FRONT_END", "MUSTER_PYTHON_HOOK")
_FOLDER = __file__.rpartition("/")[0]

# PID 1 of a container hears no signal that it has no handler for.
if os.getpid() == 1:
    signal.signal(signal.SIGTERM, lambda number, frame: os._exit(128 + number))


def _become_muster(words):
    told = json.loads(os.environ["MUSTER_FRONT_END"])
    environment = {name: value for name, value in os.environ.items() if name not in _VARIABLES}
    path = [place for place in environment.get("PYTHONPATH", "").split(":") if place != _FOLDER]
    environment["PYTHONPATH"] = ":".join(path)
    if not path:
        del environment["PYTHONPATH"]
    last()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, which a program that it becomes would inherit
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(told["muster"], ["muster", "run"] + told["flags"] + words, environment)


def last():
    """Whatever becomes of the launcher: nobody else needs these files."""
    shutil.rmtree(_FOLDER, ignore_errors=True)


def _program(command, module=False, no_python=False):
    """`command` as torchrun takes it: a script, a module or a program, and its words."""
    kind = ["--module"] if module else ["--no-python"] if no_python else []
    return kind + ["--"] + [str(word) for word in command]


def _flag(name, value):
    """What stood before the launcher counts: it was said to Muster."""
    flags = json.loads(os.environ["MUSTER_FRONT_END"])["flags"]
    given = any(flag.partition("=")[0].replace("_", "-") == name for flag in flags)
    return [] if given or not value else [name, str(value)]


def _workers(number):
    return _flag("--nproc-per-node", number)


def _nodes(number):
    """One is what a launcher says that nobody told how many there are."""
    return _flag("--nnodes", number) if str(number) not in ("None", "1", "1:1") else []


def _of_command(command):
    """A whole command line: this Python in front of a script is Muster's business."""
    if command and os.path.realpath(command[0]) == os.path.realpath(sys.executable):
        rest = command[1:]
        if rest[:1] == ["-u"]:
            rest = rest[1:]
        if rest[:1] == ["-m"]:
            return _program(rest[1:], module=True)
        if rest and not rest[0].startswith("-"):
            return _program(rest)
    return _program(command, no_python=True)


def _run(options):
    """torch.distributed.run.run: what torchrun's command line has become."""
    words = _nodes(getattr(options, "nnodes", None)) + _workers(getattr(options, "nproc_per_node", None))
    words += _flag("--max-restarts", getattr(options, "max_restarts", 0))
    script = [options.training_script] + list(options.training_script_args or [])
    _become_muster(words + _program(script, bool(getattr(options, "module", False)), bool(getattr(options, "no_python", False))))


def change(module):
    if module.__name__ == "torch.distributed.run":
        module.run = _run
    elif module.__name__ == "torch.distributed.launcher.api":
        launch = module.launch_agent

        def launch_agent(config, entrypoint, arguments):
            if not isinstance(entrypoint, str):  # a function of this process: only it can start that
                return launch(config, entrypoint, arguments)
            return _become_muster(_nodes(config.max_nodes) + _workers(config.nproc_per_node) + _of_command([entrypoint] + list(arguments)))

        module.launch_agent = launch_agent
    elif module.__name__ == "accelerate.commands.launch":
        prepare = getattr(module, "prepare_simple_launcher_cmd_env", None)
        if prepare is None:
            return

        def simple_launcher(options):
            command, environment = prepare(options)
            os.environ.update(environment)
            _become_muster(_workers(1) + _of_command(command))

        module.simple_launcher = simple_launcher
