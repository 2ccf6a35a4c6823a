#!/usr/bin/env python3
"""Makes the .tree files beside it: the machines of the fabric planner's tests, each described in one function.

    make_trees.py [NAME...]

Without names all of them. cloud_machines.py and cluster_machines.py describe them. Standard library only.
"""

import inspect
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import cloud_machines  # noqa: E402, F401
import cluster_machines  # noqa: E402, F401
from kernel_view import Machine  # noqa: E402
from parts import MACHINES  # noqa: E402

LEGEND = ["", "[D] documentation or published scripts, [S] source code, [R] reported or generally known and not checked by us,",
          "[G] our guess. Made by make_trees.py, not recorded."]


def make(name):
    """The text of a tree. Its first lines are the words of the function that describes the machine."""
    describe = MACHINES[name]
    made = Machine(name, inspect.getdoc(describe).split("\n") + LEGEND)
    describe(made)
    made.finish()
    return made.text()


def main(names):
    for name in names or sorted(MACHINES):
        (HERE / f"{name}.tree").write_text(make(name))


if __name__ == "__main__":
    main(sys.argv[1:])
