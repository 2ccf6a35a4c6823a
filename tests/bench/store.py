"""The key-value store: throughput, latency, idle connections, memory, and clients whose names nobody resolves.
The load generator is the same for all. Figures per second of server CPU are the steady ones."""
import time
from dataclasses import replace

from harness import CouldNotRun
from report import Budget, Metric
from store_servers import Server, silent_dns, start_all, stores, with_lookup

KEY_COUNT, HELD, GIVE_UP_S = 500_000, 10_000, 60
IDLE_RATIO = Metric("store", "server CPU per request, 10000 idle connections / none", "×", budgets=(Budget(1.1),))
PER_KEY = Metric("store", "memory per key (20 B key, 32 B value)", "B", budgets=(Budget(140),))
PER_CONNECTION = Metric("store", "memory per idle connection", "B", budgets=(Budget(256),))
BASE = Metric("store", "RSS of the empty store", "KiB")
SILENT = Metric("store", "64 clients connect → all answered, DNS silent", "ms", budgets=(Budget(2, "floor"),))


def per_cpu_budgets(op, in_flight):
    if in_flight == 1:
        return (Budget(0.95, "floor"),)
    # A libuv server answers each command with a write of its own; SET has no answer, so there is no such gap.
    versus_uv = () if op == "set" else (Budget(12, "floor (libuv)"),)
    return versus_uv if op == "wait" else (*versus_uv, Budget(1.3, "redis"))  # redis has no such wait


def without_torch(bench):
    """The stores, in quick mode those that start at once."""
    return [s for s in stores(bench) if not (bench.quick and "TCPStore" in s.name)]


def throughput(bench, results):
    points = [(op, clients, window) for window in (1, 16) for clients in (1, 64, 1000) for op in ("set", "get", "add", "wait")]
    if bench.quick:
        points = [("add", 64, 1), ("get", 64, 1), ("add", 64, 16)]
    servers = start_all(bench, stores(bench))
    for op, clients, window in points:
        name = f"{op}, {clients} clients, {window} in flight"
        rate = Metric("store", name, "requests/s", True)
        per_cpu = Metric("store", f"{name}, per server-CPU-second", "requests", True, per_cpu_budgets(op, window))
        p50, p99 = (Metric("store", f"{name}, {p}", "us") for p in ("p50", "p99"))

        def take(subject):
            return servers[subject].ask("bench", op, clients, window, 0.2 if bench.quick else 0.3, servers[subject].process.pid)

        able = [s for s in servers if op != "wait" or s.protocol != "redis"]
        for subject, seen, calm in bench.rounds(able, 2 if bench.quick else 4, take, warm=False):
            results.add(rate, subject, seen["per_s"], calm)
            results.add(per_cpu, subject, seen["requests"] / max(seen["server_cpu_s"], 1e-6), calm)
            if window == 1:
                results.add(p50, subject, seen["p50_us"], calm)
                results.add(p99, subject, seen["p99_us"], calm)
    for server in servers.values():
        server.stop()


def idle(bench, results):
    """A few clients working while others are connected and silent."""
    servers = start_all(bench, without_torch(bench))
    levels = (0, 1000, 10000)
    metrics = {n: Metric("store", f"add, 8 clients, {n} idle connections, p50", "us") for n in levels}

    def take(subject):
        server, seen = servers[subject], {}
        for count in levels:
            held = server.load("hold", max(count, 1), 60)
            try:
                if server.figures(held)["answered"] < count:
                    raise CouldNotRun(f"{count} connections were not answered within 60 s")
                seen[count] = server.ask("bench", "add", 8, 1, 0.4, server.process.pid)
            finally:
                server.release(held)
        return seen

    for subject, seen, calm in bench.rounds(servers, 1 if bench.quick else 3, take, warm=False):
        for count in levels:
            results.add(metrics[count], subject, seen[count]["p50_us"], calm)
        cost = [seen[count]["server_cpu_s"] / seen[count]["requests"] for count in (10000, 0)]
        results.add(IDLE_RATIO, subject, cost[0] / cost[1], calm)
    for server in servers.values():
        server.stop()


def grown(bench, subject, *arguments):
    """(KiB before, KiB after) of a fresh server under `arguments` of the load generator."""
    server = Server(bench, subject)
    try:
        server.ask("hold", 1, 10)  # what the first request of all allocates is not counted
        before = server.resident_kib()
        load = server.load(*arguments)
        server.figures(load)
        time.sleep(0.1)
        after = server.resident_kib()
        server.release(load)
        return before, after
    finally:
        server.stop()


def memory(bench, results):
    keys = KEY_COUNT // (10 if bench.quick else 1)

    def take(subject):
        before, with_keys = grown(bench, subject, "keys", keys)
        base, with_connections = grown(bench, subject, "hold", HELD, 60)
        return before, (with_keys - before) * 1024 / keys, (with_connections - base) * 1024 / HELD

    for subject, (base, per_key, per_connection), _ in bench.rounds(without_torch(bench), 1 if bench.quick else 2, take, warm=False):
        results.add(BASE, subject, base)
        results.add(PER_KEY, subject, per_key)
        results.add(PER_CONNECTION, subject, per_connection)


def silent_lookup(bench, results):
    """PyTorch's stores look up the name of every client inside their loop. The other parts of this benchmark run
    where names come from files only; here the one DNS server there is does not answer."""
    dns = silent_dns()
    if dns is None:
        bench.leave_out("stores with a silent DNS server", "needs root and a free UDP port 53")
        return

    def take(subject):
        server = Server(bench, subject, with_lookup(bench, "dns"))
        try:
            seen = server.ask("hold", 64, GIVE_UP_S)
            return (seen["last_s"] if seen["answered"] == 64 else GIVE_UP_S) * 1e3
        finally:
            server.stop()

    with dns:
        subjects = [replace(s, name=f"{s.name}, DNS silent") for s in without_torch(bench) if s.protocol != "redis"]
        for subject, milliseconds, calm in bench.rounds(subjects, 1 if bench.quick else 2, take, warm=False):
            results.add(SILENT, subject, milliseconds, calm)


def run(bench, results):
    for part in (throughput, idle, memory, silent_lookup):
        part(bench, results)
