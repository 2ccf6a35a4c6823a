"""Calls every method that PyTorch's TCPStore client has, against a server that already listens.

usage: torch_store.py HOST PORT [--libuv 0|1] [--big-bytes N]

Runs under PyTorch 1.13 to 2.13; what a version lacks is left out. Prints the sections it went through
and exits 0, or ends with a traceback. Only behaviour on which all of PyTorch's own servers agree is
checked, so that the script also runs against them (tests/support/record_wire.py does that).
"""
import argparse
import os
import threading
import time
from datetime import timedelta

import torch.distributed as dist

MODERN = hasattr(dist.TCPStore, "multi_get")
WAIT_REGISTERED_S = 0.3  # long enough for a WAIT to reach the server before what wakes it


def connect(options, timeout_s=30, world_size=None):
    extra = {}
    if MODERN:
        extra["use_libuv"] = options.libuv == 1
    return dist.TCPStore(options.host, options.port, world_size, False, timedelta(seconds=timeout_s), **extra)


def expect(got, wanted):
    if got != wanted:
        raise AssertionError("got %r, wanted %r" % (got, wanted))


def expect_error(call, *words):
    """`call` raises, and all of `words` are in the message."""
    try:
        call()
    except Exception as error:  # the class differs between versions
        for word in words:
            assert word in str(error), "%r not in %r" % (word, str(error))
        return
    raise AssertionError("no error")


def put(store, key, value):
    """SET and then one request that is answered: a SET alone may still be on its way when another
    connection asks."""
    store.set(key, value)
    store.num_keys()


def in_background(call):
    """Runs `call` in a thread and returns a function that waits for its result."""
    result = []
    thread = threading.Thread(target=lambda: result.append(call()))
    thread.start()
    time.sleep(WAIT_REGISTERED_S)

    def join():
        thread.join(30)
        assert result, "still blocked, or failed"
        return result[0]
    return join


def values(a, b, options):
    put(a, "key", "value")
    expect(b.get("key"), b"value")
    put(a, "key", "other")
    expect(b.get("key"), b"other")
    put(a, "empty", "")
    expect(b.get("empty"), b"")
    put(a, "name with spaces/and\u00fcmlaut", "snowman \u2603 and NUL \0 inside")
    expect(b.get("name with spaces/and\u00fcmlaut"), "snowman \u2603 and NUL \0 inside".encode())
    big = "".join(chr(97 + i % 26) for i in range(options.big_bytes))
    put(a, "big", big)
    expect(b.get("big"), big.encode())


def counters(a, b, options):
    expect(a.add("counter", 5), 5)
    expect(b.add("counter", -7), -2)
    expect(b.add("counter", 0), -2)
    expect(a.get("counter"), b"-2")
    expect(a.add("large counter", 2**62), 2**62)
    put(a, "text counter", "40")
    expect(b.add("text counter", 2), 42)


def compare_and_set(a, b, options):
    expect(a.compare_set("cas", "", "first"), b"first")
    expect(b.compare_set("cas", "first", "second"), b"second")
    expect(a.compare_set("cas", "first", "third"), b"second")
    expect(a.compare_set("cas absent", "something", "other"), b"something")


def deletion(a, b, options):
    put(a, "doomed", "x")
    expect(a.get("doomed"), b"x")
    before = a.num_keys()
    expect(b.delete_key("doomed"), True)
    expect(b.delete_key("doomed"), False)
    expect(a.num_keys(), before - 1)


def waiting(a, b, options):
    put(a, "here", "1")
    expect(b.get("here"), b"1")
    a.wait(["here"])
    a.wait(["here", "here"], timedelta(seconds=10))
    done = in_background(lambda: a.wait(["later 1", "later 2"]) or "woken")
    b.set("later 1", "x")
    b.add("later 2", 1)
    expect(done(), "woken")
    done = in_background(lambda: a.get("later 3"))
    b.set("later 3", "y")
    expect(done(), b"y")
    a.set_timeout(timedelta(seconds=20))


def timeouts(a, b, options):
    # 1.13 never tells the server that it gave up, so that store object is not used again.
    impatient = connect(options)
    expect_error(lambda: impatient.wait(["never"], timedelta(milliseconds=300)))
    if MODERN:
        expect_error(lambda: impatient.wait(["never", "nor this"], timedelta(milliseconds=200)), "never")
        impatient.set("after a timeout", "1")
        expect(impatient.get("after a timeout"), b"1")
        impatient.set_timeout(timedelta(milliseconds=200))
        expect_error(lambda: impatient.get("never"), "never")
        expect(impatient.add("after a timeout", 1), 2)


