"""Tells Muster how far a training script is: one datagram for each call, no dependency, no thread.

Copy this file beside the script. Where no Muster runs, and where it does not listen, report() does nothing; it never waits,
and it never raises.
"""
import atexit
import json
import math
import os
import socket

_VARIABLE = "MUSTER_PROGRESS_SOCKET"
_PATIENCE_S = 0.05  # for the last word of a program
_socket = None
_unsent = None


def report(step=None, total=None, epoch=None, **metrics):
    """report(120, total=1000, epoch=3, loss=0.31): all of it may be left out. `total` is the step at the end."""
    path = os.environ.get(_VARIABLE)
    if not path:
        return
    try:
        said = {"step": (int, step), "total": (int, total), "epoch": (float, epoch)}
        message = {name: kind(value) for name, (kind, value) in said.items() if value is not None}
        # float() also of a tensor with one element.
        numbers = {name: float(value) for name, value in metrics.items() if value is not None}
        message["metrics"] = {name: value for name, value in numbers.items() if math.isfinite(value)}
        _send(json.dumps(message, allow_nan=False).encode(), path)
    except (OSError, TypeError, ValueError, OverflowError):
        pass  # nobody listens, or that is no number: no reason to end a training


def _send(message, path):
    global _socket, _unsent
    if _socket is None:
        _socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        atexit.register(_send_last, path)
    _socket.setblocking(False)
    try:
        _unsent = message  # the newest one is enough
        _socket.sendto(message, path)
        _unsent = None
    except BlockingIOError:
        pass  # the last ones were not read yet: the next step tells more, or the end does


def _send_last(path):
    if _unsent is None:
        return
    try:
        _socket.settimeout(_PATIENCE_S)
        _socket.sendto(_unsent, path)
    except OSError:
        pass
