"""Jobs of many nodes over a real network stack with PyTorch 2.13, training over gloo on four hosts, and on eight: every case of
support/namespace_cases.py. tests/integration runs them with Debian's PyTorch on fewer hosts."""
import os

import namespace_cases
from namespace_hosts import NamespaceTest

GRID = True  # but for what a class keeps in the gate


class Hosts213(NamespaceTest):
    NEEDED = "registry"

    def python(self):
        return os.environ.get("MUSTER_COMPAT_PYTHON")


class Loss(namespace_cases.Loss, Hosts213):
    gate_keeps = ("test_a_killed_node_is_noticed_at_once",)
    stays_away_s = 7


class LossOfEight(namespace_cases.Killed, Hosts213):
    numbers = tuple(range(1, 9))


class Frozen(namespace_cases.Frozen, Hosts213):
    pass


class Leader(namespace_cases.Leader, Hosts213):
    gate_keeps = ("test_the_leaders_host_is_cut_off",)


class Change(namespace_cases.Change, Hosts213):
    gate_keeps = ("test_two_nodes_grow_to_four_and_shrink_to_three",)


class Dns(namespace_cases.Dns, Hosts213):
    pass


class Strangers(namespace_cases.Strangers, Hosts213):
    pass


class Leaks(namespace_cases.Leaks, Hosts213):
    pass
