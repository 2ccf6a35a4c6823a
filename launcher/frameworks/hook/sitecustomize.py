"""Muster's hook in the workers' Pythons: first on PYTHONPATH, so that each Python imports it when it starts.

It wakes when the library of the job's framework is imported, and then lets muster_hook_NAME.py change a few functions of it so that
arguments which the script leaves out are those of the job. A Python that does not import that library gets one look-up more
for each module that it imports for the first time. It runs under Python 3.8 and newer, and may raise nothing.
"""
import sys


def _tell(what, error):
    if sys.stderr is not None:
        sys.stderr.write("muster: %s: %s: %s; going on without it\n" % (what, type(error).__name__, error))


class MusterHook:
    """First of sys.meta_path. Finds nothing itself: it lets the others find a module, and changes it when it has been executed."""

    modules = {
        "jax": ("jax._src.distributed",),
        "launch": ("torch.distributed.run", "torch.distributed.launcher.api", "accelerate.commands.launch"),
        "lightgbm": ("lightgbm.engine", "lightgbm.sklearn"),
        "xgboost": ("xgboost.collective", "xgboost.tracker"),
    }

    def __init__(self, framework, folder):
        self.framework = framework
        self.folder = folder
        self.wanted = self.modules.get(framework, ())

    def last(self):
        """The last of all functions that run at the exit, because it was registered first."""
        end = getattr(sys.modules.get("muster_hook_" + self.framework), "last", None)
        if end is not None:
            end()

    def find_spec(self, name, path=None, target=None):
        if name not in self.wanted:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                self._wrap(spec.loader, name)
                return spec
        return None

    def _wrap(self, loader, name):
        try:
            execute = loader.exec_module

            def exec_module(module):
                execute(module)
                if module.__name__ == name:  # one loader may serve many modules
                    self._change(module)

            loader.exec_module = exec_module
        except Exception as error:
            _tell("the hook for " + self.framework, error)

    def _change(self, module):
        try:
            self._changes().change(module)
        except Exception as error:
            _tell("the hook for " + self.framework, error)

    def _changes(self):
        name = "muster_hook_" + self.framework
        if name not in sys.modules:
            import importlib.util

            # By its path: the script may have changed sys.path.
            spec = importlib.util.spec_from_file_location(name, "%s/%s.py" % (self.folder, name))
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            sys.modules[name] = module
        return sys.modules[name]


def _begin(folder):
    try:
        import atexit
        import os

        framework = os.environ.get("MUSTER_PYTHON_HOOK")
        # Below another Muster its hook is on the path, too, and would do the same.
        if framework and not any(type(finder).__name__ == "MusterHook" for finder in sys.meta_path):
            hook = MusterHook(framework, folder)
            sys.meta_path.insert(0, hook)
            atexit.register(hook.last)
    except Exception as error:
        _tell("the hook", error)


def _next_spec(folder):
    """Of the sitecustomize that Python would have found without this one. Looked for behind our own place on the path: what is
    before it may be another Muster's, which looks for the next one just so."""
    try:
        from _frozen_importlib_external import PathFinder

        places = sys.path[sys.path.index(folder) + 1:] if folder in sys.path else []
        return PathFinder.find_spec("sitecustomize", places)
    except Exception as error:
        _tell("looking for another sitecustomize", error)
        return None


def _chain(folder):
    spec = _next_spec(folder)
    if spec is None or spec.loader is None:
        return
    from _frozen_importlib import module_from_spec

    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module  # what it raises is its own, and Python's to tell
    spec.loader.exec_module(module)


_folder = __file__.rpartition("/")[0]
_begin(_folder)
_chain(_folder)