def prefixes(a, b, options):
    inner = dist.PrefixStore("inner", dist.PrefixStore("outer/", a))
    inner.set("key", "prefixed")
    a.num_keys()
    expect(inner.get("key"), b"prefixed")
    expect(b.get("outer//inner/key"), b"prefixed")
    expect(inner.add("counter", 3), 3)
    expect(b.get("outer//inner/counter"), b"3")
    inner.wait(["key", "counter"])
    expect(inner.compare_set("key", "prefixed", "changed"), b"changed")
    expect(inner.delete_key("key"), True)


def checks(a, b, options):
    put(a, "checked", "1")
    expect(a.check(["checked"]), True)
    expect(a.check(["checked", "missing"]), False)
    expect(a.check([]), True)


def appending(a, b, options):
    expect(a.has_extended_api(), True)
    a.append("list", "ab")
    a.append("list", "cd")
    expect(a.get("list"), b"abcd")
    done = in_background(lambda: b.wait(["appended later"]) or "woken")
    a.append("appended later", "z")
    expect(done(), "woken")


def many_at_once(a, b, options):
    a.multi_set(["m1", "m2", "m3"], ["1", "", "three"])
    expect(a.multi_get(["m3", "m1", "m2", "m1"]), [b"three", b"1", b"", b"1"])
    done = in_background(lambda: b.multi_get(["m1", "m4", "m5"]))
    a.multi_set(["m4", "m5"], ["4", "5"])
    expect(done(), [b"1", b"4", b"5"])
    prefixed = dist.PrefixStore("p", a)
    prefixed.multi_set(["x"], ["y"])
    expect(prefixed.multi_get(["x"]), [b"y"])


def queues(a, b, options):
    a.queue_push("queue", "one")
    a.queue_push("queue", "two")
    expect(a.queue_len("queue"), 2)
    expect(a.queue_pop("queue"), b"one")
    expect(a.queue_pop("queue"), b"two")
    expect(a.queue_len("queue"), 0)
    expect_error(lambda: a.queue_pop("queue", False))
    done = in_background(lambda: b.queue_pop("queue"))
    a.queue_push("queue", "three")
    expect(done(), b"three")


def listing(a, b, options):
    """On its own keys only: the order is the server's business, and others may have added some."""
    put(a, "listed 1", "x")
    put(a, "listed 2", "y")
    keys = a.list_keys()
    assert {"listed 1", "listed 2"} <= set(keys), keys
    # `init/` is a key of the server's that this call leaves out.
    expect(a.num_keys() - len(keys) in (0, 1), True)


def barriers(a, b, options):
    a.barrier("alone", 1)
    done = in_background(lambda: a.barrier("pair", 2) or "through")
    b.barrier("pair", 2)
    expect(done(), "through")
    expect_error(lambda: b.barrier("nobody comes", 2, timedelta(milliseconds=300)))


def clones(a, b, options):
    put(a, "shared with a clone", "yes")
    copy = a.clone()
    expect(copy.get("shared with a clone"), b"yes")


def sections(options):
    result = [values, counters, compare_and_set, deletion, waiting, timeouts, prefixes]
    for section, method in ((checks, "check"), (appending, "append"), (many_at_once, "multi_get"),
                            (listing, "list_keys"), (barriers, "barrier"), (clones, "clone")):
        if hasattr(dist.TCPStore, method):
            result.append(section)
    # The client refuses to send queue requests unless it believes that the server is libuv's.
    if hasattr(dist.TCPStore, "queue_push") and options.libuv == 1:
        result.append(queues)
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("--libuv", type=int, default=1, help="which client path of PyTorch 2.x")
    parser.add_argument("--big-bytes", type=int, default=3000)
    options = parser.parse_args()
    a = connect(options, world_size=1)
    b = connect(options)
    for section in sections(options):
        section(a, b, options)
        print("ok", section.__name__, flush=True)
    # Without the interpreter's clean-up: 1.13's store objects may abort in it (std::system_error).
    os._exit(0)


if __name__ == "__main__":
    main()
