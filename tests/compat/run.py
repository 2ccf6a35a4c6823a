#!/usr/bin/env python3
"""Runs the compatibility tests: the built binary with frameworks from the package registry.

usage: run.py [-k PATTERN] [-j N] [-v]        as tests/integration/run.py

Sets up what is needed first (setup.sh). Where that cannot be had, says so loudly, counts every test as
skipped and succeeds. The last line is "compat: N passed, N failed", with ", N skipped" if any were.
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))

import run  # noqa: E402  (the runner of the integration tests)

BANNER = """
*******************************************************************************
*  COMPATIBILITY WITH PYTORCH 2.13 IS NOT TESTED: it is not installed and      *
*  cannot be installed now. All tests below are skipped.                      *
*******************************************************************************
"""


def main():
    if not {"-h", "--help"} & set(sys.argv):
        setup = subprocess.run(["sh", os.path.join(HERE, "setup.sh")], stdout=subprocess.PIPE, text=True)
        os.environ["MUSTER_COMPAT_PYTHON"] = setup.stdout.strip() if setup.returncode == 0 else ""
        if setup.returncode != 0:
            print(BANNER, flush=True)
    run.main("compat", HERE, jobs=2)  # these compute


if __name__ == "__main__":
    main()
