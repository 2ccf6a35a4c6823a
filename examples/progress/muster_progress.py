"""Tells Muster how far a training script is: one datagram for each call, no dependency, no thread.

Copy this file beside the script. Where no Muster runs, and where it does not listen, report() does nothing; it never waits.
"""
import json
import math
import os
import socket

_VARIABLE = "MUSTER_PROGRESS_SOCKET"
_socket = None


def report(step=None, total=None, epoch=None, **metrics):
    """report(120, total=1000, epoch=3, loss=0.31): all of it may be left out. `total` is the step at the end."""
    global _socket
    path = os.environ.get(_VARIABLE)
    if not path:
        return
    said = {"step": step, "total": total, "epoch": epoch}
    message = {name: value for name, value in said.items() if value is not None}
    # float() also of a tensor with one element.
    numbers = {name: float(value) for name, value in metrics.items()}
    message["metrics"] = {name: value for name, value in numbers.items() if math.isfinite(value)}
    try:
        if _socket is None:
            _socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            _socket.setblocking(False)
        _socket.sendto(json.dumps(message).encode(), path)
    except OSError:
        pass  # nobody listens, or has not read the last ones yet: the next step tells more
